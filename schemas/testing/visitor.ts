import type { EventNamed } from '../events/catalogue.js';

/** The recorded data of an unknown visitor. */
export const unknownVisitor: Omit<EventNamed<'LinkVisited'>['data'], 'click'> = {
  bot: false,
  country: null,
  referrer: null,
  browser: null,
  os: null,
  device: null,
  language: null,
  visitor: null,
  trigger: 'link',
  version: 1,
  target: null,
  code: null,
  campaign: null,
};
