import {
  accepted,
  nextEvent,
  refused,
  type Command,
  type CommandRequest,
  type Decider,
} from '../../../schemas/decision.js';
import type { EventNamed } from '../../../schemas/events/catalogue.js';
import { newEvent } from '../../../schemas/events/codec.js';
import { mayCreate } from '../../../schemas/folds/domain.js';
import {
  evolveLedgerLink,
  initialState,
  type LedgerLink,
  type LedgerLinkState,
} from '../../../schemas/folds/ledger-link.js';
import { type Link, type LinkState, type ExistingLink } from '../../../schemas/folds/link.js';
import type { ShortenRequest } from '../../../schemas/http/shorten.js';
import { noOptions } from '../../../schemas/link-options.js';
import { linkOfSubject, subjectOf, type LinkIdentity } from '../../../schemas/link-subject.js';

/** The data of a new link, checked except against the ledger. The subject of the command is that of the link. */
export interface NewLink extends Omit<ShortenRequest, 'alias' | 'domain' | 'password'> {
  /** Whether the code is an alias, not generated. */
  readonly custom: boolean;
  readonly passwordHash: string | null;
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
    const { startsAt, title, note, tags, options } = link;
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
      ...options,
    };
    const metadata = nextEvent({ sequence: 0, lastEventAt: now }, command);
    return accepted(newEvent('LinkCreated', data, { subject, account, ...metadata }));
  },
};

/** Whether `reuse` returns this link: it is active, on this domain, has exactly this destination, and no option. */
export const isReusable = (
  state: LinkState,
  { account, url, domain }: Destination,
): state is ExistingLink => {
  // A link without start and end needs no clock.
  if (state.status !== 'active') return false;
  const { link } = state;
  const { custom, startsAt, expiresAt, maxClicks, passwordHash, title, note, tags } = link;
  const fields = [startsAt, expiresAt, maxClicks, passwordHash, title, note];
  const hasNone =
    !custom &&
    link.options === noOptions &&
    tags.length === 0 &&
    fields.every((field) => field === null);
  const isOnDomain = linkOfSubject(link.subject).domain === domain;
  return hasNone && isOnDomain && link.account === account && link.url === url;
};

/** What a link has in common with a request with `reuse`. */
export interface Destination extends Pick<LinkIdentity, 'domain'> {
  readonly account: string;
  readonly url: string;
}

export const nameOf = ({ account, url, domain }: Destination): string =>
  `${account}\n${domain ?? ''}\n${url}`;

export const destinationOf = ({ data, subject }: CommandRequest<CreateLink>): Destination => ({
  account: data.account,
  url: data.url,
  domain: linkOfSubject(subject).domain,
});

interface LinkCounts {
  /** In the month. */
  links: number;
  allLinks: number;
}

export type GenerateCode = (length: number, domain: string | null) => string;

/** The state of a group of requests, under its locks. */
interface LockedLinks {
  readonly now: Date;
  /** The subjects of this set are taken. Others count as free. */
  readonly taken: ReadonlySet<string>;
  readonly domains: Parameters<typeof mayCreate>[0];
  /** Links for requests with `reuse`, by `nameOf`. */
  readonly reusable: ReadonlyMap<string, ReusedLink>;
}

/** Decides links one after the other, under the locks. Requests with `reuse` reuse links of the same group. */
export const openGroup = (
  { taken, reusable, domains, now }: LockedLinks,
  { generateCode, newId }: { readonly generateCode: GenerateCode; readonly newId: () => string },
) => {
  const reused = new Map(reusable);
  const ledgerLinks = new Map<string, LedgerLink>();
  const isTaken = (subject: string): boolean => taken.has(subject) || ledgerLinks.has(subject);
  return {
    /** The rows to insert, by subject. */
    ledgerLinks,
    /** @param meter counts a created link; `null` for an operator */
    decideLink(
      request: CommandRequest<CreateLink>,
      linkLimit: number | null,
      meter: LinkCounts | null,
    ): ShortenOutcome {
      const { data } = request;
      const destination = destinationOf(request);
      const { domain } = destination;
      if (!mayCreate(domains, data.account, request.subject)) return { type: 'domainInactive' };
      const link = data.reuse ? reused.get(nameOf(destination)) : undefined;
      if (link) return { type: 'reused', link };
      if (meter && linkLimit !== null && meter.links >= linkLimit)
        return { type: 'linksExhausted' };
      let { subject } = request;
      const codeLength = linkOfSubject(subject).code.length;
      while (!data.custom && isTaken(subject))
        subject = subjectOf({ domain, code: generateCode(codeLength, domain) });
      if (isTaken(subject)) return { type: 'aliasTaken' };
      const metadata = { ...request.metadata, now, id: newId() };
      const { decide, evolve } = createLinkDecider;
      const decision = decide({ ...request, subject, metadata }, initialState);
      const event = decision.type === 'accepted' ? decision.events[0] : undefined;
      if (!event)
        throw new Error(`decide() returned ${decision.type} for the unused subject ${subject}`);
      const ledgerLink = evolve(initialState, event);
      if (ledgerLink.status === 'none')
        throw new Error(`evolve() returned no link for LinkCreated of ${subject}`);
      ledgerLinks.set(subject, ledgerLink);
      if (meter) {
        meter.links += 1;
        meter.allLinks += 1;
      }
      if (data.reuse) {
        reused.set(nameOf(destination), { subject, url: data.url, createdAt: event.time });
      }
      return { type: 'created', event };
    },
  };
};
