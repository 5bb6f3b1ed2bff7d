import type { LedgerClock } from '../../../ops/ledger/clock.js';
import type { Outbox, OutboxDelivery } from '../../../ops/platform/outbox/port.js';
import { batchRequest, type BatchResult } from '../../../schemas/http/batch.js';
import { messages } from '../../../schemas/http/errors.js';
import { answerOf, type AnswerForm, type BatchItem } from '../../domain/link.js';
import type { IdempotentRequest } from '../../ledger/kept-answers.js';
import { createShortenHandler } from '../../ledger/shorten.js';
import { json, unavailable, type Reply } from '../reply.js';
import { parseAs } from '../requests.js';
import type { V2State } from './admitted-call.js';
import { createIdempotency } from './idempotency.js';
import {
  createLinkRequests,
  generateCode,
  type LinkRequestDeps,
  type ReadyRequest,
} from './link-requests.js';

/** Milliseconds that an answer waits for the log: a client gets its answer within 2 s. */
const logWithinMs = 1_500;

export interface ShortenDeps extends LinkRequestDeps {
  readonly outbox: Outbox;
  readonly clock: LedgerClock;
  readonly delivery: OutboxDelivery;
  readonly shortUrlHost: string;
}

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

/** POST /v2/shorten, and POST /v2/shorten/batch. */
export const createShortenHandlers = (deps: ShortenDeps) => {
  const { pool, outbox, clock, delivery, shortUrlHost } = deps;
  const handler = createShortenHandler({ pool, outbox, clock, generateCode });
  const idempotency = createIdempotency(pool, clock, delivery);
  const requests = createLinkRequests(deps);

  /**
   * Has the ledger decide about links that are ready, and answers once the log has their events; or
   * as the same request was answered before, perhaps by another node a moment ago.
   */
  const decide = async (
    state: V2State,
    ready: readonly ReadyRequest[],
    form: AnswerForm,
    request: IdempotentRequest | null,
  ): Promise<Reply> => {
    const { call } = state;
    const result = await handler.shorten({
      keyId: call.key.rootId,
      linkLimit: requests.linkLimitOf(call),
      links: await requests.complete(ready, state),
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

  return {
    shorten: idempotency.post(async (body, state, request) => {
      const [prepared] = await requests.prepare([body], state);
      if (!prepared) return unavailable();
      if (prepared.type === 'refused') return prepared.reply;
      return decide(state, [prepared], { type: 'link', shortUrlHost }, request);
    }),
    /** Each item has its own outcome, all are decided together. */
    shortenBatch: idempotency.post(async (body, state, request) => {
      const parsed = parseAs(batchRequest, body);
      if (parsed.type === 'refused') return parsed.reply;
      const { urls } = parsed.value;
      const prepared = await requests.prepare(urls, state);
      const { aliasTaken, linksExhausted } = requests.refusals(state.call);
      const items = prepared.map((one, index): BatchItem => {
        const failed = (reply: Reply): BatchResult => failureOf(index, urls[index], reply);
        if (one.type === 'refused') return { type: 'refused', result: failed(one.reply) };
        const failures = { aliasTaken: failed(aliasTaken), linksExhausted: failed(linksExhausted) };
        return { type: 'ready', failures };
      });
      const ready = prepared.filter((one) => one.type === 'ready');
      return decide(state, ready, { type: 'batch', shortUrlHost, items }, request);
    }),
  };
};
