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
import type { BatchResponse, BatchResult } from '../../../schemas/http/batch.js';
import type { RedirectRule } from '../../../schemas/redirect-rules.js';
import type { LinkResponse } from '../../../schemas/http/shorten.js';
import {
  linkOfSubject,
  shortUrlOf,
  subjectOf,
  type LinkIdentity,
} from '../../../schemas/link-subject.js';

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

/** An item of a batch: its failure, or the failure for each refusal of the ledger. */
export type BatchItem =
  | { readonly type: 'refused'; readonly result: BatchResult }
  | {
      readonly type: 'ready';
      readonly failures: Readonly<Record<ShortenRefusal, BatchResult>>;
    };

/** Data to build a response from outcomes. The deciding transaction builds it, too, for the idempotency record. */
export type ResponseForm = { readonly shortUrlHost: string } & (
  { readonly type: 'link' } | { readonly type: 'batch'; readonly items: readonly BatchItem[] }
);

export type ShortenResponse =
  | { readonly type: 'created'; readonly status: 201; readonly body: LinkResponse }
  | { readonly type: 'reused'; readonly status: 200; readonly body: LinkResponse }
  | { readonly type: 'batch'; readonly status: 200; readonly body: BatchResponse };

const toLinkResponse = (event: EventNamed<'LinkCreated'>, shortUrlHost: string): LinkResponse => {
  const { url, custom, startsAt, expiresAt, maxClicks, title, note, tags } = event.data;
  const { rules, forwardQuery } = event.data;
  const { domain, code } = linkOfSubject(event.subject);
  return {
    shortUrl: shortUrlOf(event.subject, shortUrlHost),
    shortCode: code,
    ...(domain !== null && { domain }),
    url,
    ...(custom && { alias: code }),
    ...(expiresAt !== null && { expiresAt }),
    ...(startsAt !== undefined && { startsAt }),
    ...(maxClicks !== null && { maxClicks }),
    createdAt: event.time,
    ...(title !== undefined && { title }),
    ...(note !== undefined && { note }),
    ...(tags !== undefined && { tags }),
    ...(rules !== undefined && { rules }),
    ...(forwardQuery !== undefined && { forwardQuery }),
  };
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

/** The result of an item that failed. @param failure the fields of the error response to a single request */
export const failedItem = (index: number, item: unknown, failure: object): BatchResult => {
  const { url } = (item ?? {}) as { url?: unknown };
  const echoed = typeof url === 'string' ? url : null;
  return { index, success: false, url: echoed, ...failure } as BatchResult;
};

/** The successful response; `null` for a single link that was refused. */
export const toResponse = (
  form: ResponseForm,
  outcomes: readonly ShortenOutcome[],
): ShortenResponse | null => {
  const { shortUrlHost } = form;
  if (form.type === 'link') {
    const [outcome] = outcomes;
    if (outcome?.type === 'created') {
      return { type: 'created', status: 201, body: toLinkResponse(outcome.event, shortUrlHost) };
    }
    if (outcome?.type !== 'reused') return null;
    const { subject, url, createdAt } = outcome.link;
    const { domain, code: shortCode } = linkOfSubject(subject);
    const shortUrl = shortUrlOf(subject, shortUrlHost);
    const body = { shortUrl, shortCode, ...(domain !== null && { domain }), url, createdAt };
    return { type: 'reused', status: 200, body };
  }
  const remaining = [...outcomes];
  const results = form.items.map((item, index): BatchResult => {
    if (item.type === 'refused') return item.result;
    const outcome = remaining.shift();
    if (!outcome) throw new Error(`${outcomes.length} outcomes do not suffice for item ${index}`);
    if (outcome.type === 'created') {
      return { index, success: true, ...toLinkResponse(outcome.event, shortUrlHost) };
    }
    if (outcome.type === 'reused') throw new Error(`Item ${index} of a batch was reused`);
    return item.failures[outcome.type];
  });
  return { type: 'batch', status: 200, body: { results } };
};

/** Whether the response is stored for retries: a batch only if it created a link. */
export const isStorable = (response: ShortenResponse): boolean =>
  response.type !== 'batch' || response.body.results.some(({ success }) => success);

/** The response to a batch without the fields of created links, and without URLs, which are in the request. */
export type BatchOutline = readonly (
  { readonly shortCode: string; readonly domain?: string } | { readonly failure: object }
)[];

export const outlineOf = ({ results }: BatchResponse): BatchOutline =>
  results.map((result) => {
    if (result.success) {
      const { shortCode, domain } = result;
      return { shortCode, ...(domain !== undefined && { domain }) };
    }
    const failure = Object.entries(result).filter(
      ([name]) => name !== 'index' && name !== 'success' && name !== 'url',
    );
    return { failure: Object.fromEntries(failure) };
  });

/**
 * The response of an outline. `null` if the event of a link is missing.
 *
 * @param items the items of the request
 * @param createdBySubject the events that created the links
 */
export const responseOfOutline = (
  outline: BatchOutline,
  items: readonly unknown[],
  createdBySubject: ReadonlyMap<string, EventNamed<'LinkCreated'>>,
  shortUrlHost: string,
): BatchResponse | null => {
  const results: BatchResult[] = [];
  for (const [index, entry] of outline.entries()) {
    if ('failure' in entry) {
      results.push(failedItem(index, items[index], entry.failure));
      continue;
    }
    const { shortCode: code, domain = null } = entry;
    const event = createdBySubject.get(subjectOf({ domain, code }));
    if (!event) return null;
    results.push({ index, success: true, ...toLinkResponse(event, shortUrlHost) });
  }
  return { results };
};
