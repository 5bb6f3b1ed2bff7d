/** Events for specs: a factory for each type, and arbitraries for properties. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { z } from 'zod';
import {
  catalogue,
  type EventName,
  type EventNamed,
  type LinklogEvent,
} from '../events/catalogue.js';
import { eventId } from '../decision.js';
import { newEvent, writeEvent, type EventMetadata } from '../events/codec.js';
import { importSource, ledgerSource, spoolSource, writeSequence } from '../events/envelope.js';
import { unknownVisitor } from './visitor.js';
import { codePoint } from './code-point.js';

export const noon = new Date('2026-05-20T12:00:00.000Z');

/** The time `seconds` after noon. */
export const at = (seconds: number): Date => new Date(noon.getTime() + seconds * 1_000);

/** A deterministic UUIDv7. */
export const idOf = (name: string | number): string => {
  const digits = createHash('sha256').update(String(name)).digest('hex');
  return `01970000-0000-7${digits.slice(0, 3)}-8${digits.slice(3, 6)}-${digits.slice(6, 18)}`;
};

/** The ID of a command's event, counted from 1, if the ID of the command is `idOf(1)`. */
export const idOfEvent = (number: number): string => eventId(idOf(1), number - 1);

type EventAttributes = Partial<EventMetadata>;

type Data<Name extends EventName> = EventNamed<Name>['data'];

/** By default, the first event of its subject, at noon. */
const eventOf = <Name extends EventName>(
  name: Name,
  subject: string,
  data: Data<Name>,
  attributes: EventAttributes,
): EventNamed<Name> => {
  const { sequence = 1, source = ledgerSource } = attributes;
  const id = idOf(`${name} ${source} ${subject} ${sequence}`);
  return newEvent(name, data, { id, subject, time: noon, sequence, ...attributes });
};

const creationData = (code: string): Data<'LinkCreated'> => ({
  url: `https://example.com/${code}`,
  custom: false,
  expiresAt: null,
  maxClicks: null,
  passwordHash: null,
  keyId: 'key-1',
});

export const created = (
  code: string,
  data: Partial<Data<'LinkCreated'>> = {},
  attributes: EventAttributes = {},
): EventNamed<'LinkCreated'> =>
  eventOf('LinkCreated', code, { ...creationData(code), ...data }, attributes);

/** Its time of creation is a year before `noon`. */
export const imported = (
  code: string,
  data: Partial<Data<'LinkImported'>> = {},
  attributes: EventAttributes = {},
): EventNamed<'LinkImported'> =>
  eventOf(
    'LinkImported',
    code,
    {
      ...creationData(code),
      custom: true,
      importId: 'import-1',
      source: 'csv',
      createdAt: at(-365 * 86_400).toISOString(),
      clicks: 0,
      visits: 0,
      ...data,
    },
    attributes,
  );

export const expired = (
  code: string,
  sequence: number,
  reason: Data<'LinkExpired'>['reason'] = 'time',
  attributes: EventAttributes = {},
) => eventOf('LinkExpired', code, { reason }, { sequence, ...attributes });

/** A factory of events whose data are constant. */
const constantEvent =
  <Name extends EventName>(name: Name, data: Data<Name>, common: EventAttributes = {}) =>
  (subject: string, sequence: number, attributes: EventAttributes = {}): EventNamed<Name> =>
    eventOf(name, subject, data, { sequence, ...common, ...attributes });

/** A factory of events with given data. */
const eventWithData =
  <Name extends EventName>(name: Name, common: EventAttributes = {}) =>
  (subject: string, sequence: number, data: Data<Name>, attributes: EventAttributes = {}) =>
    eventOf(name, subject, data, { sequence, ...common, ...attributes });

export const blocked = constantEvent('LinkBlocked', { reason: 'phishing' });
export const unblocked = constantEvent('LinkUnblocked', { reason: 'a mistake' });
export const codeAdded = eventWithData('LinkCodeAdded');
export const codeRemoved = eventWithData('LinkCodeRemoved');
export const edited = eventWithData('LinkEdited');
export const described = eventWithData('LinkDescribed');
export const disabled = constantEvent('LinkDisabled', {});
export const enabled = constantEvent('LinkEnabled', {});
export const deleted = constantEvent('LinkDeleted', {});
export const restored = constantEvent('LinkRestored', {});

/** A visit of a link without a limit. */
export const someVisit: Data<'LinkVisited'> = { click: null, ...unknownVisitor };

/** A visit that the ledger recorded. `click`: its number on a link with a limit. */
export const visited = (code: string, click: number | null, attributes: EventAttributes = {}) =>
  eventOf('LinkVisited', code, { ...someVisit, click }, { sequence: click ?? 1, ...attributes });

/** A visit with the sequence of a spool. */
export const spooledVisit = (
  code: string,
  {
    spool = 'spool-1',
    bot = false,
    ...attributes
  }: EventAttributes & { readonly spool?: string; readonly bot?: boolean } = {},
) => {
  const { sequence = 1 } = attributes;
  const origin = { id: String(sequence), source: spoolSource(spool) };
  return eventOf('LinkVisited', code, { ...someVisit, bot }, { ...origin, ...attributes });
};

/** The id of an import that began at a time. */
export const importIdAt = (time: Date): string => {
  const digits = time.getTime().toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000001`;
};

/** A visit with the sequence of an import. */
export const importedVisit = (
  code: string,
  { importId = importIdAt(noon), ...attributes }: EventAttributes & { readonly importId?: string },
) => spooledVisit(code, { source: importSource(importId), ...attributes });

export const keyHash = 'ab'.repeat(32);

const acme = { account: 'acme' };

const someKey = {
  name: 'website',
  plan: 'HOBBY' as const,
  scopes: null,
  expiresAt: null,
};

/** A factory of first events of a subject, with default data. */
const firstEvent =
  <Name extends EventName>(name: Name, defaults: Data<Name>) =>
  (
    subject: string,
    data: Partial<Data<Name>> = {},
    attributes: EventAttributes = {},
  ): EventNamed<Name> =>
    eventOf(name, subject, { ...defaults, ...data }, { ...acme, ...attributes });

/** A factory of later events of a subject, with default data. */
const laterEvent =
  <Name extends EventName>(name: Name, defaults: Data<Name>) =>
  (
    subject: string,
    sequence: number,
    data: Partial<Data<Name>>,
    attributes: EventAttributes = {},
  ): EventNamed<Name> =>
    eventOf(name, subject, { ...defaults, ...data }, { sequence, ...acme, ...attributes });

export const keyCreated = firstEvent('ApiKeyCreated', {
  ...{ ...someKey, account: 'acme', ancestors: [], hash: keyHash },
});
export const keyChanged = laterEvent('ApiKeyChanged', {
  ...{ ...someKey, status: 'active', deactivatedBy: null },
});
export const keyRotated = eventWithData('ApiKeyRotated', acme);
export const keyRevoked = constantEvent('ApiKeyRevoked', {}, acme);

export const overrideGranted = (
  alias: string,
  sequence: number,
  account: string,
  attributes: EventAttributes = {},
) => eventOf('AliasOverrideGranted', alias, { account }, { sequence, account, ...attributes });

export const overrideRevoked = constantEvent('AliasOverrideRevoked', {});

/** By default, the account acme claims it. */
export const domainClaimed = (
  domain: string,
  sequence: number,
  token: string,
  attributes: EventAttributes = {},
  data: Partial<Data<'DomainClaimed'>> = {},
) =>
  eventOf(
    'DomainClaimed',
    domain,
    { token, ...data },
    { sequence, account: 'acme', ...attributes },
  );

export const domainVerified = constantEvent('DomainVerified', { by: 'dns' }, acme);
export const domainChanged = eventWithData('DomainChanged', acme);
export const domainReleased = constantEvent('DomainReleased', {}, acme);

export const someWebhook: Data<'WebhookCreated'> = {
  url: 'https://receiver.example/hook',
  types: null,
  domain: null,
  description: null,
  secret: 'whsec_first',
};

export const webhookCreated = firstEvent('WebhookCreated', someWebhook);

const { secret, ...webhookTerms } = someWebhook;
export const webhookChanged = laterEvent('WebhookChanged', {
  ...{ ...webhookTerms, status: 'enabled', secrets: [{ secret, endsAt: null }] },
});
export const webhookDisabled = (
  id: string,
  sequence: number,
  reason: string,
  attributes: EventAttributes = {},
) => eventOf('WebhookDisabled', id, { reason }, { sequence, account: 'acme', ...attributes });

export const webhookDeleted = constantEvent('WebhookDeleted', {}, acme);

export const someShare: Data<'StatisticsShared'> = {
  link: 'spring',
  tokenHash: 'a-token-hash',
  expiresAt: null,
  passwordHash: null,
  showDestination: false,
};

export const statisticsShared = firstEvent('StatisticsShared', someShare);
export const shareEnded = constantEvent('ShareEnded', { link: someShare.link }, acme);

export const somePerson: Data<'PersonAdded'> = {
  issuer: 'https://id.example.com',
  identity: 'maria',
  name: 'María',
  email: 'maria@example.com',
  role: 'editor',
  source: 'invitation',
};

export const personAdded = firstEvent('PersonAdded', somePerson);
export const personChanged = eventWithData('PersonChanged', acme);
export const personRemoved = constantEvent('PersonRemoved', {}, acme);

/** The event of a person's profile, or of its role in the installation. */
export const withoutAccount = <Event extends LinklogEvent>(event: Event): Event =>
  Object.fromEntries(Object.entries(event).filter(([name]) => name !== 'account')) as Event;

export const someInvitation: Data<'InvitationCreated'> = {
  role: 'editor',
  email: null,
  tokenHash: 'a-token-hash',
  expiresAt: at(7 * 86_400).toISOString(),
};

export const invitationCreated = firstEvent('InvitationCreated', someInvitation);
export const invitationAccepted = eventWithData('InvitationAccepted', acme);
export const invitationWithdrawn = constantEvent('InvitationWithdrawn', {}, acme);

export const someUtmTemplate: Data<'UtmTemplateSaved'> = {
  ...{ name: 'Newsletter', source: 'letter', medium: 'email', campaign: null },
  ...{ term: null, content: null },
};

export const utmTemplateSaved = laterEvent('UtmTemplateSaved', someUtmTemplate);
export const utmTemplateDeleted = constantEvent('UtmTemplateDeleted', {}, acme);

export const metered = (keyId: string, sequence: number, calls: number, minute = noon) =>
  eventOf(
    'CallsMetered',
    keyId,
    { minute: minute.toISOString(), calls },
    { sequence, time: at(90) },
  );

export const rendered = (keyId: string, sequence: number, time = noon) =>
  eventOf('QrRendered', keyId, { code: 'abc' }, { sequence, time });

export const maintenanceSwitched = (
  sequence: number,
  on: boolean,
  attributes: EventAttributes = {},
) => eventOf('MaintenanceSwitched', 'platform', { on }, { sequence, ...attributes });

export const featureSwitched = (
  sequence: number,
  feature: Data<'FeatureSwitched'>['feature'],
  on: boolean,
  attributes: EventAttributes = {},
) => eventOf('FeatureSwitched', 'platform', { feature, on }, { sequence, ...attributes });

export const codesCaseChosen = (sequence: number, attributes: EventAttributes = {}) =>
  eventOf('CodesCaseChosen', 'platform', { caseInsensitive: true }, { sequence, ...attributes });

export const projectionWorkRequested = (
  sequence: number,
  projection: string,
  work: Data<'ProjectionWorkRequested'>['work'],
  attributes: EventAttributes = {},
) =>
  eventOf('ProjectionWorkRequested', 'platform', { projection, work }, { sequence, ...attributes });

/** An event as a record of the log. */
export const recordOf = (
  event: LinklogEvent,
): { readonly key: string; readonly value: string } => ({
  key: event.subject,
  value: writeEvent(event),
});

/** A visit as a record of the log, in version 1. */
export const firstVisitRecordOf = ({
  data: { click, bot },
  ...event
}: EventNamed<'LinkVisited'>): ReturnType<typeof recordOf> => {
  const sequence = writeSequence(event.sequence);
  const first = { ...event, type: 'linklog.LinkVisited.v1', sequence, data: { click, bot } };
  return { key: event.subject, value: JSON.stringify(first) };
};

/** Times that four-digit years can write. */
const someTime = fc.date({
  min: new Date('2020-01-01T00:00:00.000Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
});

const timestamp = someTime.map((time) => time.toISOString());
const token = (maxLength: number) => fc.stringMatching(new RegExp(`^[\\w-]{1,${maxLength}}$`));
// X-Request-Id: visible ASCII.
const visible = fc.stringMatching(/^[\x21-\x7e]{1,64}$/);
const actor = fc.oneof(visible, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 64 }));
const anyText = fc.string({ unit: codePoint, maxLength: 60 });
const count = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

/** Random values of a schema of the catalogue. */
const valueOf = (schema: unknown): fc.Arbitrary<unknown> => {
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries<unknown>(schema.shape);
    const required = fields.filter(([, field]) => !(field instanceof z.ZodExactOptional));
    return fc.record(Object.fromEntries(fields.map(([name, field]) => [name, valueOf(field)])), {
      requiredKeys: required.map(([name]) => name),
    });
  }
  // `listOf` checks the length before the elements.
  if (schema instanceof z.ZodPipe) return valueOf(schema.out);
  if (schema instanceof z.ZodExactOptional) return valueOf(schema.unwrap());
  if (schema instanceof z.ZodNullable) return fc.option(valueOf(schema.unwrap()), { nil: null });
  if (schema instanceof z.ZodArray) {
    const bounds = (schema.def.checks ?? []).map((check) => check._zod.def);
    const { minimum = 0 } = Object.assign({}, ...bounds) as { readonly minimum?: number };
    return fc.array(valueOf(schema.element), { minLength: minimum, maxLength: minimum + 2 });
  }
  if (schema instanceof z.ZodRecord) {
    const bounds = { maxKeys: 3, noNullPrototype: true };
    return fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), valueOf(schema.valueType), bounds);
  }
  if (schema instanceof z.ZodUnion) return fc.oneof(...schema.options.map(valueOf));
  if (schema instanceof z.ZodEnum) return fc.constantFrom(...schema.options);
  if (schema instanceof z.ZodLiteral) return fc.constantFrom(...schema.values);
  if (schema instanceof z.ZodBoolean) return fc.boolean();
  if (schema instanceof z.ZodNumber) {
    return fc.integer({ min: schema.minValue ?? 0, max: schema.maxValue ?? 0 });
  }
  if (schema instanceof z.ZodISODateTime) return timestamp;
  if (schema instanceof z.ZodString) {
    const [check] = schema.def.checks ?? [];
    const { pattern } = (check?._zod.def ?? {}) as { readonly pattern?: RegExp };
    return pattern ? fc.stringMatching(pattern) : anyText;
  }
  throw new Error('the catalogue has a schema without random values');
};

const hexadecimal = (length: number): fc.Arbitrary<string> =>
  fc
    .string({
      unit: fc.constantFrom(...Array.from('0123456789abcdef')),
      minLength: length,
      maxLength: length,
    })
    .filter((text) => /[^0]/.test(text));

/** In the form of version 00. */
export const someTraceparent: fc.Arbitrary<string> = fc
  .tuple(hexadecimal(32), hexadecimal(16), fc.constantFrom('00', '01', '02', '03'))
  .map(([traceId, parentId, flags]) => `00-${traceId}-${parentId}-${flags}`);

const someMetadata = fc.record(
  {
    id: fc.oneof(fc.uuid({ version: 7 }), count.map(String)),
    subject: token(50),
    time: someTime,
    sequence: count,
    source: token(20).map(spoolSource),
    account: token(64),
    actor,
    correlationId: visible,
    causationId: fc.uuid({ version: 7 }),
    traceparent: someTraceparent,
    client: visible,
  },
  { requiredKeys: ['id', 'subject', 'time', 'sequence'] },
);

export const someEventNamed = (name: EventName): fc.Arbitrary<LinklogEvent> =>
  fc
    .tuple(valueOf(catalogue[name].data), someMetadata)
    .map(([data, attributes]) => newEvent(name, data as never, attributes));

export const someEvent: fc.Arbitrary<LinklogEvent> = fc.oneof(
  ...(Object.keys(catalogue) as EventName[]).map(someEventNamed),
);
