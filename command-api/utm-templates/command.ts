import {
  accepted,
  nextEvent,
  refused,
  unchanged,
  type Command,
  type Decider,
} from '../../schemas/decision.js';
import type { UtmTemplateEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import { noSubject } from '../../schemas/folds/subject-state.js';
import {
  evolveUtmTemplate,
  type UtmTemplateState,
  type UtmTemplateTerms,
} from '../../schemas/folds/utm-template.js';
import { utmNames } from '../../schemas/utm.js';

export const maxUtmTemplates = 100;

/** The subject is `utmTemplateSubject`, so each account has its own states. */
export type UtmTemplateCommand =
  /** `count`: templates of the account. */
  | Command<
      'SaveUtmTemplate',
      { readonly account: string; readonly terms: UtmTemplateTerms; readonly count: number }
    >
  | Command<'DeleteUtmTemplate', { readonly account: string }>;

export interface UtmTemplateRefusal {
  readonly type: 'notFound' | 'utmTemplatesExhausted';
}

export const utmTemplateDecider: Decider<
  UtmTemplateCommand,
  UtmTemplateEvent,
  UtmTemplateState,
  UtmTemplateRefusal
> = {
  initialState: noSubject,
  evolve: evolveUtmTemplate,
  decide({ type, subject, data, metadata }, state) {
    const attributes = { ...nextEvent(state, metadata), subject, account: data.account };
    const saved = state.status === 'saved' ? state : null;
    switch (type) {
      case 'SaveUtmTemplate': {
        const { terms, count } = data;
        if (!saved && count >= maxUtmTemplates) return refused({ type: 'utmTemplatesExhausted' });
        if (saved && utmNames.every((name) => saved[name] === terms[name])) return unchanged;
        return accepted(newEvent('UtmTemplateSaved', terms, attributes));
      }
      case 'DeleteUtmTemplate':
        return saved
          ? accepted(newEvent('UtmTemplateDeleted', {}, attributes))
          : refused({ type: 'notFound' });
      default: {
        const unknown: never = type;
        return unknown;
      }
    }
  },
};
