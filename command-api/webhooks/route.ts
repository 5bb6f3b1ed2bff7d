import type { Outbox, OutboxDelivery } from '../../ops/event-log/outbox/port.js';
import {
  listDeliveries,
  readDelivery,
  retryDelivery,
  type Delivery,
} from '../../ops/webhooks/store.js';
import { readWebhooks } from '../../ops/ledger/webhooks.js';
import { exists, type Webhook } from '../../schemas/folds/webhook.js';
import { messages } from '../../schemas/http/errors.js';
import {
  deliveryIdPattern,
  type DeliveriesResponse,
  type DeliveryResponse,
  type WebhookWithSecretResponse,
} from '../../schemas/http/webhooks.js';
import { filteredDomain } from '../../schemas/link-subject.js';
import {
  acceptedForLater,
  failure,
  json,
  noContent,
  pageOf,
  whenPublished,
  type Reply,
} from '../http/reply.js';
import { actorOf, type AnyRequest, type V2Handlers } from '../http/row-handlers.js';
import { maxWebhooks, type WebhookRefusal } from './command.js';
import { createWebhookHandler, type DecidedWebhook } from './handler.js';
import { createWebhookCalls, unknownWebhook, type WebhookCallsDeps } from './webhook-calls.js';

export interface WebhookDeps extends WebhookCallsDeps {
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
}

const refusedUrl = failure(400, messages.webhookUrlRefused);

const refusals: Readonly<Record<WebhookRefusal['type'], Reply>> = {
  notFound: unknownWebhook,
  webhooksExhausted: failure(400, `At most ${maxWebhooks} webhooks an account`),
};

const shownDelivery = ({ types, attempts, nextAttemptAt, ...rest }: Delivery) => ({
  ...rest,
  types: [...types],
  attempts: [...attempts],
  nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
});

/** `/v2/webhooks`. */
export const createWebhookHandlers = (deps: WebhookDeps) => {
  const { pool, outbox, delivery, feed, sender } = deps;
  const handler = createWebhookHandler(pool, outbox);
  const calls = createWebhookCalls(deps);

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

  const getWebhook = async ({
    state,
    parameter,
  }: Pick<AnyRequest<'getWebhook'>, 'state' | 'parameter'>): Promise<Reply> => {
    const webhook = await calls.find(state, parameter('id'));
    if (!webhook) return unknownWebhook;
    const [response] = await calls.shown(new Map([[parameter('id'), webhook]]));
    return response ? json(200, response) : unknownWebhook;
  };

  return {
    ...{ getWebhook, testWebhook: calls.test, replayWebhook: calls.replay },

    async createWebhook({ body, state }) {
      if (!(await sender.allows(body.url))) return refusedUrl;
      const domain = filteredDomain(body.domain, state.defaultDomain);
      const cursor = feed.encode(await feed.ends());
      const { account } = state.call.key;
      const outcome = await handler.create(account, { ...body, domain }, cursor, actorOf(state));
      return respond(outcome, withSecret(201));
    },

    async getWebhooks({ state }) {
      const webhooks = await readWebhooks(pool, state.call.key.account);
      return json(200, { webhooks: await calls.shown(webhooks) });
    },

    async changeWebhook({ body, state, parameter }) {
      const { url, domain } = body;
      if (url !== undefined && !(await sender.allows(url))) return refusedUrl;
      const { account } = state.call.key;
      const changes = {
        ...body,
        ...(domain !== undefined && { domain: filteredDomain(domain, state.defaultDomain) }),
      };
      const outcome = await handler.change(parameter('id'), account, changes, actorOf(state));
      return respond(outcome, () => getWebhook({ state, parameter }));
    },

    async deleteWebhook({ state, parameter }) {
      const { account } = state.call.key;
      return respond(await handler.delete(parameter('id'), account, actorOf(state)), () =>
        noContent(),
      );
    },

    async rotateWebhookSecret({ body, state, parameter }) {
      const [id, { account }] = [parameter('id'), state.call.key];
      const overlap = body.overlapSeconds ?? 0;
      return respond(await handler.rotate(id, account, overlap, actorOf(state)), withSecret(200));
    },

    async getDeliveries({ query: { status = null, after = null, limit }, state, parameter }) {
      const id = parameter('id');
      if (!(await calls.find(state, id))) return unknownWebhook;
      const found = await listDeliveries(pool, id, { status, before: after, limit: limit + 1 });
      const { page, next } = pageOf(found, limit, ({ id: last }) => last);
      const body: DeliveriesResponse = { deliveries: page.map(shownDelivery), next };
      return json(200, body);
    },

    async getDelivery({ state, parameter }) {
      const [id, deliveryId] = [parameter('id'), parameter('deliveryId')];
      if (!(await calls.find(state, id))) return unknownWebhook;
      const isId = deliveryIdPattern.test(deliveryId);
      const delivery = isId ? await readDelivery(pool, id, deliveryId) : null;
      if (!delivery) return failure(404, messages.deliveryNotFound);
      const body: DeliveryResponse = { ...shownDelivery(delivery), body: delivery.body };
      return json(200, body);
    },

    async retryDelivery({ state, parameter }) {
      const [id, deliveryId] = [parameter('id'), parameter('deliveryId')];
      if (!(await calls.find(state, id))) return unknownWebhook;
      const outcome = deliveryIdPattern.test(deliveryId)
        ? await retryDelivery(pool, id, deliveryId)
        : 'notFound';
      if (outcome === 'notFound') return failure(404, messages.deliveryNotFound);
      return outcome === 'due' ? acceptedForLater : failure(409, messages.deliveryNotStored);
    },
  } satisfies Partial<V2Handlers>;
};
