import type { Context } from 'koa';
import type { LedgerClock } from '../../../ops/ledger/clock.js';
import type { Outbox, OutboxDelivery } from '../../../ops/event-log/outbox/port.js';
import { batchRequest } from '../../../schemas/http/batch.js';
import { messages } from '../../../schemas/http/errors.js';
import { answerOf, failedItem, type AnswerForm, type BatchItem } from './command.js';
import type { IdempotentRequest } from '../../admission/idempotency-records.js';
import type { Admission } from '../../admission/admission.js';
import {
  createAdmittingShortenHandler,
  createShortenHandler,
  type ShortenResult,
} from './handler.js';
import { noteIgnoredFields } from '../../http/ignored-fields.js';
import { itemErrorOf, json, unavailable, type Reply } from '../../http/reply.js';
import { parseAs, parseJson } from '../../http/requests.js';
import type { UnadmittedCall, V2State } from '../../admission/admitted-call.js';
import { createIdempotency, reusedHeader } from '../../admission/idempotency.js';
import {
  createLinkRequests,
  generateCode,
  type LinkRequestDeps,
  type ReadyRequest,
} from './request.js';

/** Milliseconds that an answer waits for the log: a client gets its answer within 2 s. */
export const logWithinMs = 1_500;

export interface ShortenDeps extends LinkRequestDeps {
  readonly admission: Admission;
  readonly outbox: Outbox;
  readonly clock: LedgerClock;
  readonly delivery: OutboxDelivery;
  readonly shortUrlHost: string;
}

/** POST /v2/shorten, and POST /v2/shorten/batch. */
export const createShortenHandlers = (deps: ShortenDeps) => {
  const { pool, admission, outbox, clock, delivery, shortUrlHost } = deps;
  const ledger = { pool, outbox, clock, generateCode };
  const handler = createShortenHandler(ledger);
  const admittingHandler = createAdmittingShortenHandler({ ...ledger, admission });
  const linkForm: AnswerForm = { type: 'link', shortUrlHost };
  const idempotency = createIdempotency(deps);
  const requests = createLinkRequests(deps);

  /**
   * The reply once the log has the events of what was decided; or as the same request was answered before, perhaps
   * by another node a moment ago.
   */
  const replyTo = async (
    result: ShortenResult,
    { call, body }: V2State,
    form: AnswerForm,
    request: IdempotentRequest | null,
  ): Promise<Reply> => {
    if (result.type === 'answered') {
      return request ? idempotency.replay(result.answer, request, body) : unavailable();
    }
    const logged = await delivery.published(result.outboxPosition, logWithinMs);
    if (!logged) return unavailable(messages.logUnavailable);
    const answer = answerOf(form, result.outcomes);
    if (answer) {
      return json(answer.status, answer.body, answer.type === 'reused' ? reusedHeader : {});
    }
    const [outcome] = result.outcomes;
    if (!outcome || outcome.type === 'created' || outcome.type === 'reused') return unavailable();
    return requests.refusals(call)[outcome.type];
  };

  /** Has the ledger decide about links that are ready. */
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
    return replyTo(result, state, form, request);
  };

  return {
    shorten: idempotency.post(requests.schema, async (body, state, request) => {
      const [prepared] = await requests.prepare([body], state, requests.schema);
      if (!prepared) return unavailable();
      if (prepared.type === 'refused') return prepared.reply;
      return decide(state, [prepared], linkForm, request);
    }),
    /** Admits the call and creates its link in one transaction. */
    shortenAtOnce: async (
      ctx: Context,
      state: V2State,
      { call, body, enter }: UnadmittedCall,
    ): Promise<Reply | null> => {
      if (ctx.headers['idempotency-key'] !== undefined) return null;
      const parsed = body.type === 'read' ? parseJson(body.value) : body;
      if (parsed.type === 'read') noteIgnoredFields(state, requests.schema, parsed.value);
      const plain = await requests.plain(parsed);
      if (!plain) return null;
      let refusal: Reply | null = null;
      const result = await admittingHandler.admitAndShorten({
        call,
        commandFor(admitted) {
          refusal = enter(admitted);
          if (refusal) return null;
          const made = plain.commandFor(state);
          if (made.type === 'refused') {
            refusal = made.reply;
            return null;
          }
          const { key } = state.call;
          const linkLimit = requests.linkLimitOf(state.call);
          return { keyId: key.rootId, linkLimit, links: [made.value], idempotency: null };
        },
      });
      return result ? replyTo(result, state, linkForm, null) : refusal;
    },
    /** Each item has its own outcome, all are decided together. */
    shortenBatch: idempotency.post(batchRequest, async (body, state, request) => {
      const parsed = parseAs(batchRequest, body);
      if (parsed.type === 'refused') return parsed.reply;
      const { urls } = parsed.value;
      const prepared = await requests.prepare(urls, state, requests.itemSchema);
      const { aliasTaken, linksExhausted } = requests.refusals(state.call);
      const items = prepared.map((one, index): BatchItem => {
        const failed = (reply: Reply) => failedItem(index, urls[index], itemErrorOf(reply));
        if (one.type === 'refused') return { type: 'refused', result: failed(one.reply) };
        const failures = { aliasTaken: failed(aliasTaken), linksExhausted: failed(linksExhausted) };
        return { type: 'ready', failures };
      });
      const ready = prepared.filter((one) => one.type === 'ready');
      return decide(state, ready, { type: 'batch', shortUrlHost, items }, request);
    }),
  };
};
