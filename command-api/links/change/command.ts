import {
  accepted,
  nextEvent,
  refused,
  unchanged,
  type Decision,
  type DecisionContext,
} from '../../../schemas/decision.js';
import type { EventNamed, LinkEvent } from '../../../schemas/events/catalogue.js';
import { newEvent } from '../../../schemas/events/codec.js';
import {
  evolveLedgerLink,
  type LedgerLink,
  type LedgerLinkState,
} from '../../../schemas/folds/ledger-link.js';
import {
  evolveLink,
  liftsExpiry,
  linkStatusAt,
  type Link,
  type LinkState,
  type ExistingLink,
} from '../../../schemas/folds/link.js';
import { willRedirect, type ExpiryReason } from '../../../schemas/folds/link-status.js';
import { canonicalText, maxTags } from '../../../schemas/http/link-fields.js';
import { secondsAfter } from '../create/command.js';

/** A link as the ledger decides about it, and all that its events say. Both have the same events. */
export interface ManagedLink {
  readonly ledger: LedgerLinkState;
  readonly current: LinkState;
}

export const initialState: ManagedLink = {
  ledger: { status: 'none' },
  current: { status: 'none' },
};

export const evolveManagedLink = (state: ManagedLink, event: LinkEvent): ManagedLink => ({
  ledger: evolveLedgerLink(state.ledger, event),
  current: evolveLink(state.current, event),
});

/** What is absent, or `undefined`, stays; `null` takes away. */
export interface LinkChange {
  readonly url?: string | undefined;
  /** Seconds from now. */
  readonly expiresIn?: number | null | undefined;
  /** In place of `expiresIn`. */
  readonly expiresAt?: string | null | undefined;
  readonly startsAt?: string | null | undefined;
  readonly maxClicks?: number | null | undefined;
  /** A `hash` of `null` is not known yet: the decider asks for it when nothing else refuses the change. */
  readonly password?: { readonly hash: string | null } | null | undefined;
  readonly title?: string | null | undefined;
  readonly note?: string | null | undefined;
  readonly tags?: readonly string[] | null | undefined;
  readonly addTags?: readonly string[] | undefined;
  readonly removeTags?: readonly string[] | undefined;
  readonly disabled?: boolean | undefined;
}

export type LinkCommand = {
  /** Whose link it must be; `null`: anybody's. */
  readonly account: string | null;
  /** Whether the link's version is one that the change was meant for. */
  readonly isMeant: (version: number) => boolean;
} & (
  | {
      readonly type: 'ChangeLink';
      readonly change: LinkChange;
      /** The destination that was found safe; `null`: none was checked. */
      readonly safeUrl: string | null;
      /** The clicks of the statistics: the opening balance of a limit on a link without one. */
      readonly countedClicks: number;
    }
  | { readonly type: 'DeleteLink' }
);

type ChangeLink = Extract<LinkCommand, { readonly type: 'ChangeLink' }>;

export type LinkRefusal =
  | 'notFound'
  | 'deleted'
  | 'changedMeanwhile'
  | 'startsAfterEnd'
  /** `maxClicks` below the clicks that are taken. */
  | 'clicksTaken'
  | 'tooManyTags'
  /** The destination has to be found safe first: it is new, or the link would lead there again. */
  | 'unchecked'
  /** The password has to be hashed first. */
  | 'unhashed';

const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, index) => text === b[index]);

/** The clicks that count against a limit, also against one that is set now. */
export const clicksTaken = (
  { maxClicks, clicks }: LedgerLink,
  { countedClicks }: Pick<ChangeLink, 'countedClicks'>,
): number => (maxClicks === null ? Math.max(clicks, countedClicks) : clicks);

const editOf = (
  command: ChangeLink,
  ledger: LedgerLink,
  link: Link,
  now: Date,
): EventNamed<'LinkEdited'>['data'] => {
  const { url, expiresIn, expiresAt, startsAt, maxClicks, password } = command.change;
  const end = expiresIn == null ? expiresIn : secondsAfter(now, expiresIn);
  const asked = end === undefined ? expiresAt : end;
  const opens = maxClicks != null && ledger.maxClicks === null;
  const isRemoved = password === null && link.passwordHash !== null;
  return {
    ...(url !== undefined && url !== link.url && { url }),
    ...(asked !== undefined && asked !== link.expiresAt && { expiresAt: asked }),
    ...(startsAt !== undefined && startsAt !== link.startsAt && { startsAt }),
    ...(maxClicks !== undefined && maxClicks !== link.maxClicks && { maxClicks }),
    ...(opens && { clicks: clicksTaken(ledger, command) }),
    ...(isRemoved && { password: 'removed' }),
    // Without a hash, the edit only serves to find what refuses it.
    ...(password && { password: 'set', passwordHash: password.hash ?? '' }),
  };
};

/** Tags of old events may have any normal form, and white space around them. */
const tagsAfter = ({ tags, addTags = [], removeTags = [] }: LinkChange, link: Link) => {
  const base = tags === undefined ? link.tags : (tags ?? []);
  const present = new Set(base.map(canonicalText));
  const added = addTags.filter((tag) => !present.has(tag));
  return [...base, ...added].filter((tag) => !removeTags.includes(canonicalText(tag)));
};

const descriptionOf = (change: LinkChange, link: Link): EventNamed<'LinkDescribed'>['data'] => {
  const { title, note } = change;
  const tags = tagsAfter(change, link);
  return {
    ...(title !== undefined && title !== link.title && { title }),
    ...(note !== undefined && note !== link.note && { note }),
    ...(!sameTexts(tags, link.tags) && { tags }),
  };
};

const isEmpty = (data: object): boolean => Object.keys(data).length === 0;

/** By what a link is over, when it has not expired for it yet. */
const overBy = (link: LedgerLinkState, now: Date): ExpiryReason | null => {
  if (link.status === 'none') return null;
  if (link.maxClicks !== null && link.clicks >= link.maxClicks) return 'clicks';
  return link.expiresAt !== null && link.expiresAt <= now ? 'time' : null;
};

/** Whether a destination may be led to only after a check: a new one, or one that is led to again. */
const needsCheck = (before: ExistingLink, after: LinkState, now: Date): boolean => {
  if (after.status === 'none') return false;
  if (after.link.url !== before.link.url) return true;
  return willRedirect(linkStatusAt(after, now)) && !willRedirect(linkStatusAt(before, now));
};

/** What its owner, or an operator, makes of a link. Nothing changes a link that was deleted. */
export const decideLinkChange = (
  command: LinkCommand,
  state: ManagedLink,
  context: DecisionContext,
): Decision<LinkEvent, LinkRefusal> => {
  const { ledger, current } = state;
  if (ledger.status === 'none' || current.status === 'none') return refused('notFound');
  const { code: subject, account } = ledger;
  if (command.account !== null && command.account !== account) return refused('notFound');
  const metadata = (of: ManagedLink) => ({
    ...nextEvent(of.ledger.status === 'none' ? ledger : of.ledger, context),
    subject,
    account,
  });
  if (ledger.deleted) return command.type === 'DeleteLink' ? unchanged : refused('deleted');
  if (!command.isMeant(ledger.sequence)) return refused('changedMeanwhile');
  if (command.type === 'DeleteLink') {
    return accepted<LinkEvent>(newEvent('LinkDeleted', {}, metadata(state)));
  }

  const { change, safeUrl } = command;
  const { now } = context;
  const { link } = current;
  if (change.maxClicks != null) {
    if (change.maxClicks < clicksTaken(ledger, command)) return refused('clicksTaken');
  }

  const events: LinkEvent[] = [];
  let after = state;
  const add = (make: (next: ReturnType<typeof metadata>) => LinkEvent): void => {
    const event = make(metadata(after));
    events.push(event);
    after = evolveManagedLink(after, event);
  };
  const edit = editOf(command, ledger, link, now);
  const { startsAt = link.startsAt, expiresAt = link.expiresAt } = edit;
  const setsTime = edit.startsAt !== undefined || edit.expiresAt !== undefined;
  if (setsTime && startsAt !== null && expiresAt !== null && startsAt >= expiresAt) {
    return refused('startsAfterEnd');
  }
  if (!isEmpty(edit)) add((next) => newEvent('LinkEdited', edit, next));
  const reason = liftsExpiry(edit) ? overBy(after.ledger, now) : null;
  if (reason !== null) {
    const causationId = events[0]?.id;
    add((next) => newEvent('LinkExpired', { reason }, { ...next, causationId }));
  }
  const description = descriptionOf(change, link);
  if ((description.tags?.length ?? 0) > maxTags) return refused('tooManyTags');
  if (!isEmpty(description)) add((next) => newEvent('LinkDescribed', description, next));
  if (change.disabled !== undefined && change.disabled !== ledger.disabled) {
    const name = change.disabled ? 'LinkDisabled' : 'LinkEnabled';
    add((next) => newEvent(name, {}, next));
  }

  const url = after.current.status === 'none' ? null : after.current.link.url;
  if (needsCheck(current, after.current, now) && url !== safeUrl) return refused('unchecked');
  if (change.password?.hash === null) return refused('unhashed');
  return events.length === 0 ? unchanged : accepted(...events);
};
