import { z } from 'zod';
import { named, objectOf, request, requestParts } from '../components.js';
import { listOf } from '../list-of.js';
import { timestamp } from '../events/envelope.js';
import { topics } from '../events/topics.js';
import { feedEventNames, isFeedEventName } from '../feed.js';
import { parseUrl } from '../parse-url.js';
import { typesMessage } from './events.js';
import { createdAt, invalidTime, optional, sentTime } from './fields.js';
import { accountName, rotateKeyRequest } from './keys.js';
import { domainName } from './link-address.js';
import { destinationPattern, lineNamed } from './link-fields.js';
import { nothingToChange } from './links.js';
import { nextPage, pageLimit } from './paging.js';
import { call, done, json, routeGroup } from './route.js';

const maxUrlLength = 2_048;
const urlMessage = `url must be an https URL of at most ${maxUrlLength} characters, without a user name`;

const isReceiverUrl = (value: string): boolean =>
  destinationPattern.test(value) && value.isWellFormed() && parseUrl(value) !== null;

const url = z
  .string({ error: urlMessage })
  .trim()
  .max(maxUrlLength, urlMessage)
  .refine(isReceiverUrl, urlMessage)
  .meta({
    description: 'The receiver: an https URL of a public address.',
    examples: ['https://receiver.example/hook'],
  });

const types = listOf(z.string({ error: typesMessage }), {
  // Each type may be there several times.
  ...{ min: 1, max: 100, error: typesMessage },
})
  .refine((names) => names.every(isFeedEventName), typesMessage)
  .transform((names) => feedEventNames.filter((name) => names.includes(name)))
  .describe('Names of event types. Default: all but LinkVisited.');

const description = lineNamed('description').describe('For the owner.');

const terms = {
  types: optional(types),
  domain: optional(domainName).describe('Only events of links on this domain.'),
  description: optional(description),
};

export const createWebhookRequest = request('CreateWebhookRequest', urlMessage, { url, ...terms });

/** PATCH /v2/webhooks/:id. An absent value stays; `null` removes the value. */
export const changeWebhookRequest = objectOf(nothingToChange, {
  url: url.nullish(),
  types: types.nullish(),
  domain: domainName.nullish().describe('Only events of links on this domain.'),
  description: description.nullish(),
  status: z
    .enum(['enabled', 'paused'], { error: 'status must be enabled or paused' })
    .nullish()
    .describe('`paused`: events wait until it is `enabled`.'),
})
  // In `url` and `status`, `null` means absent.
  .transform(({ url: newUrl, status, ...rest }) => ({
    ...(typeof newUrl === 'string' && { url: newUrl }),
    ...(typeof status === 'string' && { status }),
    ...(rest.types !== undefined && { types: rest.types }),
    ...(rest.domain !== undefined && { domain: rest.domain }),
    ...(rest.description !== undefined && { description: rest.description }),
  }))
  .refine((change) => Object.keys(change).length > 0, nothingToChange)
  .register(requestParts, { id: 'ChangeWebhookRequest' });

const webhook = z.object({
  id: z.string().describe('For the paths of `/v2/webhooks`.'),
  url: z.string().describe('The receiver.'),
  types: z.array(z.string()).nullable().describe('`null`: all but LinkVisited.'),
  domain: z.string().nullable().describe('Only events of links on this domain; `null`: all.'),
  description: z.string().nullable().describe('For the owner; `null`: none.'),
  status: z.enum(['enabled', 'paused', 'disabled']).describe('Events wait until it is `enabled`.'),
  disabledReason: z.string().nullable().describe('Why Linklog disabled it; otherwise `null`.'),
  createdAt,
});

export const deliveryStatus = z
  .enum(['pending', 'delivered', 'failed'], {
    error: 'status must be pending, delivered or failed',
  })
  .describe('`pending`: it is tried again; `failed`: it is not.');

const deliveryId = z.uuid().describe('The `webhook-id` of all attempts.');

export const webhookResponse = named('Webhook', {
  ...webhook.shape,
  lag: z
    .int()
    .describe(
      'Events that are not delivered yet; with LinkVisited, at most: visits of other accounts count too.',
    ),
  failingSince: timestamp
    .nullable()
    .describe('The first failed attempt since the last success; `null`: the last one succeeded.'),
  lastDelivery: named('LastDelivery', {
    id: deliveryId,
    status: deliveryStatus,
    at: timestamp.describe('The time of the last attempt, UTC.'),
  })
    .nullable()
    .describe('The newest delivery; `null`: none yet.'),
});
export type WebhookResponse = z.infer<typeof webhookResponse>;

/** A webhook with its secret, which only this response contains. */
const webhookWithSecretResponse = named('WebhookWithSecret', {
  ...webhook.shape,
  secret: z.string().describe('Signs deliveries: `whsec_` and Base64.'),
});
export type WebhookWithSecretResponse = z.infer<typeof webhookWithSecretResponse>;

export const webhookListResponse = named('WebhookPage', {
  webhooks: z.array(webhookResponse).describe('All webhooks of the account.'),
});

const responseStatus = z.int().nullable().describe('The HTTP status; `null`: no response.');
const durationMs = z.int().describe('Milliseconds until the response or the error.');
const error = z.string().nullable().describe('Why there was no response; otherwise `null`.');

export const testedWebhookResponse = named('TestedWebhook', {
  delivered: z.boolean().describe('Whether the status is 2xx.'),
  status: responseStatus,
  durationMs,
  error,
});
export type TestedWebhookResponse = z.infer<typeof testedWebhookResponse>;

/** UUIDs in lower case. */
export const deliveryIdPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const afterDelivery = z
  .string({ error: 'after must be the id of a delivery' })
  .regex(deliveryIdPattern, 'after must be the id of a delivery');

export const deliveriesQuery = z.object({
  status: deliveryStatus.optional().describe('Only deliveries with this status.'),
  after: afterDelivery.optional().describe('The `next` of the previous page.'),
  limit: pageLimit.default(100),
});

const attempt = named('DeliveryAttempt', {
  at: timestamp.describe('The start of the attempt, UTC.'),
  status: responseStatus,
  durationMs,
  error,
});

const delivery = named('Delivery', {
  id: deliveryId,
  types: z.array(z.string()).describe('The types of its events.'),
  count: z.int().describe('The number of events.'),
  status: deliveryStatus,
  attempts: z.array(attempt).describe('The newest 20, the oldest of them first.'),
  nextAttemptAt: timestamp.nullable().describe('`null`: no further attempt.'),
});

const deliveryResponse = named('DeliveryWithBody', {
  ...delivery.shape,
  body: z
    .string()
    .nullable()
    .describe('The body of the request; `null`: it was delivered, and is not stored any more.'),
});
export type DeliveryResponse = z.infer<typeof deliveryResponse>;

const deliveriesResponse = named('DeliveryPage', {
  deliveries: z.array(delivery).describe('The deliveries of the page, the newest first.'),
  next: nextPage,
});
export type DeliveriesResponse = z.infer<typeof deliveriesResponse>;

const replayMessage = `after must be start, a cursor or a time: ${invalidTime}`;

export const replayRequest = request('ReplayRequest', replayMessage, {
  after: z
    .union(
      [
        sentTime(replayMessage).transform((time) => new Date(time)),
        z.string({ error: replayMessage }).regex(/^(?:start|[\w-]{20,})$/, replayMessage),
      ],
      { error: replayMessage },
    )
    .describe('`start`, a cursor, or a time with an offset.'),
});

export const operatorsWebhooksQuery = z.object({ account: accountName.optional() });

export const operatorsWebhookListResponse = named('OperatorsWebhookPage', {
  webhooks: z.array(webhookResponse.extend({ account: accountName })),
});
export type OperatorsWebhookListResponse = z.infer<typeof operatorsWebhookListResponse>;

const exampleTerms = {
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
const exampleWebhook = { ...exampleTerms, lag: 0, failingSince: null, lastDelivery };
const withSecret = { ...exampleTerms, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' };

const exampleAttempt = { at: lastDelivery.at, status: 204, durationMs: 38, error: null };
const exampleDelivery = {
  id: lastDelivery.id,
  types: ['LinkCreated'],
  count: 1,
  status: 'delivered',
  attempts: [exampleAttempt],
  nextAttemptAt: null,
};

export const webhookRoutes = routeGroup(
  {
    ...{ tag: 'Webhooks', scope: 'webhooks:manage', topic: topics.accounts.name },
    parameters: { id: webhook.shape.id, deliveryId },
  },
  {
    createWebhook: call('POST /webhooks', 'Create a webhook', {
      description:
        'The events after its creation are delivered. An account has at most 10 webhooks.',
      body: createWebhookRequest,
      examples: { visits: { url: exampleTerms.url, types: exampleTerms.types } },
      returns: {
        201: json('The webhook, with its secret.', webhookWithSecretResponse, {
          webhook: withSecret,
        }),
      },
    }),
    getWebhooks: call('GET /webhooks', 'List the webhooks of the account', {
      description:
        'At most 10. The secret is only in the responses to `POST /v2/webhooks` and `rotate`.',
      returns: {
        200: json('The webhooks.', webhookListResponse, {
          webhooks: { webhooks: [exampleWebhook] },
        }),
      },
    }),
    getWebhook: call('GET /webhooks/:id', 'Get a webhook', {
      description: '`lag` is the number of events that wait. The secret is not in the response.',
      returns: { 200: json('The webhook.', webhookResponse, { webhook: exampleWebhook }) },
    }),
    changeWebhook: call('PATCH /webhooks/:id', 'Change, pause or enable a webhook', {
      description: '`enabled` continues at the stored cursor.',
      body: changeWebhookRequest,
      examples: { pause: { status: 'paused' } },
      returns: { 200: json('The changed webhook.', webhookResponse, { webhook: exampleWebhook }) },
    }),
    deleteWebhook: call('DELETE /webhooks/:id', 'Delete a webhook and its deliveries', {
      description: 'Deliveries that wait are not sent. The events stay in `GET /v2/events`.',
      returns: { 204: done('The webhook is deleted.') },
    }),
    rotateWebhookSecret: call('POST /webhooks/:id/rotate', 'Replace the secret of a webhook', {
      description: 'The earlier secrets sign too until the overlap ends.',
      body: rotateKeyRequest,
      examples: { hour: { overlapSeconds: 3_600 } },
      returns: {
        200: json('The webhook, with its new secret.', webhookWithSecretResponse, {
          webhook: withSecret,
        }),
      },
    }),
    testWebhook: call('POST /webhooks/:id/test', 'Deliver a test event now', {
      description: 'Sends one `linklog.WebhookTested.v1`, also to a paused webhook.',
      returns: {
        200: json('The response of the receiver.', testedWebhookResponse, {
          tested: { delivered: true, status: 204, durationMs: 38, error: null },
        }),
      },
    }),
    getDeliveries: call('GET /webhooks/:id/deliveries', 'List the deliveries of the last 30 days', {
      description:
        'Each has its attempts, and the time of the next one. An attempt has the status of the response, but never its body.',
      query: deliveriesQuery,
      returns: {
        200: json('A page of deliveries, the newest first.', deliveriesResponse, {
          deliveries: { deliveries: [exampleDelivery], next: null },
        }),
      },
    }),
    getDelivery: call('GET /webhooks/:id/deliveries/:deliveryId', 'Get a delivery with its body', {
      description: 'The body is that of the request: one event, or a list of events.',
      returns: {
        200: json('The delivery.', deliveryResponse, {
          delivery: { ...exampleDelivery, body: null },
        }),
      },
    }),
    retryDelivery: call(
      'POST /webhooks/:id/deliveries/:deliveryId/retry',
      'Repeat a delivery now',
      {
        description:
          'Without waiting for its next attempt, and also after it has failed or was delivered. 409 if its events are not stored any more.',
        returns: { 202: done('The delivery is due.') },
        errors: [409],
      },
    ),
    replayWebhook: call('POST /webhooks/:id/replay', 'Deliver again from a point of the log', {
      description:
        'Moves the cursor of the webhook back to `after`: a cursor, `start`, or a time. 409 if the cursor is of another log.',
      body: replayRequest,
      examples: { start: { after: 'start' }, time: { after: '2026-05-01T12:00:00Z' } },
      returns: { 202: done('The cursor is moved.') },
      errors: [409],
    }),
  },
);
