import {
  accepted,
  nextEvent,
  refused,
  type Command,
  type Decider,
} from '../../../schemas/decision.js';
import { isCodeEvent, type CodeEvent, type LinkEvent } from '../../../schemas/events/catalogue.js';
import { newEvent } from '../../../schemas/events/codec.js';
import { maxCodes } from '../../../schemas/folds/link.js';
import { evolveManagedLink, linkChangeDecider, type ManagedLink } from '../change/command.js';

/** A link, and what was decided about its further codes. */
export interface LinkWithCodes extends ManagedLink {
  readonly decided: readonly CodeEvent[];
}

type Unassignable = 'domainInactive' | 'linksExhausted' | 'aliasTaken';

/** The subject is the link. `code` is a subject, too. */
export type CodeCommand =
  | Command<
      'AddCode',
      {
        readonly account: string;
        readonly code: string;
        /** The root key of the quota. */
        readonly keyId: string;
        /** Why the ledger cannot assign the code; `null`: it can. */
        readonly refusal: Unassignable | null;
      }
    >
  | Command<'RemoveCode', { readonly account: string; readonly code: string }>;

export interface CodeRefusal {
  readonly type: 'notFound' | 'deleted' | 'tooManyCodes' | 'firstCode' | Unassignable;
}

/** Adds and removes further codes of a link. */
export const codeDecider: Decider<CodeCommand, LinkEvent, LinkWithCodes, CodeRefusal> = {
  initialState: { ...linkChangeDecider.initialState, decided: [] },
  evolve: (state, event) => ({
    ...evolveManagedLink(state, event),
    decided: isCodeEvent(event) ? [...state.decided, event] : state.decided,
  }),
  decide({ type, subject, data, metadata }, { ledger, current }) {
    const { account, code } = data;
    if (ledger.status === 'none' || current.status === 'none' || ledger.account !== account) {
      return refused({ type: 'notFound' });
    }
    if (ledger.deleted) return refused({ type: 'deleted' });
    const { codes } = current.link;
    const next = { ...nextEvent(ledger, metadata), subject, account };
    if (type === 'RemoveCode') {
      if (code === subject) return refused({ type: 'firstCode' });
      if (!codes.includes(code)) return refused({ type: 'notFound' });
      return accepted<LinkEvent>(newEvent('LinkCodeRemoved', { code }, next));
    }
    if (codes.length >= maxCodes) return refused({ type: 'tooManyCodes' });
    if (data.refusal !== null) return refused({ type: data.refusal });
    return accepted<LinkEvent>(newEvent('LinkCodeAdded', { code, keyId: data.keyId }, next));
  },
};
