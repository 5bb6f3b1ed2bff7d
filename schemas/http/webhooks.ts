import { z } from 'zod';
import { responseParts } from '../components.js';
import { listOf } from '../list-of.js';
import { timestamp } from '../events/envelope.js';
import { feedEventNames, isFeedEventName } from '../feed.js';
import { parseUrl } from '../parse-url.js';
import { typesMessage } from './events.js';
import { invalidTime, optional, sentTime } from './fields.js';
import { accountName } from './keys.js';
import { domainName } from './link-address.js';
import { destinationPattern, lineNamed } from './link-fields.js';
import { nothingToChange } from './links.js';
import { pageLimit } from './paging.js';

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
  .meta({ description: 'Names of event types. Default: all but LinkVisited.' });

const description = lineNamed('description');

const terms = {
  types: optional(types),
  domain: optional(domainName).meta({ description: 'Only events of links on this domain.' }),
  description: optional(description),
};

/** POST /v2/webhooks */
export const createWebhookRequest = z.object({ url, ...terms }, { error: urlMessage });

/** PATCH /v2/webhooks/:id. An absent value stays; `null` removes the value. */
export const changeWebhookRequest = z
  .object(
    {
      url: url.nullish(),
      types: types.nullish(),
      domain: domainName.nullish().meta({ description: 'Only events of links on this domain.' }),
      description: description.nullish(),
      status: z
        .enum(['enabled', 'paused'], { error: 'status must be enabled or paused' })
        .nullish(),
    },
    { error: nothingToChange },
  )
  // In `url` and `status`, `null` means absent.
  .transform(({ url: newUrl, status, ...rest }) => ({
    ...(typeof newUrl === 'string' && { url: newUrl }),
    ...(typeof status === 'string' && { status }),
    ...(rest.types !== undefined && { types: rest.types }),
    ...(rest.domain !== undefined && { domain: rest.domain }),
    ...(rest.description !== undefined && { description: rest.description }),
  }))
  .refine((change) => Object.keys(change).length > 0, nothingToChange);

const webhook = z.object({
  id: z.string(),
  url: z.string(),
  types: z.array(z.string()).nullable().describe('`null`: all but LinkVisited.'),
  domain: z.string().nullable(),
  description: z.string().nullable(),
  status: z.enum(['enabled', 'paused', 'disabled']),
  disabledReason: z.string().nullable(),
  createdAt: timestamp,
});

export const deliveryStatus = z.enum(['pending', 'delivered', 'failed'], {
  error: 'status must be pending, delivered or failed',
});

/** GET /v2/webhooks/:id */
export const webhookResponse = webhook.extend({
  lag: z
    .int()
    .describe(
      'Events that are not delivered yet; with LinkVisited, at most: visits of other accounts count too.',
    ),
  lastDelivery: z
    .object({ id: z.uuid(), status: deliveryStatus, at: timestamp })
    .register(responseParts, { id: 'LastDelivery' })
    .nullable()
    .describe('The newest delivery, with the time of its last attempt.'),
});
export type WebhookResponse = z.infer<typeof webhookResponse>;

/** With the secret, which only this response contains. */
export const webhookWithSecretResponse = webhook.extend({ secret: z.string() });
export type WebhookWithSecretResponse = z.infer<typeof webhookWithSecretResponse>;

export const webhookListResponse = z.object({ webhooks: z.array(webhookResponse) });

/** POST /v2/webhooks/:id/test */
export const testedWebhookResponse = z.object({
  delivered: z.boolean(),
  status: z.int().nullable().describe('The status of the response; `null` without one.'),
  durationMs: z.int(),
  error: z.string().nullable().describe('Why there was no response.'),
});
export type TestedWebhookResponse = z.infer<typeof testedWebhookResponse>;

/** UUIDs in lower case. */
export const deliveryIdPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const deliveryId = z
  .string({ error: 'after must be the id of a delivery' })
  .regex(deliveryIdPattern, 'after must be the id of a delivery');

/** The query of GET /v2/webhooks/:id/deliveries. */
export const deliveriesQuery = z.object({
  status: deliveryStatus.optional(),
  after: deliveryId.optional().describe('The `next` of the previous page.'),
  limit: pageLimit.default(100),
});

export const deliveriesResponse = z.object({
  deliveries: z.array(
    z
      .object({
        id: z.uuid().describe('The `webhook-id` of all attempts.'),
        types: z.array(z.string()),
        count: z.int().describe('The number of events.'),
        status: deliveryStatus,
        attempts: z.array(
          z
            .object({
              at: timestamp,
              status: z.int().nullable(),
              durationMs: z.int(),
              error: z.string().nullable(),
            })
            .register(responseParts, { id: 'DeliveryAttempt' }),
        ),
        nextAttemptAt: timestamp.nullable(),
      })
      .register(responseParts, { id: 'Delivery' }),
  ),
  next: z.string().nullable(),
});
export type DeliveriesResponse = z.infer<typeof deliveriesResponse>;

const replayMessage = `after must be start, a cursor or a time: ${invalidTime}`;

/** POST /v2/webhooks/:id/replay */
export const replayRequest = z.object(
  {
    after: z
      .union(
        [
          sentTime(replayMessage).transform((time) => new Date(time)),
          z.string({ error: replayMessage }).regex(/^(?:start|[\w-]{20,})$/, replayMessage),
        ],
        { error: replayMessage },
      )
      .meta({ description: '`start`, a cursor, or a time with an offset.' }),
  },
  { error: replayMessage },
);

/** GET /admin/webhooks */
export const operatorsWebhooksQuery = z.object({ account: accountName.optional() });

export const operatorsWebhookListResponse = z.object({
  webhooks: z.array(webhookResponse.extend({ account: accountName })),
});
export type OperatorsWebhookListResponse = z.infer<typeof operatorsWebhookListResponse>;
