import type { Outbox, OutboxDelivery } from '../../ops/event-log/outbox/port.js';
import type { Feed } from '../../ops/feed/feed.js';
import { webhookFilter } from '../../ops/webhooks/filter.js';
import { isDelivered, type Sender } from '../../ops/webhooks/sender.js';
import {
  listDeliveries,
  readProgress,
  replaceCursor,
  retryDelivery,
  type Progress,
} from '../../ops/webhooks/store.js';
import { readWebhooksOf } from '../../ops/ledger/webhooks.js';
import { newId } from '../../ops/platform/new-id.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { exists, type Webhook } from '../../schemas/folds/webhook.js';
import { messages } from '../../schemas/http/errors.js';
import { rotateKeyRequest } from '../../schemas/http/keys.js';
import {
  changeWebhookRequest,
  createWebhookRequest,
  deliveriesQuery,
  replayRequest,
  type DeliveriesResponse,
  type TestedWebhookResponse,
  type WebhookResponse,
  type WebhookWithSecretResponse,
} from '../../schemas/http/webhooks.js';
import { webhookTested } from '../../schemas/webhook-tested.js';
import type { V2State } from '../admission/admitted-call.js';
import { cursorOf } from '../events/requested-cursor.js';
import { acceptedForLater, failure, json, noContent, unavailable, type Reply } from '../http/reply.js';
import { parseJsonAs, parseQuery, type Handler } from '../http/requests.js';
import { logWithinMs } from '../links/create/route.js';
import { maxWebhooks, type WebhookRefusal } from './command.js';
import { createWebhookHandler, type WebhookOutcome } from './handler.js';

export interface WebhookDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
  readonly feed: Feed;
  readonly sender: Sender;
}

const unknownWebhook = failure(404, messages.webhookNotFound);
const refusedUrl = failure(400, messages.webhookUrlRefused);

const refusals: Readonly<Record<WebhookRefusal['type'], Reply>> = {
  notFound: unknownWebhook,
  webhooksExhausted: failure(400, `At most ${maxWebhooks} webhooks an account`),
};

const termsOf = ({ url, types, domain, description, createdAt }: Webhook) => ({
  ...{ url, types, domain, description, createdAt },
});

/** Why an enabled webhook without a cursor delivers nothing. */
const cursorLost = 'The position of this webhook was lost by a restore. Replay from a point of the log';

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** `/v2/webhooks`. */
export const createWebhookHandlers = (deps: WebhookDeps) => {
  const { pool, outbox, delivery, feed, sender } = deps;
  const handler = createWebhookHandler(pool, outbox);

  /** The webhook of the path; `null` if the account has none with this ID. */
  const find = async ({ call }: V2State, id: string): Promise<Webhook | null> =>
    (await readWebhooksOf(pool, call.key.account, id)).get(id) ?? null;

  const lagOf = async (webhook: Webhook, progress: Progress): Promise<number> => {
    const cursor = await feed.decode(progress.cursor);
    const waiting =
      typeof cursor === 'string' ? 0 : await feed.countAfter(webhookFilter(webhook), cursor);
    return waiting + progress.pendingEvents;
  };

  const toResponse = async (
    id: string,
    webhook: Webhook,
    progress: Progress | undefined,
  ): Promise<WebhookResponse> => {
    const stopped = progress ? progress.stoppedReason : cursorLost;
    const isStopped = webhook.status === 'enabled' && stopped !== null;
    const last = progress?.lastDelivery;
    return {
      id,
      ...termsOf(webhook),
      status: isStopped ? 'disabled' : webhook.status,
      disabledReason: isStopped ? stopped : webhook.disabledReason,
      lag: progress ? await lagOf(webhook, progress) : 0,
      lastDelivery: last ? { ...last, at: last.at.toISOString() } : null,
    };
  };

  const respondWith = async (webhooks: ReadonlyMap<string, Webhook>) => {
    const progress = await readProgress(pool, [...webhooks.keys()]);
    return Promise.all([...webhooks].map(([id, webhook]) => toResponse(id, webhook, progress.get(id))));
  };

  /** The response to a command, as soon as the log has its event. */
  const respond = async (
    outcome: WebhookOutcome,
    respondTo: (id: string, webhook: Webhook) => Promise<Reply> | Reply,
  ): Promise<Reply> => {
    if (outcome.type === 'refused') return refusals[outcome.refusal.type];
    if (!(await delivery.published(outcome.outboxPosition, logWithinMs))) {
      return unavailable(messages.logUnavailable);
    }
    return exists(outcome.state) ? respondTo(outcome.id, outcome.state) : noContent();
  };

  const withSecret =
    (status: 200 | 201) =>
    (id: string, webhook: Webhook): Reply => {
      const [newest] = webhook.secrets;
      const { status: state, disabledReason } = webhook;
      const body: WebhookWithSecretResponse = {
        ...{ id, ...termsOf(webhook), status: state, disabledReason },
        secret: newest?.secret ?? '',
      };
      return json(status, body);
    };

  const actorOf = ({ call, requestId }: V2State) => ({ actor: call.key.id, requestId });

  const create: Handler<V2State> = async (_ctx, state) => {
    const request = parseJsonAs(createWebhookRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const { url, ...terms } = request.value;
    if (!(await sender.allows(new URL(url)))) return refusedUrl;
    const cursor = feed.encode(await feed.ends());
    const { account } = state.call.key;
    const outcome = await handler.create(account, { url, ...terms }, cursor, actorOf(state));
    return respond(outcome, withSecret(201));
  };

  const list: Handler<V2State> = async (_ctx, { call }) => {
    const webhooks = await readWebhooksOf(pool, call.key.account);
    return json(200, { webhooks: await respondWith(webhooks) });
  };

  const show: Handler<V2State> = async (_ctx, state, parameter) => {
    const webhook = await find(state, parameter('id'));
    if (!webhook) return unknownWebhook;
    const [response] = await respondWith(new Map([[parameter('id'), webhook]]));
    return response ? json(200, response) : unknownWebhook;
  };

  const change: Handler<V2State> = async (ctx, state, parameter) => {
    const request = parseJsonAs(changeWebhookRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const { url } = request.value;
    if (url !== undefined && !(await sender.allows(new URL(url)))) return refusedUrl;
    const [id, { account }] = [parameter('id'), state.call.key];
    const outcome = await handler.change(id, account, request.value, actorOf(state));
    return respond(outcome, () => show(ctx, state, parameter));
  };

  const remove: Handler<V2State> = async (_ctx, state, parameter) => {
    const { account } = state.call.key;
    return respond(await handler.delete(parameter('id'), account, actorOf(state)), () => noContent());
  };

  const rotate: Handler<V2State> = async (_ctx, state, parameter) => {
    const request = parseJsonAs(rotateKeyRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const [id, { account }] = [parameter('id'), state.call.key];
    const overlap = request.value.overlapSeconds ?? 0;
    return respond(await handler.rotate(id, account, overlap, actorOf(state)), withSecret(200));
  };

  const test: Handler<V2State> = async (_ctx, state, parameter) => {
    const id = parameter('id');
    const webhook = await find(state, id);
    if (!webhook) return unknownWebhook;
    const eventId = newId();
    const { account } = state.call.key;
    const event = webhookTested({ id: eventId, webhookId: id, account, time: new Date() });
    const sent = sender.send(webhook, eventId, JSON.stringify(event));
    const { attempt } = await state.uncounted(sent);
    const { status, durationMs, error } = attempt;
    const body: TestedWebhookResponse = {
      ...{ delivered: isDelivered(attempt), status, durationMs, error },
    };
    return json(200, body);
  };

  const deliveries: Handler<V2State> = async (ctx, state, parameter) => {
    const query = parseQuery(deliveriesQuery, ctx);
    if (query.type === 'refused') return query.reply;
    const id = parameter('id');
    if (!(await find(state, id))) return unknownWebhook;
    const { status = null, after = null, limit } = query.value;
    const found = await listDeliveries(pool, id, { status, before: after, limit: limit + 1 });
    const page = found.slice(0, limit);
    const body: DeliveriesResponse = {
      deliveries: page.map(({ types, attempts, nextAttemptAt, ...rest }) => ({
        ...rest,
        types: [...types],
        attempts: [...attempts],
        nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
      })),
      next: found.length > limit ? (page.at(-1)?.id ?? null) : null,
    };
    return json(200, body);
  };

  const retry: Handler<V2State> = async (_ctx, state, parameter) => {
    const [id, deliveryId] = [parameter('id'), parameter('deliveryId')];
    if (!(await find(state, id))) return unknownWebhook;
    const outcome = uuidPattern.test(deliveryId)
      ? await retryDelivery(pool, id, deliveryId)
      : 'notFound';
    if (outcome === 'notFound') return failure(404, messages.deliveryNotFound);
    return outcome === 'due' ? acceptedForLater : failure(409, messages.deliveryNotStored);
  };

  const replay: Handler<V2State> = async (_ctx, state, parameter) => {
    const request = parseJsonAs(replayRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const id = parameter('id');
    const webhook = await find(state, id);
    if (!webhook) return unknownWebhook;
    const { after } = request.value;
    const time = Date.parse(after);
    const cursor = Number.isNaN(time)
      ? await cursorOf(feed, after)
      : { type: 'read' as const, value: await feed.cursorAt(webhookFilter(webhook), new Date(time)) };
    if (cursor.type === 'refused') return cursor.reply;
    await replaceCursor(pool, id, feed.encode(cursor.value));
    return acceptedForLater;
  };

  return { create, list, show, change, remove, rotate, test, deliveries, retry, replay };
};
