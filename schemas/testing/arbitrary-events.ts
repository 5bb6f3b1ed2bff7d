import fc from 'fast-check';
import type { EventName, EventNamed, LinklogEvent } from '../events/catalogue.js';
import { newEvent, type EventMetadata } from '../events/codec.js';
import { spoolSource } from '../events/envelope.js';
import { planNames } from '../plans.js';

/** Times that four-digit years can write. */
export const someTime = fc.date({
  min: new Date('2020-01-01T00:00:00.000Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});

const timestamp = someTime.map((time) => time.toISOString());
const token = (maxLength: number) => fc.stringMatching(new RegExp(`^[\\w-]{1,${maxLength}}$`));
// As X-Actor and X-Request-Id may be: visible ASCII.
const visible = fc.stringMatching(/^[\x21-\x7e]{1,64}$/);
const anyText = fc.string({ unit: 'binary', maxLength: 60 });
const nullable = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null });
const plan = fc.constantFrom(...planNames);
const hash = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('hex'));
const count = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

/** Data of every event type; a new type does not compile without its own. */
const dataByName: { [Name in EventName]: fc.Arbitrary<EventNamed<Name>['data']> } = {
  LinkCreated: fc.record({
    url: anyText,
    custom: fc.boolean(),
    expiresAt: nullable(timestamp),
    maxClicks: nullable(count),
    passwordHash: nullable(anyText),
    keyId: token(36),
  }),
  LinkExpired: fc.record({ reason: fc.constantFrom('time' as const, 'clicks' as const) }),
  LinkBlocked: fc.record({ reason: anyText }),
  LinkUnblocked: fc.record({ reason: anyText }),
  LinkVisited: fc.record({ click: nullable(count), bot: fc.boolean() }),
  ApiKeyCreated: fc.record({ name: anyText, plan, account: token(64), hash }),
  ApiKeyChanged: fc.record({ name: anyText, plan, active: fc.boolean() }),
  ApiKeyRevoked: fc.constant({}),
  AliasOverrideGranted: fc.record({ account: token(64) }),
  AliasOverrideRevoked: fc.constant({}),
  CallsMetered: fc.record({ minute: timestamp, calls: count }),
  QrRendered: fc.record({ code: token(50) }),
  MaintenanceSwitched: fc.record({ on: fc.boolean() }),
  FeatureSwitched: fc.record({
    feature: fc.constantFrom('shortening', 'aliases', 'passwords', 'expiration', 'qr'),
    on: fc.boolean(),
  }),
};

const metadata = fc.record(
  {
    id: fc.uuid({ version: 7 }),
    subject: token(50),
    time: someTime,
    sequence: count,
    source: token(20).map(spoolSource),
    account: token(64),
    actor: visible,
    correlationId: visible,
    causationId: fc.uuid({ version: 7 }),
  },
  { requiredKeys: ['id', 'subject', 'time', 'sequence'] },
);

const eventNamed = (name: EventName): fc.Arbitrary<LinklogEvent> =>
  fc
    .tuple<[LinklogEvent['data'], EventMetadata]>(dataByName[name], metadata)
    .map(([data, told]) => newEvent(name, data, told));

/** Any event of any type, with or without each attribute that is optional. */
export const someEvent: fc.Arbitrary<LinklogEvent> = fc.oneof(
  ...(Object.keys(dataByName) as EventName[]).map(eventNamed),
);
