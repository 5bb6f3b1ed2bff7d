import type { OutboxDelivery } from '../../../ops/platform/outbox/port.js';
import { batchRequest, type BatchResult } from '../../../schemas/http/batch.js';
import { messages } from '../../../schemas/http/errors.js';
import { answerOf, type AnswerForm, type BatchItem } from '../../domain/link-answers.js';
import type { IdempotentRequest } from '../../ledger/kept-answers.js';
import type { ShortenHandler } from '../../ledger/shorten.js';
import { json, unavailable, type Reply } from '../reply.js';
import { parseAs, type Handler } from '../requests.js';
import type { V2State } from './admitted-call.js';
import type { Idempotency } from './idempotency.js';
import type { LinkRequests, Prepared, Ready } from './link-requests.js';

/** Bytes. */
const bodyLimits = { link: 65_536, batch: 524_288 };
/** Milliseconds that an answer waits for the log: a client gets its answer within 2 s. */
const logWithinMs = 1_500;

export interface ShortenDeps {
  readonly handler: ShortenHandler;
  readonly idempotency: Idempotency;
  readonly delivery: OutboxDelivery;
  readonly requests: LinkRequests;
  readonly shortUrlHost: string;
}

/**
 * Has the ledger decide about links that are ready, and answers once the log has their events; or as
 * the same request was answered before, perhaps by another node a moment ago.
 */
const decide = async (
  { handler, idempotency, delivery, requests }: ShortenDeps,
  { call }: V2State,
  ready: readonly Ready[],
  form: AnswerForm,
  request: IdempotentRequest | null,
): Promise<Reply> => {
  const result = await handler.shorten({
    keyId: call.key.id,
    linkLimit: requests.linkLimitOf(call),
    links: await requests.complete(ready, call),
    idempotency: request && { ...request, form },
  });
  if (result.type === 'answered') {
    return request ? idempotency.replay(result.answer, request.bodyHash) : unavailable();
  }
  const logged = await delivery.logged(result.receipt, logWithinMs);
  if (!logged) return unavailable(messages.logUnavailable);
  const answer = answerOf(form, result.outcomes);
  if (answer) return json(answer.status, answer.body);
  const [outcome] = result.outcomes;
  if (!outcome || outcome.type === 'created') return unavailable();
  return requests.refusals(call)[outcome.type];
};

/** POST /v2/shorten */
export const shortenRoute = (deps: ShortenDeps): Handler<V2State> =>
  deps.idempotency.post(bodyLimits.link, async (body, state, request) => {
    const [prepared] = await deps.requests.prepare([body], state);
    if (!prepared) return unavailable();
    if (prepared.type === 'refused') return prepared.reply;
    const form = { type: 'link', shortUrlHost: deps.shortUrlHost } as const;
    return decide(deps, state, [prepared], form, request);
  });

/** The failure of an item: what the reply to the item alone would have said. */
const failureOf = (index: number, item: unknown, reply: Reply): BatchResult => {
  const { url } = (item ?? {}) as { url?: unknown };
  const error =
    reply.type === 'error'
      ? { statusCode: reply.status, message: reply.message }
      : (reply.body as object);
  const echoed = typeof url === 'string' ? url : null;
  return { index, success: false, url: echoed, ...error } as BatchResult;
};

/** POST /v2/shorten/batch: each item has its own outcome, all are decided together. */
export const batchRoute = (deps: ShortenDeps): Handler<V2State> =>
  deps.idempotency.post(bodyLimits.batch, async (body, state, request) => {
    const parsed = parseAs(batchRequest, body);
    if (parsed.type === 'refused') return parsed.reply;
    const { urls } = parsed.value;
    const prepared = await deps.requests.prepare(urls, state);
    const { aliasTaken, linksExhausted } = deps.requests.refusals(state.call);
    const itemOf = (one: Prepared, index: number): BatchItem => {
      const failed = (reply: Reply): BatchResult => failureOf(index, urls[index], reply);
      return one.type === 'refused'
        ? { type: 'refused', result: failed(one.reply) }
        : {
            type: 'ready',
            failures: { aliasTaken: failed(aliasTaken), linksExhausted: failed(linksExhausted) },
          };
    };
    const { shortUrlHost } = deps;
    const form = { type: 'batch', shortUrlHost, items: prepared.map(itemOf) } as const;
    const ready = prepared.filter((one) => one.type === 'ready');
    return decide(deps, state, ready, form, request);
  });
