import { isDeepStrictEqual } from 'node:util';
import {
  accepted,
  nextEvent,
  refused,
  unchanged,
  type Command,
  type Decider,
  type Decision,
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
import {
  restorableMs,
  willRedirect,
  type ExpiryReason,
} from '../../../schemas/folds/link-status.js';
import {
  type LinkOptions,
  type OptionChanges,
  type OptionFields,
  conflictOf,
  linkOptions,
  optionNames,
  urlsOf,
} from '../../../schemas/link-options.js';
import { fitsInLink } from '../../../schemas/link-size.js';
import type { BulkChange } from '../../../schemas/http/bulk.js';
import { canonicalText, maxTags } from '../../../schemas/http/link-fields.js';
import type { ChangeLinkRequest } from '../../../schemas/http/links.js';
import { secondsAfter } from '../create/command.js';

/** The two states of a link, folded from the same events. */
export interface ManagedLink {
  readonly ledger: LedgerLinkState;
  readonly current: LinkState;
}

export const evolveManagedLink = (state: ManagedLink, event: LinkEvent): ManagedLink => ({
  ledger: evolveLedgerLink(state.ledger, event),
  current: evolveLink(state.current, event),
});

/** The fields of a requested change. Absent and `undefined` fields stay; `null` removes the value. */
export type LinkFields = Readonly<
  Partial<ChangeLinkRequest & Pick<BulkChange, 'addTags' | 'removeTags'>>
>;

export type LinkChange = Omit<LinkFields, 'password'> & {
  /** `hash: null`: not hashed yet. If nothing else refuses the change, the decider refuses it as `unhashed`. */
  readonly password?: { readonly hash: string | null } | null | undefined;
};

interface Conditions {
  /** The required account of the link; `null`: any. */
  readonly account: string | null;
  /** The accepted versions (`If-Match`); `null`: any. */
  readonly versions: readonly number[] | null;
}

interface Checked {
  /** The destinations that were checked and are safe. */
  readonly safeUrls: readonly string[];
}

type ChangeLink = Command<
  'ChangeLink',
  Conditions &
    Checked & {
      readonly change: LinkChange;
      /** The clicks in the statistics: the opening balance of a new limit. */
      readonly countedClicks: number;
    }
>;

export type LinkCommand =
  ChangeLink | Command<'DeleteLink', Conditions> | Command<'RestoreLink', Conditions & Checked>;

export type LinkRefusal =
  | {
      readonly type:
        'notFound' | 'deleted' | 'changedMeanwhile' | 'startsAfterEnd' | 'tooManyTags' | 'tooLarge';
    }
  /** The link was deleted more than `restorableMs` ago. */
  | { readonly type: 'deletedLongAgo' }
  /** See `conflictOf`. */
  | { readonly type: 'conflict'; readonly message: string }
  /** `maxClicks` is below the clicks taken. */
  | { readonly type: 'clicksTaken'; readonly taken: number }
  /** The destinations must be checked first: one is new, or the link would redirect to them again. */
  | { readonly type: 'unchecked'; readonly urls: readonly string[] }
  /** The password must be hashed first. */
  | { readonly type: 'unhashed' };

const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, index) => text === b[index]);

/** The clicks that count against a limit, including a new limit. */
const clicksTaken = ({ maxClicks, clicks }: LedgerLink, countedClicks: number): number =>
  maxClicks === null ? Math.max(clicks, countedClicks) : clicks;

/** The options of a request that the link does not have. */
const changedOptions = (fields: OptionFields, options: LinkOptions): OptionChanges =>
  Object.fromEntries(
    optionNames.flatMap((name) => {
      const { none } = linkOptions[name];
      const [value, current] = [fields[name], options[name] ?? none];
      const isSame = value === undefined || isDeepStrictEqual(value ?? none, current);
      return isSame ? [] : [[name, value ?? none]];
    }),
  );

const editOf = (
  { change, countedClicks }: ChangeLink['data'],
  ledger: LedgerLink,
  link: Link,
  now: Date,
): EventNamed<'LinkEdited'>['data'] => {
  const { url, expiresIn, expiresAt, startsAt, maxClicks, password } = change;
  const end = expiresIn == null ? expiresIn : secondsAfter(now, expiresIn);
  const newEnd = end === undefined ? expiresAt : end;
  const opens = maxClicks != null && ledger.maxClicks === null;
  const isRemoved = password === null && link.passwordHash !== null;
  return {
    ...(url !== undefined && url !== link.url && { url }),
    ...(newEnd !== undefined && newEnd !== link.expiresAt && { expiresAt: newEnd }),
    ...(startsAt !== undefined && startsAt !== link.startsAt && { startsAt }),
    ...(maxClicks !== undefined && maxClicks !== link.maxClicks && { maxClicks }),
    ...(opens && { clicks: clicksTaken(ledger, countedClicks) }),
    ...changedOptions(change, link.options),
    ...(isRemoved && { password: 'removed' }),
    // Without a hash, the edit only serves to find other refusals.
    ...(password && { password: 'set', passwordHash: password.hash ?? '' }),
  };
};

/** Tags of old events may be untrimmed and in any normal form. */
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

const reachedLimit = (link: LedgerLinkState, now: Date): ExpiryReason | null => {
  if (link.status === 'none') return null;
  if (link.maxClicks !== null && link.clicks >= link.maxClicks) return 'clicks';
  return link.expiresAt !== null && link.expiresAt <= now ? 'time' : null;
};

/** The destinations that must be checked: one is new, or the link starts to redirect again. */
const uncheckedUrls = (
  before: ExistingLink,
  after: LinkState,
  { data: { safeUrls }, metadata: { now } }: Exclude<LinkCommand, Command<'DeleteLink'>>,
): readonly string[] => {
  if (after.status === 'none') return [];
  const urls = urlsOf(after.link);
  const checked = new Set(urlsOf(before.link));
  const isNew = urls.some((url) => !checked.has(url));
  const revives =
    willRedirect(linkStatusAt(after, now)) && !willRedirect(linkStatusAt(before, now));
  return (isNew || revives) && !urls.every((url) => safeUrls.includes(url)) ? urls : [];
};

const decide = (command: LinkCommand, state: ManagedLink): Decision<LinkEvent, LinkRefusal> => {
  const { ledger, current } = state;
  if (ledger.status === 'none' || current.status === 'none') return refused({ type: 'notFound' });
  const { subject, account } = ledger;
  const { data } = command;
  if (data.account !== null && data.account !== account) return refused({ type: 'notFound' });
  const metadata = (link: ManagedLink, index: number) => ({
    ...nextEvent(link.ledger.status === 'none' ? ledger : link.ledger, command.metadata, index),
    subject,
    account,
  });
  const { now } = command.metadata;
  const { link } = current;
  if (command.type === 'RestoreLink') {
    if (!ledger.deleted) return unchanged;
    if (now.getTime() > Date.parse(link.updatedAt) + restorableMs) {
      return refused({ type: 'deletedLongAgo' });
    }
    const event: LinkEvent = newEvent('LinkRestored', {}, metadata(state, 0));
    const urls = uncheckedUrls(current, evolveLink(current, event), command);
    return urls.length > 0 ? refused({ type: 'unchecked', urls }) : accepted(event);
  }
  if (ledger.deleted)
    return command.type === 'DeleteLink' ? unchanged : refused({ type: 'deleted' });
  if (data.versions !== null && !data.versions.includes(ledger.sequence))
    return refused({ type: 'changedMeanwhile' });
  if (command.type === 'DeleteLink') {
    return accepted<LinkEvent>(newEvent('LinkDeleted', {}, metadata(state, 0)));
  }

  const { change, countedClicks } = command.data;
  const taken = clicksTaken(ledger, countedClicks);
  if (change.maxClicks != null && change.maxClicks < taken) {
    return refused({ type: 'clicksTaken', taken });
  }

  const events: LinkEvent[] = [];
  let after = state;
  const add = (create: (next: ReturnType<typeof metadata>) => LinkEvent): void => {
    const event = create(metadata(after, events.length));
    events.push(event);
    after = evolveManagedLink(after, event);
  };
  const edit = editOf(command.data, ledger, link, now);
  const { startsAt = link.startsAt, expiresAt = link.expiresAt } = edit;
  const setsTime = edit.startsAt !== undefined || edit.expiresAt !== undefined;
  if (setsTime && startsAt !== null && expiresAt !== null && startsAt >= expiresAt) {
    return refused({ type: 'startsAfterEnd' });
  }
  if (!isEmpty(edit)) add((next) => newEvent('LinkEdited', edit, next));
  const reason = liftsExpiry(edit) ? reachedLimit(after.ledger, now) : null;
  if (reason !== null) {
    const causationId = events[0]?.id;
    add((next) => newEvent('LinkExpired', { reason }, { ...next, causationId }));
  }
  const description = descriptionOf(change, link);
  if ((description.tags?.length ?? 0) > maxTags) return refused({ type: 'tooManyTags' });
  if (!isEmpty(description)) add((next) => newEvent('LinkDescribed', description, next));
  if (change.disabled !== undefined && change.disabled !== ledger.disabled) {
    const name = change.disabled ? 'LinkDisabled' : 'LinkEnabled';
    add((next) => newEvent(name, {}, next));
  }

  const changed = after.current.status === 'none' ? link : after.current.link;
  const message = conflictOf({ ...changed, hasPassword: changed.passwordHash !== null });
  if (message !== null) return refused({ type: 'conflict', message });
  const isLarger = !isEmpty(edit) || !isEmpty(description);
  if (isLarger && !fitsInLink(changed)) return refused({ type: 'tooLarge' });
  const urls = uncheckedUrls(current, after.current, command);
  if (urls.length > 0) return refused({ type: 'unchecked', urls });
  if (change.password?.hash === null) return refused({ type: 'unhashed' });
  return events.length === 0 ? unchanged : accepted(...events);
};

/** Changes of a link by its owner or an operator. A deleted link can only be restored. */
export const linkChangeDecider: Decider<LinkCommand, LinkEvent, ManagedLink, LinkRefusal> = {
  initialState: { ledger: { status: 'none' }, current: { status: 'none' } },
  evolve: evolveManagedLink,
  decide,
};
