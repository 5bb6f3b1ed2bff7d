import type { EventNamed } from '../../schemas/events/catalogue.js';

/** What an event says of a visit, whoever counts it. Nothing in it is an address or free text of a user agent. */
export type VisitFacts = Omit<EventNamed<'LinkVisited'>['data'], 'click'>;
