import type { EventNamed } from '../../schemas/events/catalogue.js';
import type { BatchResponse, BatchResult } from '../../schemas/http/batch.js';
import type { LinkResponse } from '../../schemas/http/shorten.js';
import type { ShortenOutcome, ShortenRefusal } from './link.js';

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
  | { readonly status: 201; readonly body: LinkResponse }
  | { readonly status: 200; readonly body: BatchResponse };

const linkOf = (event: EventNamed<'LinkCreated'>, shortUrlHost: string): LinkResponse => {
  const { url, custom, expiresAt, maxClicks } = event.data;
  return {
    shortUrl: `${shortUrlHost}/${event.subject}`,
    shortCode: event.subject,
    url,
    ...(custom && { alias: event.subject }),
    ...(expiresAt !== null && { expiresAt }),
    ...(maxClicks !== null && { maxClicks }),
    createdAt: event.time,
  };
};

/** The success that the outcomes come to; `null` for a single link that was not made. */
export const answerOf = (
  form: AnswerForm,
  outcomes: readonly ShortenOutcome[],
): ShortenAnswer | null => {
  const { shortUrlHost } = form;
  if (form.type === 'link') {
    const [outcome] = outcomes;
    if (outcome?.type !== 'created') return null;
    return { status: 201, body: linkOf(outcome.event, shortUrlHost) };
  }
  const decided = [...outcomes];
  const results = form.items.map((item, index): BatchResult => {
    if (item.type === 'refused') return item.result;
    const outcome = decided.shift();
    if (!outcome) throw new Error('An item of a batch has no outcome');
    return outcome.type === 'created'
      ? { index, success: true, ...linkOf(outcome.event, shortUrlHost) }
      : item.failures[outcome.type];
  });
  return { status: 200, body: { results } };
};

/**
 * Whether a retry gets this answer again. It does not where a retry may make what was not made, and
 * nothing twice: some items failed because the web safety service was away, and no link was made.
 */
export const isKept = (answer: ShortenAnswer): boolean => {
  if (answer.status === 201) return true;
  const { results } = answer.body;
  return (
    results.some(({ success }) => success) ||
    !results.some((result) => !result.success && result.statusCode === 503)
  );
};
