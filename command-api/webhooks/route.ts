import type { Outbox, OutboxDelivery } from '../../ops/event-log/outbox/port.js';
import { listDeliveries, retryDelivery } from '../../ops/webhooks/store.js';
import { readWebhooks } from '../../ops/ledger/webhooks.js';
import { exists, type Webhook } from '../../schemas/folds/webhook.js';
import { messages } from '../../schemas/http/errors.js';
import { rotateKeyRequest } from '../../schemas/http/keys.js';
import {
  changeWebhookRequest,
  createWebhookRequest,
  deliveriesQuery,
  deliveryIdPattern,
  replayRequest,
  type DeliveriesResponse,
  type WebhookWithSecretResponse,
} from '../../schemas/http/webhooks.js';
import { filteredDomain } from '../../schemas/link-subject.js';
import type { V2State } from '../admission/admitted-call.js';
import {
  acceptedForLater,
  failure,
  json,
  noContent,
  pageOf,
  whenPublished,
  type Reply,
} from '../http/reply.js';
import { actorIn } from '../http/request-actor.js';
import { parseJsonAs, parseQuery, type Handler } from '../http/requests.js';
import { maxWebhooks, type WebhookRefusal } from './command.js';
import { createWebhookHandler, type DecidedWebhook } from './handler.js';
import { createWebhookCalls, type WebhookCallsDeps } from './webhook-calls.js';

export interface WebhookDeps extends WebhookCallsDeps {
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
}

export const unknownWebhook = failure(404, messages.webhookNotFound);
const refusedUrl = failure(400, messages.webhookUrlRefused);

const refusals: Readonly<Record<WebhookRefusal['type'], Reply>> = {
  notFound: unknownWebhook,
  webhooksExhausted: failure(400, `At most ${maxWebhooks} webhooks an account`),
};

/** `/v2/webhooks`. */
export const createWebhookHandlers = (deps: WebhookDeps) => {
  const { pool, outbox, delivery, feed, sender } = deps;
  const handler = createWebhookHandler(pool, outbox);
  const calls = createWebhookCalls(deps);

  /** The webhook of the path; `null` if the account has none with this ID. */
  const find = async ({ call }: V2State, id: string): Promise<Webhook | null> =>
    (await readWebhooks(pool, call.key.account, id)).get(id) ?? null;

  /** The response to a command, as soon as the log has its event. */
  const respond = (
    { command, decision, state, outboxPosition }: DecidedWebhook,
    respondTo: (id: string, webhook: Webhook) => Promise<Reply> | Reply,
  ): Promise<Reply> | Reply => {
    if (decision.type === 'refused') return refusals[decision.refusal.type];
    return whenPublished(delivery, outboxPosition, () =>
      exists(state) ? respondTo(command.subject, state) : noContent(),
    );
  };

  const withSecret =
    (status: 200 | 201) =>
    (id: string, webhook: Webhook): Reply => {
      const [newest] = webhook.secrets;
      const { status: state, disabledReason } = webhook;
      const body: WebhookWithSecretResponse = {
        ...{ id, ...calls.termsOf(webhook), status: state, disabledReason },
        secret: newest?.secret ?? '',
      };
      return json(status, body);
    };

  const actorOf = (state: V2State) => actorIn(state, state.call.key.id);

  const createWebhook: Handler<V2State> = async (_ctx, state) => {
    const request = parseJsonAs(createWebhookRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const { url } = request.value;
    if (!(await sender.allows(url))) return refusedUrl;
    const domain = filteredDomain(request.value.domain, state.defaultDomain);
    const cursor = feed.encode(await feed.ends());
    const { account } = state.call.key;
    const terms = { ...request.value, domain };
    const outcome = await handler.create(account, terms, cursor, actorOf(state));
    return respond(outcome, withSecret(201));
  };

  const getWebhooks: Handler<V2State> = async (_ctx, { call }) => {
    const webhooks = await readWebhooks(pool, call.key.account);
    return json(200, { webhooks: await calls.shown(webhooks) });
  };

  const getWebhook: Handler<V2State> = async (_ctx, state, parameter) => {
    const webhook = await find(state, parameter('id'));
    if (!webhook) return unknownWebhook;
    const [response] = await calls.shown(new Map([[parameter('id'), webhook]]));
    return response ? json(200, response) : unknownWebhook;
  };

  const changeWebhook: Handler<V2State> = async (ctx, state, parameter) => {
    const request = parseJsonAs(changeWebhookRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const { url, domain } = request.value;
    if (url !== undefined && !(await sender.allows(url))) return refusedUrl;
    const [id, { account }] = [parameter('id'), state.call.key];
    const changes = {
      ...request.value,
      ...(domain !== undefined && { domain: filteredDomain(domain, state.defaultDomain) }),
    };
    const outcome = await handler.change(id, account, changes, actorOf(state));
    return respond(outcome, () => getWebhook(ctx, state, parameter));
  };

  const deleteWebhook: Handler<V2State> = async (_ctx, state, parameter) => {
    const { account } = state.call.key;
    return respond(await handler.delete(parameter('id'), account, actorOf(state)), () =>
      noContent(),
    );
  };

  const rotateWebhookSecret: Handler<V2State> = async (_ctx, state, parameter) => {
    const request = parseJsonAs(rotateKeyRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const [id, { account }] = [parameter('id'), state.call.key];
    const overlap = request.value.overlapSeconds ?? 0;
    return respond(await handler.rotate(id, account, overlap, actorOf(state)), withSecret(200));
  };

  const testWebhook: Handler<V2State> = async (_ctx, state, parameter) => {
    const id = parameter('id');
    const webhook = await find(state, id);
    return webhook ? calls.test(id, webhook, state) : unknownWebhook;
  };

  const getDeliveries: Handler<V2State> = async (ctx, state, parameter) => {
    const query = parseQuery(deliveriesQuery, ctx);
    if (query.type === 'refused') return query.reply;
    const id = parameter('id');
    if (!(await find(state, id))) return unknownWebhook;
    const { status = null, after = null, limit } = query.value;
    const found = await listDeliveries(pool, id, { status, before: after, limit: limit + 1 });
    const { page, next } = pageOf(found, limit, ({ id: last }) => last);
    const body: DeliveriesResponse = {
      deliveries: page.map(({ types, attempts, nextAttemptAt, ...rest }) => ({
        ...rest,
        types: [...types],
        attempts: [...attempts],
        nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
      })),
      next,
    };
    return json(200, body);
  };

  const retry: Handler<V2State> = async (_ctx, state, parameter) => {
    const [id, deliveryId] = [parameter('id'), parameter('deliveryId')];
    if (!(await find(state, id))) return unknownWebhook;
    const outcome = deliveryIdPattern.test(deliveryId)
      ? await retryDelivery(pool, id, deliveryId)
      : 'notFound';
    if (outcome === 'notFound') return failure(404, messages.deliveryNotFound);
    return outcome === 'due' ? acceptedForLater : failure(409, messages.deliveryNotStored);
  };

  const replayWebhook: Handler<V2State> = async (_ctx, state, parameter) => {
    const request = parseJsonAs(replayRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const id = parameter('id');
    const webhook = await find(state, id);
    return webhook ? calls.replay(id, webhook, request.value.after) : unknownWebhook;
  };

  return {
    createWebhook,
    getWebhooks,
    getWebhook,
    changeWebhook,
    deleteWebhook,
    rotateWebhookSecret,
    testWebhook,
    getDeliveries,
    retryDelivery: retry,
    replayWebhook,
  };
};
