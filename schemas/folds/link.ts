import { isCreation, type EventNamed, type LinkEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';
import {
  changesIn,
  optionsIn,
  optionsWithUrls,
  restoring,
  withChanges,
  type LinkOptions,
  type OptionChanges,
} from '../link-options.js';
import {
  statusAt,
  statusOf,
  noRestraints,
  type LinkStatus,
  type RecordedStatus,
  type Restraints,
} from './link-status.js';

/** A link without its restraints. */
export interface Link {
  readonly subject: string;
  readonly url: string;
  readonly account: string;
  /** Whether the subject is an alias; otherwise it was generated. */
  readonly custom: boolean;
  readonly createdAt: string;
  /** The link is scheduled before this time; `null`: it redirects from its creation on. */
  readonly startsAt: string | null;
  readonly expiresAt: string | null;
  readonly maxClicks: number | null;
  readonly passwordHash: string | null;
  readonly options: LinkOptions;
  readonly title: string | null;
  readonly note: string | null;
  readonly tags: readonly string[];
  /** The subjects of its further codes. */
  readonly codes: readonly string[];
  /** The time of its last event in the topic of links. */
  readonly updatedAt: string;
  /** When it began to redirect to this destination. Web-safety re-checks start again at this time. */
  readonly liveSince: string;
  /** The secured fields of its first event that were edited since. */
  readonly original: SecuredFields | null;
}

/** The fields that are read from the ledger once they were edited: see `readLinkStates`. */
export interface SecuredFields extends OptionChanges {
  readonly url?: string;
  readonly passwordHash?: string | null;
}

export interface ExistingLink {
  /** `statusOf` of its restraints. */
  readonly status: RecordedStatus;
  readonly link: Link;
  readonly restraints: Restraints;
}

export type LinkState = { readonly status: 'none' } | ExistingLink;

export const initialState: LinkState = { status: 'none' };

const timeOf = (time: string | null): number | null => (time === null ? null : Date.parse(time));

/** See `statusAt`. */
export const linkStatusAt = ({ status, link }: ExistingLink, now: Date): LinkStatus =>
  statusAt(status, timeOf(link.startsAt), timeOf(link.expiresAt), now.getTime());

export const linkState = (link: Link, restraints: Restraints): ExistingLink => ({
  status: statusOf(restraints),
  link,
  restraints,
});

/** The secured fields that LinkEdited changes; `null`: none. */
export const securedBy = (data: EventNamed<'LinkEdited'>['data']): SecuredFields | null => {
  const { url, password, passwordHash } = data;
  const secured = {
    ...(url !== undefined && { url }),
    ...(password !== undefined && { passwordHash: passwordHash ?? null }),
    ...changesIn(data),
  };
  return Object.keys(secured).length === 0 ? null : secured;
};

/** Whether LinkEdited changed where the link leads. */
export const movesLink = (data: EventNamed<'LinkEdited'>['data']): boolean =>
  data.url !== undefined || optionsWithUrls.some((name) => data[name] !== undefined);

/** Whether LinkEdited changed the end or the limit. That ends an expiry, unless another LinkExpired follows. */
export const liftsExpiry = ({ expiresAt, maxClicks }: EventNamed<'LinkEdited'>['data']): boolean =>
  expiresAt !== undefined || maxClicks !== undefined;

const edit = (
  { link, restraints }: ExistingLink,
  { data, time }: EventNamed<'LinkEdited'>,
): LinkState => {
  const { startsAt = link.startsAt, expiresAt = link.expiresAt, maxClicks = link.maxClicks } = data;
  const secured = securedBy(data);
  const before = {
    ...(secured?.url !== undefined && { url: link.url }),
    ...(secured?.passwordHash !== undefined && { passwordHash: link.passwordHash }),
    ...restoring(data, link.options),
  };
  const { url = link.url, passwordHash = link.passwordHash } = secured ?? {};
  const options = withChanges(link.options, data);
  const revives = liftsExpiry(data) && restraints.expired !== null;
  return linkState(
    {
      ...{ ...link, url, passwordHash, options, startsAt, expiresAt, maxClicks, updatedAt: time },
      liveSince: revives || movesLink(data) ? time : link.liveSince,
      original: secured ? { ...before, ...link.original } : link.original,
    },
    { ...restraints, expired: revives ? null : restraints.expired },
  );
};

/** Further codes of a link. */
export const maxCodes = 20;

/** The same array in all links without further codes. */
export const noCodes: readonly string[] = Object.freeze([]);

/** Applies an event to a link; see `evolveLedgerLink` for histories that no decider makes. */
export const evolveLink = (state: LinkState, event: LinkEvent): LinkState => {
  const { time } = event;
  if (isCreation(event)) {
    if (state.status !== 'none') return state;
    const { url, custom, expiresAt, maxClicks, passwordHash } = event.data;
    const { startsAt = null, title = null, note = null, tags = [] } = event.data;
    // Without spreads: in Node 20 each property after one costs a microsecond.
    const link = {
      subject: event.subject,
      url,
      account: event.account ?? 'default',
      custom,
      startsAt,
      expiresAt,
      maxClicks,
      passwordHash,
      options: optionsIn(event.data),
      title,
      note,
      tags,
      codes: noCodes,
      createdAt: event.type === 'linklog.LinkImported.v1' ? event.data.createdAt : time,
      updatedAt: time,
      liveSince: time,
      original: null,
    };
    return linkState(link, noRestraints);
  }
  if (state.status === 'none') return state;
  const link = { ...state.link, updatedAt: time };
  const { restraints } = state;
  switch (event.type) {
    case 'linklog.LinkEdited.v3':
      return edit(state, event);
    case 'linklog.LinkDescribed.v1':
      return linkState({ ...link, ...event.data }, restraints);
    case 'linklog.LinkDisabled.v1':
      return linkState(link, { ...restraints, disabled: true });
    case 'linklog.LinkEnabled.v1':
      return linkState({ ...link, liveSince: time }, { ...restraints, disabled: false });
    case 'linklog.LinkDeleted.v1':
      return linkState(link, { ...restraints, deleted: true });
    case 'linklog.LinkRestored.v1':
      return linkState({ ...link, liveSince: time }, { ...restraints, deleted: false });
    case 'linklog.LinkExpired.v1':
      return linkState(link, { ...restraints, expired: restraints.expired ?? event.data.reason });
    case 'linklog.LinkBlocked.v1':
      return linkState(link, { ...restraints, blocked: true });
    case 'linklog.LinkUnblocked.v1':
      return linkState(link, { ...restraints, blocked: false });
    case 'linklog.LinkCodeAdded.v1':
      return linkState({ ...link, codes: [...link.codes, event.data.code] }, restraints);
    case 'linklog.LinkCodeRemoved.v1':
      return linkState(
        { ...link, codes: link.codes.filter((code) => code !== event.data.code) },
        restraints,
      );
    default:
      return unknownEvent(event, 'link');
  }
};
