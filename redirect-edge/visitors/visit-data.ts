import type { EventNamed } from '../../schemas/events/catalogue.js';

/** The data of a visit, counted by the ledger or not. It has no address and no free text of a user agent. */
export type VisitData = Omit<EventNamed<'LinkVisited'>['data'], 'click'>;
