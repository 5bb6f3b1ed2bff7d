import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'koa';
import type { LedgerClock } from '../../../ops/ledger/clock.js';
import type { Outbox, OutboxDelivery } from '../../../ops/event-log/outbox/port.js';
import { batchRequest } from '../../../schemas/http/batch.js';
import { messages } from '../../../schemas/http/errors.js';
import { toResponse, failedItem, type ResponseForm, type BatchItem } from './view.js';
import {
  type IdempotentRequest,
  createIdempotency,
  reusedHeader,
} from '../../admission/idempotency.js';
import type { Admission } from '../../admission/admission.js';
import { createShortenHandler, type ShortenResult } from './handler.js';
import { noteIgnoredFields } from '../../http/ignored-fields.js';
import { itemErrorOf, json, logWithinMs, unavailable, type Reply } from '../../http/reply.js';
import { parseAs, parseJson } from '../../http/requests.js';
import type { UnadmittedCall, V2State } from '../../admission/admitted-call.js';
import { createLinkRequests, type LinkRequestDeps, type ReadyRequest } from './request.js';

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
  const linkForm: ResponseForm = { type: 'link', shortUrlHost };
  const idempotency = createIdempotency(deps);
  const requests = createLinkRequests(deps);
  const handler = createShortenHandler(
    { pool, outbox, clock, generateCode: requests.generateCode },
    { admission, commandOf: requests.plainCommand },
  );

  /**
   * The response, as soon as the log has the events, or the stored response of the same request, which another node may
   * have handled at the same time.
   */
  const replyTo = async (
    result: ShortenResult,
    { call, body }: V2State,
    form: ResponseForm,
    request: IdempotentRequest | null,
  ): Promise<Reply> => {
    if (result.type === 'refused') return result.reply;
    if (result.type === 'recorded') {
      return request ? idempotency.replay(result.record, request, body) : unavailable();
    }
    const [published] = await Promise.all([
      delivery.published(result.outboxPosition, logWithinMs),
      // A response of 201 promises that the link redirects on every edge.
      result.liveIn > 0 ? sleep(result.liveIn) : null,
    ]);
    if (!published) return unavailable(messages.logUnavailable);
    const response = toResponse(form, result.outcomes);
    if (response) {
      const { type, status, body: content } = response;
      return json(status, content, type === 'reused' ? reusedHeader : {});
    }
    const [outcome] = result.outcomes;
    if (!outcome || outcome.type === 'created' || outcome.type === 'reused') return unavailable();
    return requests.refusals(call)[outcome.type];
  };

  /** Creates the links of checked requests. */
  const decide = async (
    state: V2State,
    ready: readonly ReadyRequest[],
    form: ResponseForm,
    request: IdempotentRequest | null,
  ): Promise<Reply> => {
    const { call } = state;
    const result = await handler.shorten({
      keyHash: state.keyHash,
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
    admitAndCreate: async (
      ctx: Context,
      state: V2State,
      { call, body, scope, enter }: UnadmittedCall,
    ): Promise<Reply | null> => {
      if (ctx.headers['idempotency-key'] !== undefined) return null;
      const parsed = body.type === 'read' ? parseJson(body.value) : body;
      if (parsed.type === 'read') noteIgnoredFields(state, requests.schema, parsed.value);
      const { requestId, traceparent, stalled, keyHash } = state;
      const cause = { requestId, traceparent, stalled, keyHash };
      const request = await requests.plain(parsed, scope, cause);
      if (!request) return null;
      const { admitted, result } = await handler.admitAndCreate({ call, request, traceparent });
      const refusal = enter(admitted);
      return refusal || !result ? refusal : replyTo(result, state, linkForm, null);
    },
    /** Creates the links of a batch in one transaction, with one outcome per item. */
    shortenBatch: idempotency.post(batchRequest, async (body, state, request) => {
      const parsed = parseAs(batchRequest, body);
      if (parsed.type === 'refused') return parsed.reply;
      const { urls } = parsed.value;
      const prepared = await requests.prepare(urls, state, requests.itemSchema);
      const refusals = requests.refusals(state.call);
      const items = prepared.map((item, index): BatchItem => {
        const failed = (reply: Reply) => failedItem(index, urls[index], itemErrorOf(reply));
        if (item.type === 'refused') return { type: 'refused', result: failed(item.reply) };
        return {
          type: 'ready',
          failures: {
            domainInactive: failed(refusals.domainInactive),
            aliasTaken: failed(refusals.aliasTaken),
            linksExhausted: failed(refusals.linksExhausted),
          },
        };
      });
      const ready = prepared.filter((item) => item.type === 'ready');
      return decide(state, ready, { type: 'batch', shortUrlHost, items }, request);
    }),
  };
};
