import type { EventNamed } from '../../schemas/events/catalogue.js';

/** The data of a visit, with or without a limit of clicks: no address, and no free text of a user agent. */
export type VisitData = Omit<EventNamed<'LinkVisited'>['data'], 'click'>;
