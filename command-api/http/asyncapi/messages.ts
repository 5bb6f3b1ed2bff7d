/** The messages of the AsyncAPI document: each event as the log has it, and as the feed shows it. */
import { z } from 'zod';
import { catalogue, type EventName } from '../../../schemas/events/catalogue.js';
import { envelope, timestamp } from '../../../schemas/events/envelope.js';
import { secretFieldsOf } from '../../../schemas/events/redact.js';
import { feedEventNames } from '../../../schemas/feed.js';
import { webhookTestedData, webhookTestedType } from '../../../schemas/webhook-tested.js';
import { eventSchemas, type SchemaPart } from '../openapi/schemas.js';

export const refTo = (...path: readonly string[]): SchemaPart => ({ $ref: `#/${path.join('/')}` });

interface Message {
  /** Its key in `components.messages`; that of its data in `components.schemas`. */
  readonly key: string;
  readonly type: string;
  readonly data: z.ZodObject;
  readonly description: string;
  /** Whether the log has it. */
  readonly isRecord: boolean;
}

type Definition = (typeof catalogue)[EventName];

/** The versions that the log may hold, the current one first. */
const recordsOf = ({ name, version, data, retired, description }: Definition): readonly Message[] =>
  [{ version, data }, ...retired.toReversed()].map((known) => ({
    key: `${name}.v${known.version}`,
    type: `linklog.${name}.v${known.version}`,
    data: known.data as z.ZodObject,
    description:
      known.version === version
        ? description
        : `Earlier releases wrote it instead of version ${version}.`,
    isRecord: true,
  }));

/** The data in the feed, without what `withoutSecrets` and `ownerRowOf` remove. */
const feedDataOf = (data: z.ZodObject): z.ZodObject => {
  const secrets = secretFieldsOf(data);
  const { reason } = data.shape as { reason?: z.ZodType };
  if (secrets.length === 0 && !reason) return data;
  const shown = Object.entries(data.shape).filter(([field]) => !secrets.includes(field));
  const optionalReason = reason?.optional().describe('Absent if an operator is the `actor`.');
  return z.strictObject({
    ...Object.fromEntries(shown),
    ...(optionalReason && { reason: optionalReason }),
  });
};

/** The current version in the feed: the message of the log, unless the feed hides fields. */
const feedMessageOf = (definition: Definition): Message => {
  const [record] = recordsOf(definition);
  if (!record) throw new Error(`${definition.name} has no version`);
  const data = feedDataOf(record.data);
  return data === record.data
    ? record
    : { ...record, key: `${record.key}.feed`, data, isRecord: false };
};

const feedMessages = feedEventNames.map((name) => feedMessageOf(catalogue[name]));

const webhookTested: Message = {
  key: 'WebhookTested.v1',
  type: webhookTestedType,
  data: webhookTestedData,
  description:
    '`POST /v2/webhooks/{id}/test` delivers it, once. The log and the feed never have it.',
  isRecord: false,
};

const messages = [
  ...new Map(
    [...Object.values(catalogue).flatMap(recordsOf), ...feedMessages, webhookTested].map(
      (message) => [message.key, message],
    ),
  ).values(),
];

const refsTo = (keys: readonly string[]): SchemaPart =>
  Object.fromEntries(keys.map((key) => [key, refTo('components', 'messages', key)]));

/** The messages of a topic's channel. */
export const recordsIn = (topic: Definition['topic']): SchemaPart =>
  refsTo(
    Object.values(catalogue)
      .filter((definition) => definition.topic === topic)
      .flatMap(recordsOf)
      .map(({ key }) => key),
  );

export const streamMessages = refsTo([...feedMessages.map(({ key }) => key), 'Position']);

export const webhookMessages = refsTo(['Delivery', 'BatchDelivery', webhookTested.key]);

const componentOf = ({ key, type, description, isRecord }: Message): SchemaPart => ({
  name: type,
  description,
  payload: {
    type: 'object',
    allOf: [
      refTo('components', 'schemas', 'CloudEvent'),
      { properties: { type: { const: type }, data: refTo('components', 'schemas', key) } },
    ],
  },
  ...(isRecord && { traits: [refTo('components', 'messageTraits', 'record')] }),
});

const delivered = { traits: [refTo('components', 'messageTraits', 'delivery')] };
const feedEvent = refTo('components', 'schemas', 'FeedEvent');

export const componentMessages: SchemaPart = {
  ...Object.fromEntries(messages.map((message) => [message.key, componentOf(message)])),
  [webhookTested.key]: { ...componentOf(webhookTested), ...delivered },
  Position: {
    name: 'position',
    contentType: 'application/json',
    description:
      'Sent after 15 s without an event, with `event: position`. Its `id` is a cursor, too, so a filtered stream ' +
      'resumes without reading the same events again.',
    payload: refTo('components', 'schemas', 'Position'),
  },
  Delivery: {
    name: 'delivery',
    description: 'One event of the feed.',
    payload: feedEvent,
    ...delivered,
  },
  BatchDelivery: {
    name: 'batch delivery',
    contentType: 'application/cloudevents-batch+json',
    description:
      'Up to 100 events of the feed, of at most 256 KiB: visits, or other events if more than 10 are waiting.',
    payload: { type: 'array', items: feedEvent, minItems: 1, maxItems: 100 },
    ...delivered,
  },
};

const webhookHeaders = z.object({
  'webhook-id': z.string().describe('The ID of the delivery, the same in all attempts.'),
  'webhook-timestamp': z
    .string()
    .regex(/^\d+$/)
    .describe('The time of the attempt: Unix time in seconds.'),
  'webhook-signature': z
    .string()
    .describe(
      '`v1,` and the Base64 of the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`, for each live ' +
        'secret, separated by spaces. The key is the Base64-decoded part of the secret after `whsec_`.',
    ),
});

export const componentSchemas = (): SchemaPart => ({
  ...eventSchemas({
    // Not strict: `allOf` cannot add the type and the data to a closed object.
    CloudEvent: z.object(envelope.shape),
    ...Object.fromEntries(messages.map(({ key, data }) => [key, data])),
    Position: z.object({ time: timestamp.describe('The time of the server.') }),
    WebhookHeaders: webhookHeaders,
  }),
  FeedEvent: {
    description: 'An event of the feed, in its current version.',
    oneOf: feedMessages.map(({ key }) => refTo('components', 'messages', key, 'payload')),
  },
});
