import type { EventNamed, UtmTemplateEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';
import type { None, Remains } from './subject-state.js';

export type UtmTemplateTerms = Readonly<EventNamed<'UtmTemplateSaved'>['data']>;

export interface UtmTemplate extends UtmTemplateTerms, Remains<'saved'> {}

export type DeletedUtmTemplate = Remains<'deleted'>;
export type UtmTemplateState = None | UtmTemplate | DeletedUtmTemplate;

/** The subject of a template. No link and no other subject has a colon before its first slash. */
export const utmTemplateSubject = (account: string, name: string): string => `${account}:${name}`;

export const evolveUtmTemplate = (
  state: UtmTemplateState,
  event: UtmTemplateEvent,
): UtmTemplateState => {
  const { account = '', sequence } = event;
  const next = { account, sequence, lastEventAt: new Date(event.time) };
  switch (event.type) {
    case 'linklog.UtmTemplateSaved.v1':
      return { ...event.data, ...next, status: 'saved' };
    case 'linklog.UtmTemplateDeleted.v1':
      return state.status === 'saved' ? { ...next, status: 'deleted' } : state;
    default:
      return unknownEvent(event, 'utm-template');
  }
};
