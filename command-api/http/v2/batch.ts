import { batchRequest, type BatchResponse, type BatchResult } from '../../../schemas/http/batch.js';
import type { ShortenOutcome } from '../../ledger/shorten.js';
import { failure, json, type Reply } from '../reply.js';
import { answerToKeep, idempotentPost, replyTo } from './idempotent-post.js';
import type { Prepared } from './link-requests.js';
import type { V2State } from './admitted-call.js';
import type { ShortenDeps } from './shorten.js';

const bodyLimit = 524_288;

/** What a reply to the item alone would have said, as an item of the batch's answer. */
const resultOf = (index: number, item: unknown, reply: Reply): BatchResult => {
  if (reply.type === 'json' && reply.status === 201) {
    return { index, success: true, ...(reply.body as object) } as BatchResult;
  }
  const { url } = (item ?? {}) as { url?: unknown };
  const error =
    reply.type === 'error'
      ? { statusCode: reply.status, message: reply.message }
      : (reply.body as object);
  const echoed = typeof url === 'string' ? url : null;
  return { index, success: false, url: echoed, ...error } as BatchResult;
};

/**
 * Whether a retry may make what was not made, and nothing twice: some items failed for want of the web
 * safety service, and no link was made. Where one was, the answer is kept with its failures: without it
 * a retry would make that link again.
 */
const mayGoBetter = ({ results }: BatchResponse): boolean =>
  results.some((result) => !result.success && result.statusCode === 503) &&
  !results.some(({ success }) => success);

/** POST /v2/shorten/batch: each item has its own outcome, all are decided together. */
export const batchRoute = (deps: ShortenDeps) => {
  const { handler, requests } = deps;
  const answer = (
    items: readonly unknown[],
    prepared: readonly Prepared[],
    outcomes: readonly ShortenOutcome[],
    { call }: V2State,
  ): BatchResponse => {
    const decided = [...outcomes];
    const results = prepared.map((request, index) => {
      if (request.type === 'refused') return resultOf(index, items[index], request.reply);
      const outcome = decided.shift();
      if (!outcome) throw new Error('An item was left undecided');
      return resultOf(index, items[index], requests.replyTo(outcome, call));
    });
    return { results };
  };

  return idempotentPost(deps.idempotency, bodyLimit, async (body, state, idempotent) => {
    const parsed = batchRequest.safeParse(body);
    if (!parsed.success) return failure(400, parsed.error.issues[0]?.message ?? 'Bad Request');
    const { urls } = parsed.data;
    const { call } = state;
    const prepared = await requests.prepare(urls, state);
    const answerTo = (outcomes: readonly ShortenOutcome[]): BatchResponse =>
      answer(urls, prepared, outcomes, state);
    const ready = prepared.filter((request) => request.type === 'ready');
    const result = await handler.shorten({
      keyId: call.key.id,
      linkLimit: requests.linkLimitOf(call),
      links: await requests.complete(ready, call),
      idempotency: idempotent?.scope ?? null,
      answerToKeep: (outcomes) => {
        const kept = answerTo(outcomes);
        return mayGoBetter(kept) ? null : answerToKeep(idempotent, 200, kept, outcomes);
      },
    });
    return replyTo(result, idempotent, deps, (outcomes) => json(200, answerTo(outcomes)));
  });
};
