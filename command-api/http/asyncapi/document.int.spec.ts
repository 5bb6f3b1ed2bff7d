import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { expect } from 'chai';
import { projectFile } from '../../../ops/platform/files/project-file.js';
import { catalogue, type EventName, type LinklogEvent } from '../../../schemas/events/catalogue.js';
import { readEvent, writeEvent } from '../../../schemas/events/codec.js';
import { topicNames, topics } from '../../../schemas/events/topics.js';
import { feedEventNames } from '../../../schemas/feed.js';
import { eventOfRow, ownerRowOf, rowOfEvent } from '../../../schemas/read-models/history.js';
import { webhookTested } from '../../../schemas/webhook-tested.js';
import { asyncApiDocument } from './document.js';

type Json = Readonly<Record<string, unknown>>;

interface Channel {
  readonly address: string | null;
  readonly messages: Readonly<Record<string, { readonly $ref: string }>>;
  readonly bindings?: { readonly kafka: Json };
}

const document = JSON.parse(JSON.stringify(asyncApiDocument())) as {
  readonly channels: Readonly<Record<string, Channel>>;
  readonly operations: Readonly<Record<string, Json>>;
  readonly components: Readonly<Record<string, Json>>;
};

const readJson = (file: string): Json => JSON.parse(readFileSync(file, 'utf8')) as Json;

/** Not strict: both documents have keywords of their own. */
const newAjv = (): Ajv => {
  const ajv = new Ajv({ strict: false, allErrors: true });
  formats.default(ajv);
  return ajv;
};

const payloads = newAjv();
// Only its parts are schemas.
payloads.addSchema(document, 'document', false, false);

/** Errors of a value against the payload of a message. */
const payloadFaults = (value: unknown, message: string): readonly string[] => {
  const validate = payloads.getSchema(`document#/components/messages/${message}/payload`);
  if (!validate) throw new Error(`the document has no message ${message}`);
  if (validate(value) === true) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message = '' }) => `${instancePath} ${message}`,
  );
};

const goldenFolder = projectFile('schemas', 'events', 'golden');
const golden = readdirSync(goldenFolder).map((name) => {
  const json = readJson(`${goldenFolder}/${name}`);
  return { key: name.slice('linklog.'.length, -'.json'.length), json };
});

const feedEvents = golden.flatMap(({ json }) =>
  feedEventNames
    .filter((name) => catalogue[name].type === json['type'])
    .map((name) => ({ name, event: readEvent(JSON.stringify(json)) })),
);

/** The keys of the messages of a channel. */
const keysIn = (channel: string): readonly string[] =>
  Object.entries(document.channels[channel]?.messages ?? {}).map(([key, { $ref }]) => {
    expect($ref).to.equal(`#/components/messages/${key}`);
    return key;
  });

/** The message of an event in the feed. */
const feedKeyOf = (name: EventName): string => {
  const key = `${name}.v${catalogue[name].version}`;
  return keysIn('stream').find((known) => known === key || known === `${key}.feed`) ?? '';
};

/** The event as the feed sends it. */
const inFeed = (event: LinklogEvent): unknown =>
  JSON.parse(
    event.type === catalogue.LinkVisited.type
      ? writeEvent(event)
      : eventOfRow(ownerRowOf(rowOfEvent(event))),
  );

const isSecret = (schema: Json): boolean => JSON.stringify(schema).includes('"x-secret"');

describe('command API: AsyncAPI document', () => {
  it('is valid AsyncAPI 3.0', () => {
    const file = import.meta.resolve('@asyncapi/specs/schemas/3.0.0-without-$id.json');
    const validate = newAjv().compile(readJson(fileURLToPath(file)));
    validate(document);
    expect(validate.errors).to.equal(null);
    expect(validate({ ...document, channels: document.operations })).to.equal(false);
  });

  it('has every version of an event in the channel of its topic', () => {
    for (const [name, topic] of Object.entries(topics)) {
      const ofTopic = Object.values(catalogue).filter((definition) => definition.topic === name);
      const keys = ofTopic.flatMap(({ name: event, version }) =>
        Array.from({ length: version }, (_, index) => `${event}.v${index + 1}`),
      );
      expect(keysIn(name), name).to.have.members(keys);
      const { address, bindings } = document.channels[name] ?? {};
      expect(address).to.equal(topic.name);
      expect(bindings?.kafka).to.include({ topic: topic.name, partitions: topic.partitions });
    }
    const addresses = Object.values(document.channels).map(({ address }) => address);
    expect(addresses).to.have.members(['/v2/events', null, ...topicNames]);
  });

  it('has the current versions of the events of the feed, without secrets, in the stream', () => {
    expect(keysIn('stream')).to.have.members([...feedEventNames.map(feedKeyOf), 'Position']);
    const schemas = document.components['schemas'] as Readonly<Record<string, Json>>;
    for (const name of feedEventNames) {
      expect(isSecret(schemas[feedKeyOf(name)] ?? {}), name).to.equal(false);
    }
    expect(isSecret(schemas['LinkCreated.v4'] ?? {})).to.equal(true);
  });

  for (const { key, json } of golden) {
    const data = json['data'] as Json;
    const without = (from: Json, field: string): Json =>
      Object.fromEntries(Object.entries(from).filter(([name]) => name !== field));

    it(`describes ${key} in the log`, () => {
      expect(payloadFaults(json, key)).to.deep.equal([]);
      expect(payloadFaults({ ...json, data: { ...data, other: 1 } }, key)).to.have.lengthOf(1);
      expect(payloadFaults({ ...json, type: 'linklog.Other.v1' }, key)).to.have.lengthOf(1);
      const { required } = (document.components['schemas'] as Record<string, Json>)[key] as {
        required?: string[];
      };
      for (const field of Object.keys(data)) {
        const expected = required?.includes(field) ? 1 : 0;
        const changed = { ...json, data: without(data, field) };
        expect(payloadFaults(changed, key), field).to.have.lengthOf(expected);
      }
      for (const attribute of ['specversion', 'id', 'type', 'source', 'subject', 'time', 'data']) {
        expect(payloadFaults(without(json, attribute), key), attribute).not.to.be.empty;
      }
    });
  }

  for (const { event, name } of feedEvents) {
    it(`describes ${event.type} in the feed`, () => {
      const byOperator = { ...event, actor: 'maria' } as LinklogEvent;
      for (const shown of [event, byOperator].map(inFeed)) {
        expect(payloadFaults(shown, feedKeyOf(name))).to.deep.equal([]);
        expect(payloadFaults(shown, 'Delivery')).to.deep.equal([]);
        expect(payloadFaults([shown], 'BatchDelivery')).to.deep.equal([]);
      }
    });
  }

  it('describes the event of a test delivery', () => {
    const id = '019a3c1e-8120-7abc-8def-012345678901';
    const event = webhookTested({ id, webhookId: 'wh_1', account: 'acme', time: new Date() });
    expect(payloadFaults(event, 'WebhookTested.v1')).to.deep.equal([]);
    expect(payloadFaults(event, 'Delivery')).not.to.be.empty;
    expect(keysIn('webhooks')).to.have.members(['Delivery', 'BatchDelivery', 'WebhookTested.v1']);
  });
});
