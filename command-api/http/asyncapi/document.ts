import { packageVersion } from '../../../ops/platform/files/project-file.js';
import { topics } from '../../../schemas/events/topics.js';
import { eventsQuery } from '../../../schemas/http/events.js';
import { parametersOf, type SchemaPart } from '../openapi/schemas.js';
import {
  componentMessages,
  componentSchemas,
  recordsIn,
  refTo,
  streamMessages,
  webhookMessages,
} from './messages.js';

const description = `Every change in Linklog is an event: a CloudEvents 1.0 object in JSON.

Accounts read the events of their links, visits, keys, domains, webhooks and shared statistics as a stream, or
receive them as webhooks. Operators read all events, with their secret fields, in Kafka. An event may be delivered more than
once, with the same \`source\` and \`id\`. The stream and Kafka have the events of one \`subject\` in order.`;

const httpBinding = { bindingVersion: '0.3.0' };
const kafkaBinding = { bindingVersion: '0.5.0' };

/** The query of the stream: that of `GET /v2/events`. */
const streamQuery = {
  type: 'object',
  properties: Object.fromEntries(
    parametersOf(eventsQuery).map(({ name, description, schema }) => [
      String(name),
      { ...(schema as object), description },
    ]),
  ) as SchemaPart,
};

const records = {
  links: 'Events of links.',
  visits: 'Visits of links. The `source` is the spool of an edge.',
  accounts: 'Events of keys, reserved aliases, domains, webhooks and shared statistics.',
  platform: 'Switches of operators.',
  usage: 'Calls and QR codes of keys.',
} as const satisfies Record<keyof typeof topics, string>;

const topicChannels = Object.entries(records).map(([name, text]) => {
  const topic = topics[name as keyof typeof topics];
  const channel = {
    address: topic.name,
    title: `Kafka: ${name}`,
    description: `${text} \`KAFKA_TOPIC_PREFIX\` is in front of the name of the topic.`,
    servers: [refTo('servers', 'kafka')],
    messages: recordsIn(name as keyof typeof topics),
    bindings: {
      kafka: {
        topic: topic.name,
        partitions: topic.partitions,
        topicConfiguration: { 'cleanup.policy': ['delete'], 'retention.ms': -1 },
        ...kafkaBinding,
      },
    },
  };
  return [name, channel] as const;
});

const sends = (channel: string, more: SchemaPart = {}): SchemaPart => ({
  action: 'send',
  channel: refTo('channels', channel),
  ...more,
});

/** The AsyncAPI document, generated from the schemas that validate the events. */
export const asyncApiDocument = () => ({
  asyncapi: '3.0.0',
  info: {
    title: 'Linklog events',
    version: packageVersion(),
    description,
    license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  },
  defaultContentType: 'application/cloudevents+json',
  servers: {
    api: {
      host: '{host}',
      protocol: 'http',
      description: 'The API listener; `https` behind a proxy.',
      variables: { host: { default: '127.0.0.1:8080', description: 'Host and port.' } },
    },
    receiver: {
      host: '{host}',
      protocol: 'https',
      description: 'The receiver of a webhook.',
      variables: { host: { description: 'The host of the URL.', examples: ['hooks.example.com'] } },
    },
    kafka: {
      host: '{broker}',
      protocol: 'kafka',
      description: 'The log of an installation with `KAFKA_BROKERS`, for operators.',
      variables: { broker: { default: '127.0.0.1:9092', description: 'Host and port.' } },
    },
  },
  channels: {
    stream: {
      address: '/v2/events',
      title: 'Event stream',
      description:
        'Server-sent events (`Accept: text/event-stream`). The `data` of each is an event of the account, its `id` is ' +
        'the cursor after the event. A client that stores the cursor together with the effect of the event misses ' +
        'none. Without this `Accept`, the response is a page: `{events, next}`.',
      servers: [refTo('servers', 'api')],
      messages: streamMessages,
    },
    webhooks: {
      // The path of the receiver's URL.
      address: null,
      title: 'Webhooks',
      description:
        'Requests of Standard Webhooks 1.0 to the URL of a webhook, with the events of the account since its ' +
        'cursor. Any 2xx within 15 s is a success, 410 disables the webhook, and other results are retried. Other deliveries continue in the ' +
        'meantime, so the events of a retried one may arrive after newer ones.',
      servers: [refTo('servers', 'receiver')],
      messages: webhookMessages,
    },
    ...Object.fromEntries(topicChannels),
  },
  operations: {
    streamEvents: sends('stream', {
      summary: 'Streams the events of an account. Requires the scope `events:read`.',
      security: [refTo('components', 'securitySchemes', 'apiKey')],
      bindings: { http: { method: 'GET', query: streamQuery, ...httpBinding } },
    }),
    deliverWebhook: sends('webhooks', {
      summary: 'Delivers the events of an account to a receiver.',
      bindings: { http: { method: 'POST', ...httpBinding } },
    }),
    ...Object.fromEntries(topicChannels.map(([name]) => [`append-${name}`, sends(name)])),
  },
  components: {
    securitySchemes: {
      apiKey: { type: 'http', scheme: 'bearer', description: '`Authorization: Bearer ll_…`' },
    },
    messageTraits: {
      record: {
        bindings: {
          kafka: { key: { type: 'string', description: 'The `subject`.' }, ...kafkaBinding },
        },
      },
      delivery: { headers: refTo('components', 'schemas', 'WebhookHeaders') },
    },
    messages: componentMessages,
    schemas: componentSchemas(),
  },
});
