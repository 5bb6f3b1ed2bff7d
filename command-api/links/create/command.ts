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
import type { LinkResponse } from '../../../schemas/http/shorten.js';

/** The data of a new link; only what the ledger alone knows is unchecked. The subject is the code. */
export interface NewLink {
  /** Asked for, or generated. */
  readonly custom: boolean;
  readonly url: string;
  /** Seconds. */
  readonly expiresIn: number | null;
  /** In place of `expiresIn`. */
  readonly expiresAt: string | null;
  readonly startsAt: string | null;
  readonly maxClicks: number | null;
  readonly passwordHash: string | null;
  readonly title: string | null;
  readonly note: string | null;
  readonly tags: readonly string[] | null;
  /** Whether an existing link of the account to the destination will do. */
  readonly reuse: boolean;
  /** The root key whose quota it spends. */
  readonly keyId: string;
  readonly account: string;
}

export type CreateLink = Command<'CreateLink', NewLink>;

/** Why the ledger created no link. */
export type ShortenRefusal = 'aliasTaken' | 'linksExhausted';

/** An existing link, which has no options. */
export type ReusedLink = Pick<Link, 'code' | 'url' | 'createdAt'>;

/** What became of a request for a link. */
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
  decide({ subject, data: create, metadata: command }, link) {
    if (link.status === 'taken') return refused({ type: 'codeTaken' });
    const { custom, url, expiresIn, maxClicks, passwordHash, keyId, account } = create;
    const { startsAt, title, note, tags } = create;
    const { now } = command;
    const expiresAt = expiresIn === null ? create.expiresAt : secondsAfter(now, expiresIn);
    const data = {
      url,
      custom,
      expiresAt,
      maxClicks,
      passwordHash,
      keyId,
      ...(startsAt !== null && { startsAt }),
      ...(title !== null && { title }),
      ...(note !== null && { note }),
      ...(tags !== null && { tags: [...tags] }),
    };
    const metadata = nextEvent({ sequence: 0, lastEventAt: now }, command);
    return accepted(newEvent('LinkCreated', data, { subject, account, ...metadata }));
  },
};

/** An item of a batch: its failure if it is known already, otherwise what each refusal will say. */
export type BatchItem =
  | { readonly type: 'refused'; readonly result: BatchResult }
  | {
      readonly type: 'ready';
      readonly failures: Readonly<Record<ShortenRefusal, BatchResult>>;
    };

/**
 * How the outcomes of a request become its answer. Plain data: the ledger makes the answer from it
 * in the deciding transaction, and keeps it for retries.
 */
export type AnswerForm = { readonly shortUrlHost: string } & (
  { readonly type: 'link' } | { readonly type: 'batch'; readonly items: readonly BatchItem[] }
);

export type ShortenAnswer =
  | { readonly type: 'created'; readonly status: 201; readonly body: LinkResponse }
  | { readonly type: 'reused'; readonly status: 200; readonly body: LinkResponse }
  | { readonly type: 'batch'; readonly status: 200; readonly body: BatchResponse };

const linkOf = (event: EventNamed<'LinkCreated'>, shortUrlHost: string): LinkResponse => {
  const { url, custom, startsAt, expiresAt, maxClicks, title, note, tags } = event.data;
  return {
    shortUrl: `${shortUrlHost}/${event.subject}`,
    shortCode: event.subject,
    url,
    ...(custom && { alias: event.subject }),
    ...(expiresAt !== null && { expiresAt }),
    ...(startsAt !== undefined && { startsAt }),
    ...(maxClicks !== null && { maxClicks }),
    createdAt: event.time,
    ...(title !== undefined && { title }),
    ...(note !== undefined && { note }),
    ...(tags !== undefined && { tags }),
  };
};

const reusedLinkOf = (
  { code, url, createdAt }: ReusedLink,
  shortUrlHost: string,
): LinkResponse => ({ shortUrl: `${shortUrlHost}/${code}`, shortCode: code, url, createdAt });

/** Whether `reuse` finds this link: it is active, leads to exactly this destination, and has no option. */
export const isReusable = (
  state: LinkState,
  { account, url }: Pick<Link, 'account' | 'url'>,
  now: Date,
): state is ExistingLink => {
  if (state.status === 'none' || linkStatusAt(state, now) !== 'active') return false;
  const { link } = state;
  const { custom, startsAt, expiresAt, maxClicks, passwordHash, title, note, tags } = link;
  const options = [startsAt, expiresAt, maxClicks, passwordHash, title, note];
  const hasNone = !custom && tags.length === 0 && options.every((option) => option === null);
  return hasNone && link.account === account && link.url === url;
};

/** The result of an item that failed: what the reply to the item alone would have said. */
export const failedItem = (index: number, item: unknown, failure: object): BatchResult => {
  const { url } = (item ?? {}) as { url?: unknown };
  const echoed = typeof url === 'string' ? url : null;
  return { index, success: false, url: echoed, ...failure } as BatchResult;
};

/** The success that the outcomes come to; `null` for a single link that was not made. */
export const answerOf = (
  form: AnswerForm,
  outcomes: readonly ShortenOutcome[],
): ShortenAnswer | null => {
  const { shortUrlHost } = form;
  if (form.type === 'link') {
    const [outcome] = outcomes;
    if (outcome?.type === 'created') {
      return { type: 'created', status: 201, body: linkOf(outcome.event, shortUrlHost) };
    }
    if (outcome?.type !== 'reused') return null;
    return { type: 'reused', status: 200, body: reusedLinkOf(outcome.link, shortUrlHost) };
  }
  const decided = [...outcomes];
  const results = form.items.map((item, index): BatchResult => {
    if (item.type === 'refused') return item.result;
    const outcome = decided.shift();
    if (!outcome) throw new Error('An item of a batch has no outcome');
    if (outcome.type === 'created') {
      return { index, success: true, ...linkOf(outcome.event, shortUrlHost) };
    }
    if (outcome.type === 'reused') throw new Error('An item of a batch is never reused');
    return item.failures[outcome.type];
  });
  return { type: 'batch', status: 200, body: { results } };
};

/** Whether a retry gets this answer again: only an answer that created something is stored. */
export const isStorable = (answer: ShortenAnswer): boolean =>
  answer.type !== 'batch' || answer.body.results.some(({ success }) => success);

/**
 * An answer to a batch without what can be read again: the fields of created links, and the URLs of failed items,
 * which are in the request.
 */
export type BatchOutline = readonly (
  { readonly shortCode: string } | { readonly failure: object }
)[];

export const outlineOf = ({ results }: BatchResponse): BatchOutline =>
  results.map((result) => {
    if (result.success) return { shortCode: result.shortCode };
    const failure = Object.entries(result).filter(
      ([name]) => name !== 'index' && name !== 'success' && name !== 'url',
    );
    return { failure: Object.fromEntries(failure) };
  });

/**
 * The answer of an outline. `null` if a link's event is missing.
 *
 * @param items the items of the request
 * @param createdByCode the events that created the links
 */
export const answerOfOutline = (
  outline: BatchOutline,
  items: readonly unknown[],
  createdByCode: ReadonlyMap<string, EventNamed<'LinkCreated'>>,
  shortUrlHost: string,
): BatchResponse | null => {
  const results: BatchResult[] = [];
  for (const [index, entry] of outline.entries()) {
    if ('failure' in entry) {
      results.push(failedItem(index, items[index], entry.failure));
      continue;
    }
    const event = createdByCode.get(entry.shortCode);
    if (!event) return null;
    results.push({ index, success: true, ...linkOf(event, shortUrlHost) });
  }
  return { results };
};
