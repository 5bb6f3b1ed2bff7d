/** Events for specs: one factory for each type, and arbitrary ones for properties. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { EventName, EventNamed, LinklogEvent } from '../events/catalogue.js';
import { eventId } from '../decision.js';
import { newEvent, writeEvent, type EventMetadata } from '../events/codec.js';
import { ledgerSource, spoolSource, writeSequence } from '../events/envelope.js';
import { browserFamilies, deviceTypes, osFamilies, visitTriggers } from '../events/visitor.js';
import { planNames } from '../plans.js';
import { scopeNames } from '../scopes.js';
import { unknownVisitor } from './visitor.js';

export const noon = new Date('2026-05-20T12:00:00.000Z');

/** A time so many seconds after noon; before it if negative. */
export const at = (seconds: number): Date => new Date(noon.getTime() + seconds * 1_000);

/** A UUIDv7 that is the same in every run: event ids of specs are known beforehand. */
export const idOf = (name: string | number): string => {
  const digits = createHash('sha256').update(String(name)).digest('hex');
  return `01970000-0000-7${digits.slice(0, 3)}-8${digits.slice(3, 6)}-${digits.slice(6, 18)}`;
};

/** The ID of a command's event, counted from 1, if the ID of the command is `idOf(1)`. */
export const idOfEvent = (number: number): string => eventId(idOf(1), number - 1);

/** What an event's envelope says, as far as a specification cares. */
export type Told = Partial<EventMetadata>;

type Data<Name extends EventName> = EventNamed<Name>['data'];

/** An event at noon, the first of its subject unless told otherwise. */
const make = <Name extends EventName>(
  name: Name,
  subject: string,
  data: Data<Name>,
  told: Told,
): EventNamed<Name> => {
  const { sequence = 1, source = ledgerSource } = told;
  const id = idOf(`${name} ${source} ${subject} ${sequence}`);
  return newEvent(name, data, { id, subject, time: noon, sequence, ...told });
};

export const created = (
  code: string,
  data: Partial<Data<'LinkCreated'>> = {},
  told: Told = {},
): EventNamed<'LinkCreated'> =>
  make(
    'LinkCreated',
    code,
    {
      url: `https://example.com/${code}`,
      custom: false,
      expiresAt: null,
      maxClicks: null,
      passwordHash: null,
      keyId: 'key-1',
      ...data,
    },
    told,
  );

export const expired = (
  code: string,
  sequence: number,
  reason: Data<'LinkExpired'>['reason'] = 'time',
  told: Told = {},
) => make('LinkExpired', code, { reason }, { sequence, ...told });

export const blocked = (code: string, sequence: number, told: Told = {}) =>
  make('LinkBlocked', code, { reason: 'phishing' }, { sequence, ...told });

export const unblocked = (code: string, sequence: number, told: Told = {}) =>
  make('LinkUnblocked', code, { reason: 'a mistake' }, { sequence, ...told });

export const edited = (
  code: string,
  sequence: number,
  data: Data<'LinkEdited'>,
  told: Told = {},
): EventNamed<'LinkEdited'> => make('LinkEdited', code, data, { sequence, ...told });

export const described = (
  code: string,
  sequence: number,
  data: Data<'LinkDescribed'>,
  told: Told = {},
): EventNamed<'LinkDescribed'> => make('LinkDescribed', code, data, { sequence, ...told });

export const disabled = (code: string, sequence: number, told: Told = {}) =>
  make('LinkDisabled', code, {}, { sequence, ...told });

export const enabled = (code: string, sequence: number, told: Told = {}) =>
  make('LinkEnabled', code, {}, { sequence, ...told });

export const deleted = (code: string, sequence: number, told: Told = {}) =>
  make('LinkDeleted', code, {}, { sequence, ...told });

/** The visit of such a visitor at a link without a limit. */
export const someVisit: Data<'LinkVisited'> = { click: null, ...unknownVisitor };

/** A visit that the ledger decided: `click` is its number among those of a link with a limit. */
export const visited = (code: string, click: number | null, told: Told = {}) =>
  make('LinkVisited', code, { ...someVisit, click }, { sequence: click ?? 1, ...told });

/** A visit of a link without a limit, numbered by a spool. */
export const spooledVisit = (
  code: string,
  {
    spool = 'spool-1',
    bot = false,
    ...told
  }: Told & { readonly spool?: string; readonly bot?: boolean } = {},
) => {
  const { sequence = 1 } = told;
  const origin = { id: String(sequence), source: spoolSource(spool) };
  return make('LinkVisited', code, { ...someVisit, bot }, { ...origin, ...told });
};

export const keyHash = 'ab'.repeat(32);

const someKey = {
  name: 'website',
  plan: 'HOBBY' as const,
  scopes: [...scopeNames],
  expiresAt: null,
};

export const keyCreated = (
  id: string,
  data: Partial<Data<'ApiKeyCreated'>> = {},
  told: Told = {},
): EventNamed<'ApiKeyCreated'> =>
  make(
    'ApiKeyCreated',
    id,
    { ...someKey, account: 'acme', ancestors: [], hash: keyHash, ...data },
    { account: 'acme', ...told },
  );

export const keyChanged = (
  id: string,
  sequence: number,
  data: Partial<Data<'ApiKeyChanged'>>,
  told: Told = {},
) => {
  const all = { ...someKey, status: 'active' as const, deactivatedBy: null, ...data };
  return make('ApiKeyChanged', id, all, { sequence, account: 'acme', ...told });
};

export const keyRotated = (
  id: string,
  sequence: number,
  data: Data<'ApiKeyRotated'>,
  told: Told = {},
) => make('ApiKeyRotated', id, data, { sequence, account: 'acme', ...told });

export const keyRevoked = (id: string, sequence: number, told: Told = {}) =>
  make('ApiKeyRevoked', id, {}, { sequence, account: 'acme', ...told });

export const overrideGranted = (
  alias: string,
  sequence: number,
  account: string,
  told: Told = {},
) => make('AliasOverrideGranted', alias, { account }, { sequence, account, ...told });

export const overrideRevoked = (alias: string, sequence: number, told: Told = {}) =>
  make('AliasOverrideRevoked', alias, {}, { sequence, ...told });

export const metered = (keyId: string, sequence: number, calls: number, minute = noon) =>
  make('CallsMetered', keyId, { minute: minute.toISOString(), calls }, { sequence, time: at(90) });

export const rendered = (keyId: string, sequence: number, time = noon) =>
  make('QrRendered', keyId, { code: 'abc' }, { sequence, time });

export const maintenanceSwitched = (sequence: number, on: boolean, told: Told = {}) =>
  make('MaintenanceSwitched', 'platform', { on }, { sequence, ...told });

export const featureSwitched = (
  sequence: number,
  feature: Data<'FeatureSwitched'>['feature'],
  on: boolean,
  told: Told = {},
) => make('FeatureSwitched', 'platform', { feature, on }, { sequence, ...told });

export const projectionWorkRequested = (
  sequence: number,
  projection: string,
  work: Data<'ProjectionWorkRequested'>['work'],
  told: Told = {},
) => make('ProjectionWorkRequested', 'platform', { projection, work }, { sequence, ...told });

/** An event as a record of the log. */
export const recordOf = (
  event: LinklogEvent,
): { readonly key: string; readonly value: string } => ({
  key: event.subject,
  value: writeEvent(event),
});

/** A visit as a record of the log, as it was written before visits recorded more. */
export const firstVisitRecordOf = ({
  data: { click, bot },
  ...event
}: EventNamed<'LinkVisited'>): ReturnType<typeof recordOf> => {
  const sequence = writeSequence(event.sequence);
  const first = { ...event, type: 'linklog.LinkVisited.v1', sequence, data: { click, bot } };
  return { key: event.subject, value: JSON.stringify(first) };
};

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

const texts = { title: anyText, note: anyText, tags: fc.array(anyText, { maxLength: 3 }) };

const keyTerms = {
  name: anyText,
  plan: nullable(plan),
  scopes: fc.subarray([...scopeNames]),
  expiresAt: nullable(timestamp),
};

/** Data of every event type; a new type does not compile without its own. */
const dataByName: { [Name in EventName]: fc.Arbitrary<Data<Name>> } = {
  LinkCreated: fc.record(
    {
      url: anyText,
      custom: fc.boolean(),
      expiresAt: nullable(timestamp),
      maxClicks: nullable(count),
      passwordHash: nullable(anyText),
      keyId: token(36),
      startsAt: timestamp,
      ...texts,
    },
    { requiredKeys: ['url', 'custom', 'expiresAt', 'maxClicks', 'passwordHash', 'keyId'] },
  ),
  LinkEdited: fc.record(
    {
      url: anyText,
      startsAt: nullable(timestamp),
      expiresAt: nullable(timestamp),
      maxClicks: nullable(count),
      clicks: count,
      password: fc.constantFrom('set' as const, 'removed' as const),
      passwordHash: anyText,
    },
    { requiredKeys: [] },
  ),
  LinkDescribed: fc.record(
    { title: nullable(anyText), note: nullable(anyText), tags: texts.tags },
    { requiredKeys: [] },
  ),
  LinkDisabled: fc.constant({}),
  LinkEnabled: fc.constant({}),
  LinkDeleted: fc.constant({}),
  LinkExpired: fc.record({ reason: fc.constantFrom('time' as const, 'clicks' as const) }),
  LinkBlocked: fc.record({ reason: anyText }),
  LinkUnblocked: fc.record({ reason: anyText }),
  LinkVisited: fc.record({
    click: nullable(count),
    bot: fc.boolean(),
    country: nullable(fc.stringMatching(/^[A-Z]{2}$/)),
    referrer: nullable(fc.domain()),
    browser: nullable(fc.constantFrom(...browserFamilies)),
    os: nullable(fc.constantFrom(...osFamilies)),
    device: nullable(fc.constantFrom(...deviceTypes)),
    language: nullable(fc.stringMatching(/^[a-z]{2,3}$/)),
    visitor: nullable(fc.stringMatching(/^[\w-]{16}$/)),
    trigger: nullable(fc.constantFrom(...visitTriggers)),
    version: nullable(count),
  }),
  ApiKeyCreated: fc.record({
    ...keyTerms,
    account: token(64),
    hash,
    ancestors: fc.array(token(36), { maxLength: 3 }),
  }),
  ApiKeyChanged: fc.record({
    ...keyTerms,
    status: fc.constantFrom('active', 'inactive', 'suspended'),
    deactivatedBy: nullable(token(36)),
  }),
  ApiKeyRotated: fc.record({ hash, earlierEndAt: timestamp }),
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
  ProjectionWorkRequested: fc.record({
    projection: token(20),
    work: fc.constantFrom('redrive', 'rebuild', 'rollback'),
  }),
};

const someMetadata = fc.record(
  {
    id: fc.oneof(fc.uuid({ version: 7 }), count.map(String)),
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

/** Any event of a type, with or without each attribute that is optional. */
export const someEventNamed = (name: EventName): fc.Arbitrary<LinklogEvent> =>
  fc
    .tuple<[LinklogEvent['data'], EventMetadata]>(dataByName[name], someMetadata)
    .map(([data, told]) => newEvent(name, data, told));

/** Any event of any type, with or without each attribute that is optional. */
export const someEvent: fc.Arbitrary<LinklogEvent> = fc.oneof(
  ...(Object.keys(dataByName) as EventName[]).map(someEventNamed),
);
