import {
  accepted,
  nextEvent,
  refused,
  type Command,
  type Decider,
} from '../../../schemas/decision.js';
import type { EventNamed } from '../../../schemas/events/catalogue.js';
import { newEvent } from '../../../schemas/events/codec.js';
import {
  evolveLedgerLink,
  initialState,
  type LedgerLinkState,
} from '../../../schemas/folds/ledger-link.js';
import {
  linkStatusAt,
  type Link,
  type LinkState,
  type ExistingLink,
} from '../../../schemas/folds/link.js';
import type { RedirectRule } from '../../../schemas/redirect-rules.js';
import { linkOfSubject, type LinkIdentity } from '../../../schemas/link-subject.js';

/** The data of a new link, checked except against the ledger. The subject of the command is that of the link. */
export interface NewLink {
  /** Whether the code is an alias, not generated. */
  readonly custom: boolean;
  readonly url: string;
  /** Seconds. */
  readonly expiresIn: number | null;
  /** Ignored if `expiresIn` is set. */
  readonly expiresAt: string | null;
  readonly startsAt: string | null;
  readonly maxClicks: number | null;
  readonly passwordHash: string | null;
  readonly title: string | null;
  readonly note: string | null;
  readonly tags: readonly string[] | null;
  readonly rules: readonly RedirectRule[] | null;
  readonly forwardQuery: boolean;
  /** Whether to return an existing link of the account to the destination. */
  readonly reuse: boolean;
  /** The root key of the quota. */
  readonly keyId: string;
  readonly account: string;
}

export type CreateLink = Command<'CreateLink', NewLink>;

/** Why the ledger created no link. */
export type ShortenRefusal = 'domainInactive' | 'aliasTaken' | 'linksExhausted';

/** An existing link without options. */
export type ReusedLink = Pick<Link, 'subject' | 'url' | 'createdAt'>;

export type ShortenOutcome =
  | { readonly type: 'created'; readonly event: EventNamed<'LinkCreated'> }
  | { readonly type: 'reused'; readonly link: ReusedLink }
  | { readonly type: ShortenRefusal };

/** @param seconds at least 0 */
export const secondsAfter = (time: Date, seconds: number): string =>
  new Date(time.getTime() + seconds * 1_000).toISOString();

/** A code is assigned once. */
export const createLinkDecider: Decider<
  CreateLink,
  EventNamed<'LinkCreated'>,
  LedgerLinkState,
  { readonly type: 'codeTaken' }
> = {
  initialState,
  evolve: evolveLedgerLink,
  decide({ subject, data: link, metadata: command }, { status }) {
    if (status === 'taken') return refused({ type: 'codeTaken' });
    const { custom, url, expiresIn, maxClicks, passwordHash, keyId, account } = link;
    const { startsAt, title, note, tags, rules, forwardQuery } = link;
    const { now } = command;
    const data = {
      url,
      custom,
      expiresAt: expiresIn === null ? link.expiresAt : secondsAfter(now, expiresIn),
      maxClicks,
      passwordHash,
      keyId,
      ...(startsAt !== null && { startsAt }),
      ...(title !== null && { title }),
      ...(note !== null && { note }),
      ...(tags !== null && { tags: [...tags] }),
      ...(rules !== null && { rules: [...rules] }),
      ...(forwardQuery && { forwardQuery }),
    };
    const metadata = nextEvent({ sequence: 0, lastEventAt: now }, command);
    return accepted(newEvent('LinkCreated', data, { subject, account, ...metadata }));
  },
};

/** Whether `reuse` returns this link: it is active, on this domain, has exactly this destination, and no option. */
export const isReusable = (
  state: LinkState,
  { account, url, domain }: Pick<Link, 'account' | 'url'> & Pick<LinkIdentity, 'domain'>,
  now: Date,
): state is ExistingLink => {
  if (state.status === 'none' || linkStatusAt(state, now) !== 'active') return false;
  const { link } = state;
  const { custom, startsAt, expiresAt, maxClicks, passwordHash, title, note, tags } = link;
  const options = [startsAt, expiresAt, maxClicks, passwordHash, title, note, link.rules];
  const hasNone =
    !custom &&
    !link.forwardQuery &&
    tags.length === 0 &&
    options.every((option) => option === null);
  const isOnDomain = linkOfSubject(link.subject).domain === domain;
  return hasNone && isOnDomain && link.account === account && link.url === url;
};
