import { eventsQuery } from '../../../schemas/http/events.js';
import { deliveriesQuery } from '../../../schemas/http/webhooks.js';
import { body, needs } from './operation-parts.js';
import { done, errors, success, successOfBody } from './responses.js';
import { parametersOf, type SchemaPart } from './schemas.js';

const webhookId = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };

const deliveryId = {
  name: 'deliveryId',
  in: 'path',
  required: true,
  schema: { type: 'string', format: 'uuid' },
};

const lastEventId = {
  name: 'Last-Event-ID',
  in: 'header',
  description: 'Of a stream that reconnects: a cursor, which takes precedence over `after`.',
  schema: { type: 'string' },
};

const cursor = 'AbrpdQ1G99MhAAAAAAABAAABAAAAAAAAAACAPtmc';

const event = {
  specversion: '1.0',
  id: '019a3c1e-7b31-7c41-9d5e-2f6b8a1c4d71',
  type: 'linklog.LinkDisabled.v1',
  source: '/linklog/ledger',
  subject: 'spring-sale',
  time: '2026-05-01T12:00:00.000Z',
  datacontenttype: 'application/json',
  sequence: '0000000000000002',
  account: 'default',
  actor: '019a3c1e-7b31-7c41-9d5e-2f6b8a1c4d71',
  data: {},
};

const terms = {
  id: 'wh_V1StGXR8Z5jdHi6BmyT12',
  url: 'https://receiver.example/hook',
  types: ['LinkCreated', 'LinkVisited'],
  domain: null,
  description: 'Data warehouse',
  createdAt: '2026-05-01T12:00:00.000Z',
  status: 'enabled',
  disabledReason: null,
};

const lastDelivery = {
  id: '019a3c1e-7b31-7c41-9d5e-2f6b8a1c4d72',
  status: 'delivered',
  at: '2026-05-01T12:00:01.000Z',
};
const webhook = { ...terms, lag: 0, lastDelivery };
const withSecret = { ...terms, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' };

const attempt = { at: lastDelivery.at, status: 204, durationMs: 38, error: null };
const delivery = {
  id: lastDelivery.id,
  types: ['LinkCreated'],
  count: 1,
  status: 'delivered',
  attempts: [attempt],
  nextAttemptAt: null,
};

const manages = { tags: ['Webhooks'], ...needs('webhooks:manage') };

export const eventPaths = {
  '/v2/events': {
    get: {
      operationId: 'getEvents',
      tags: ['Events'],
      ...needs('events:read'),
      summary: 'Read the events of the account',
      description:
        'A page, or a stream for `Accept: text/event-stream`: messages with `id` (a cursor) and `data` (an event). A client that stores the cursor together with ' +
        'the effect of the events misses none. See `/asyncapi.json` for the events.',
      parameters: [...parametersOf(eventsQuery), lastEventId],
      responses: {
        200: success('A page of events in the order of the log.', 'EventPage', {
          events: { events: [event], next: cursor },
        }),
        ...errors(400, 403, 409),
      },
    },
  },
  '/v2/webhooks': {
    get: {
      operationId: 'getWebhooks',
      ...manages,
      summary: 'List the webhooks of the account',
      description:
        'At most 10. The secret is only in the responses to `POST /v2/webhooks` and `rotate`.',
      responses: {
        200: success('The webhooks.', 'WebhookPage', { webhooks: { webhooks: [webhook] } }),
        ...errors(403),
      },
    },
    post: {
      operationId: 'createWebhook',
      ...manages,
      summary: 'Create a webhook',
      description:
        'The events after its creation are delivered. An account has at most 10 webhooks.',
      requestBody: body('CreateWebhookRequest', {
        visits: { value: { url: terms.url, types: terms.types } },
      }),
      responses: {
        201: successOfBody('The webhook, with its secret.', 'WebhookWithSecret', {
          webhook: withSecret,
        }),
        ...errors(400, 403, 413, 415),
      },
    },
  },
  '/v2/webhooks/{id}': {
    parameters: [webhookId],
    get: {
      operationId: 'getWebhook',
      ...manages,
      summary: 'Get a webhook',
      description: '`lag` is the number of events that wait. The secret is not in the response.',
      responses: { 200: success('The webhook.', 'Webhook', { webhook }), ...errors(403, 404) },
    },
    patch: {
      operationId: 'changeWebhook',
      ...manages,
      summary: 'Change, pause or enable a webhook',
      description: '`enabled` continues at the stored cursor.',
      requestBody: body('ChangeWebhookRequest', { pause: { value: { status: 'paused' } } }),
      responses: {
        200: successOfBody('The changed webhook.', 'Webhook', { webhook }),
        ...errors(400, 403, 404, 413, 415),
      },
    },
    delete: {
      operationId: 'deleteWebhook',
      ...manages,
      summary: 'Delete a webhook and its deliveries',
      description: 'Deliveries that wait are not sent. The events stay in `GET /v2/events`.',
      responses: { 204: done('The webhook is deleted.'), ...errors(403, 404) },
    },
  },
  '/v2/webhooks/{id}/rotate': {
    parameters: [webhookId],
    post: {
      operationId: 'rotateWebhookSecret',
      ...manages,
      summary: 'Replace the secret of a webhook',
      description: 'The earlier secrets sign too until the overlap ends.',
      requestBody: body('RotateKeyRequest', { hour: { value: { overlapSeconds: 3_600 } } }),
      responses: {
        200: successOfBody('The webhook, with its new secret.', 'WebhookWithSecret', {
          webhook: withSecret,
        }),
        ...errors(400, 403, 404, 413, 415),
      },
    },
  },
  '/v2/webhooks/{id}/test': {
    parameters: [webhookId],
    post: {
      operationId: 'testWebhook',
      ...manages,
      summary: 'Deliver a test event now',
      description: 'Sends one `linklog.WebhookTested.v1`, also to a paused webhook.',
      responses: {
        200: success('The response of the receiver.', 'TestedWebhook', {
          tested: { delivered: true, status: 204, durationMs: 38, error: null },
        }),
        ...errors(403, 404),
      },
    },
  },
  '/v2/webhooks/{id}/deliveries': {
    parameters: [webhookId],
    get: {
      operationId: 'getDeliveries',
      ...manages,
      summary: 'List the deliveries of the last 30 days',
      description:
        'Each has its attempts, and the time of the next one. An attempt has the status of the response, but never its body.',
      parameters: parametersOf(deliveriesQuery),
      responses: {
        200: success('A page of deliveries, the newest first.', 'DeliveryPage', {
          deliveries: { deliveries: [delivery], next: null },
        }),
        ...errors(400, 403, 404),
      },
    },
  },
  '/v2/webhooks/{id}/deliveries/{deliveryId}/retry': {
    parameters: [webhookId, deliveryId],
    post: {
      operationId: 'retryDelivery',
      ...manages,
      summary: 'Repeat a delivery now',
      description:
        'Without waiting for its next attempt, and also after it has failed or was delivered. 409 if its events are not stored any more.',
      responses: { 202: done('The delivery is due.'), ...errors(403, 404, 409) },
    },
  },
  '/v2/webhooks/{id}/replay': {
    parameters: [webhookId],
    post: {
      operationId: 'replayWebhook',
      ...manages,
      summary: 'Deliver again from a point of the log',
      description:
        'Moves the cursor of the webhook back to `after`: a cursor, `start`, or a time. 409 if the cursor is of another log.',
      requestBody: body('ReplayRequest', {
        start: { value: { after: 'start' } },
        time: { value: { after: '2026-05-01T12:00:00Z' } },
      }),
      responses: { 202: done('The cursor is moved.'), ...errors(400, 403, 404, 409, 413, 415) },
    },
  },
} satisfies SchemaPart;
