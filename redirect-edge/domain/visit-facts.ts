import type { EventNamed } from '../../schemas/events/catalogue.js';

/** What an event says of a visit, whoever counts it. Nothing in it is an address or free text of a user agent. */
export type VisitFacts = Omit<EventNamed<'LinkVisited'>['data'], 'click'>;

/** A visit by a visitor of whom nothing is known but whether it is a bot. */
export const unknownVisitor = (
  bot: boolean,
  { sequence }: { readonly sequence: number },
): VisitFacts => ({
  bot,
  country: null,
  referrer: null,
  browser: null,
  os: null,
  device: null,
  language: null,
  visitor: null,
  trigger: 'link',
  version: sequence,
});
