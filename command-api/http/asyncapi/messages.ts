/** The messages of the AsyncAPI document: each event as the log has it, and as the feed shows it. */
import { z } from 'zod';
import { catalogue, type EventName, type EventNamed } from '../../../schemas/events/catalogue.js';
import { envelope, timestamp, type Envelope } from '../../../schemas/events/envelope.js';
import { secretFieldsOf } from '../../../schemas/events/redact.js';
import { feedEventNames } from '../../../schemas/feed.js';
import { webhookTestedData, webhookTestedType } from '../../../schemas/webhook-tested.js';
import { eventSchemas, type SchemaPart } from '../openapi/schemas.js';

export const refTo = (...path: readonly string[]): SchemaPart => ({ $ref: `#/${path.join('/')}` });

type Descriptions<Fields> = { readonly [Field in keyof Fields]?: string };

/** The attributes that do not explain themselves. */
const attributes: Descriptions<Envelope> = {
  id: 'Unique together with `source`.',
  type: '`linklog.<Name>.v<version>`.',
  source: '`/linklog/ledger`, or for visits the spool of an edge.',
  subject:
    'A link (`code`, on own domains `domain/code`), key ID, alias, domain, webhook ID or `platform`.',
  sequence: 'Increases with each event of a `subject`; for visits, of a `source`.',
  account: 'The account of the subject.',
  actor:
    'The ID of a key, `operator` (in the log, the name of the operator), `system`, `web-safety` or `visitor`.',
  data: 'Depends on the `type`.',
  correlationid: 'The ID of the request that caused the event.',
  causationid: 'The ID of the event that caused this one.',
  traceparent:
    'The W3C trace context of the request that caused the event, if the request had one.',
};

const passwordHash = 'argon2id.';
const hash = 'SHA-256 of the secret of the key, hexadecimal.';

const keyTerms = { plan: '`null`: the plan of the root key.', scopes: '`null`: all.' };

const webhookTerms = {
  types: 'Names of events; `null`: all except `LinkVisited`.',
  domain: 'Only events of links on this domain; `null`: all.',
};

/** Fields of data that do not explain themselves. */
const dataFields: { readonly [Name in EventName]?: Descriptions<EventNamed<Name>['data']> } = {
  LinkCreated: {
    custom: 'Whether the code is an alias; otherwise it was generated.',
    passwordHash,
    keyId: 'The root key whose quota the link uses; `operator`: none, for a link of an operator.',
  },
  LinkImported: {
    custom: 'Whether the code is an alias; always true.',
    passwordHash,
    keyId: 'The root key whose quota the link uses; `operator`: none, for a link of an operator.',
    importId: 'The ID of the import.',
    source: 'The format of the file, or the service.',
    createdAt: 'The time of creation at the source, or of the import if it is unknown.',
    clicks: 'The clicks at the source that were not imported as visits. They belong to no period.',
  },
  LinkEdited: {
    passwordHash,
    clicks: 'The clicks counted so far, if the link had no limit before.',
  },
  LinkVisited: {
    click: 'The number of the click on a link with `maxClicks`.',
    bot: 'Whether the user agent identifies itself as a crawler or link previewer.',
    country: 'ISO 3166-1 alpha-2.',
    referrer: 'The host of the page with the link, without `www.`.',
    language: 'Primary subtag of BCP 47.',
    visitor: 'The same in all visits of one visitor to one link on one UTC day.',
    trigger: '`qr`: a QR code.',
    version: 'The `sequence` of the last event of the link that the edge knew.',
    target: 'The redirect rule that was applied: `rule` or `rule/entry`.',
  },
  ApiKeyCreated: { ...keyTerms, hash, ancestors: 'IDs of keys, the root first.' },
  ApiKeyChanged: {
    ...keyTerms,
    status: '`inactive`: by the key itself or an ancestor; `suspended`: by an operator.',
    deactivatedBy: 'The ID of the key that deactivated an `inactive` key.',
  },
  ApiKeyRotated: { hash, earlierEndAt: 'All earlier secrets end at this time or earlier.' },
  DomainClaimed: { token: 'The part of the TXT record after `linklog=`.' },
  DomainVerified: { by: '`dns`: the TXT record was found; `operator`: without a check.' },
  WebhookCreated: { ...webhookTerms, secret: 'Signs deliveries.' },
  WebhookChanged: { ...webhookTerms, secrets: 'They sign deliveries, the newest first.' },
  CallsMetered: { minute: 'The start of the minute.' },
};

const descriptions: Readonly<Record<EventName, string>> = {
  LinkCreated: 'A link was created. The time of the event is the time of creation.',
  LinkImported:
    'A link of another service was created. The time of the event is the time of the import.',
  LinkEdited:
    'The destination, rules, limits or password changed. An absent field is unchanged; `null` removes the value.',
  LinkDescribed:
    'The title, note or tags changed. An absent field is unchanged; `null` removes the value.',
  LinkDisabled: 'The owner disabled the link.',
  LinkEnabled: 'The owner enabled the link again.',
  LinkDeleted: 'The owner deleted the link permanently. Its code is never used again.',
  LinkExpired: 'The link passed its end, or used its last click.',
  LinkBlocked: 'An operator or the web-safety check blocked the link.',
  LinkUnblocked: 'A block of the link ended.',
  LinkVisited:
    'A visitor or a bot was redirected. `null`: unknown, or not recorded because the visitor opted out of tracking.',
  ApiKeyCreated: 'A key was created.',
  ApiKeyChanged: 'The key changed. All fields have the values after the change.',
  ApiKeyRotated: 'The key has a new secret.',
  ApiKeyRevoked: 'The key was revoked permanently.',
  AliasOverrideGranted: 'An operator allowed one account to use a reserved alias.',
  AliasOverrideRevoked: 'An operator withdrew the permission to use a reserved alias.',
  DomainClaimed: 'The account claimed the domain, which is not verified yet.',
  DomainVerified: 'The account has the domain.',
  DomainChanged:
    'The redirects of the domain changed. All fields have the values after the change; `null`: visitors get a page.',
  DomainReleased: 'The account no longer has the domain, or its claim.',
  WebhookCreated: 'A webhook was created.',
  WebhookChanged:
    'The webhook changed, or its secret was rotated. All fields have the values after the change.',
  WebhookDisabled:
    'Linklog disabled the webhook: nothing is delivered until the account enables it.',
  WebhookDeleted: 'The webhook was deleted permanently.',
  CallsMetered: 'Some or all calls of a key in one minute.',
  QrRendered: 'A key rendered a QR code.',
  MaintenanceSwitched: 'An operator switched the maintenance mode.',
  FeatureSwitched: 'An operator switched a feature.',
  ProjectionWorkRequested: 'An operator requested work on a projection.',
};

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

const described = (
  schema: z.ZodObject,
  texts: Readonly<Record<string, string | undefined>> = {},
): Readonly<Record<string, z.ZodType>> =>
  Object.fromEntries(
    Object.entries(schema.shape as Record<string, z.ZodType>).map(([field, type]) => {
      const text = texts[field];
      return [field, text === undefined ? type : type.describe(text)];
    }),
  );

/** The versions that the log may hold, the current one first. */
const recordsOf = ({ name, version, data, retired }: Definition): readonly Message[] =>
  [{ version, data }, ...retired.toReversed()].map((known) => ({
    key: `${name}.v${known.version}`,
    type: `linklog.${name}.v${known.version}`,
    data: z.strictObject(described(known.data as z.ZodObject, dataFields[name])),
    description:
      known.version === version
        ? descriptions[name]
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

/** A list of references, by the keys of the messages. */
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
    CloudEvent: z.object(described(envelope, attributes)),
    ...Object.fromEntries(messages.map(({ key, data }) => [key, data])),
    Position: z.object({ time: timestamp.describe('The time of the server.') }),
    WebhookHeaders: webhookHeaders,
  }),
  FeedEvent: {
    description: 'An event of the feed, in its current version.',
    oneOf: feedMessages.map(({ key }) => refTo('components', 'messages', key, 'payload')),
  },
});
