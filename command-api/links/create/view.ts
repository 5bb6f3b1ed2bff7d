import type { EventNamed } from '../../../schemas/events/catalogue.js';
import type { BatchResponse, BatchResult } from '../../../schemas/http/batch.js';
import { warningOf } from '../../../schemas/http/link-options.js';
import type { LinkResponse } from '../../../schemas/http/shorten.js';
import { optionsIn } from '../../../schemas/link-options.js';
import { linkOfSubject, shortUrlOf, subjectOf } from '../../../schemas/link-subject.js';
import type { ShortenOutcome, ShortenRefusal } from './command.js';

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

type ShortenResponse =
  | { readonly type: 'created'; readonly status: 201; readonly body: LinkResponse }
  | { readonly type: 'reused'; readonly status: 200; readonly body: LinkResponse }
  | { readonly type: 'batch'; readonly status: 200; readonly body: BatchResponse };

const toLinkResponse = (event: EventNamed<'LinkCreated'>, shortUrlHost: string): LinkResponse => {
  const { url, custom, startsAt, expiresAt, maxClicks, title, note, tags } = event.data;
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
    ...optionsIn(event.data),
    ...warningOf(event.data),
  };
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
