import { createHash } from 'node:crypto';
import type { EventName, EventNamed } from '../events/catalogue.js';
import { newEvent, type EventMetadata } from '../events/codec.js';

export const noon = new Date('2026-05-20T12:00:00.000Z');

/** A time so many seconds after noon; before it if negative. */
export const at = (seconds: number): Date => new Date(noon.getTime() + seconds * 1_000);

/** A UUIDv7 that is the same in every run: event ids of specs are known beforehand. */
export const idOf = (name: string | number): string => {
  const digits = createHash('sha256').update(String(name)).digest('hex');
  return `01970000-0000-7${digits.slice(0, 3)}-8${digits.slice(3, 6)}-${digits.slice(6, 18)}`;
};

/** Ids in their order: those of `idOf(1)`, `idOf(2)` … */
export const countedIds = (): (() => string) => {
  let last = 0;
  return () => {
    last += 1;
    return idOf(last);
  };
};

/** What an event's envelope says, as far as a specification cares. */
export type Told = Partial<EventMetadata>;

const metadata = (subject: string, told: Told): EventMetadata => {
  const sequence = told.sequence ?? 1;
  return { id: idOf(`${subject} ${sequence}`), subject, time: noon, sequence, ...told };
};

type Data<Name extends EventName> = EventNamed<Name>['data'];

export const created = (
  code: string,
  data: Partial<Data<'LinkCreated'>> = {},
  told: Told = {},
): EventNamed<'LinkCreated'> =>
  newEvent(
    'LinkCreated',
    {
      url: `https://example.com/${code}`,
      custom: false,
      expiresAt: null,
      maxClicks: null,
      passwordHash: null,
      keyId: 'key-1',
      ...data,
    },
    metadata(code, told),
  );

export const visited = (code: string, click: number | null, told: Told = {}) =>
  newEvent('LinkVisited', { click, bot: false }, metadata(code, { sequence: click ?? 1, ...told }));

export const expired = (
  code: string,
  sequence: number,
  reason: Data<'LinkExpired'>['reason'] = 'time',
  told: Told = {},
): EventNamed<'LinkExpired'> =>
  newEvent('LinkExpired', { reason }, metadata(code, { sequence, ...told }));

export const blocked = (
  code: string,
  sequence: number,
  told: Told = {},
): EventNamed<'LinkBlocked'> =>
  newEvent('LinkBlocked', { reason: 'phishing' }, metadata(code, { sequence, ...told }));

export const unblocked = (
  code: string,
  sequence: number,
  told: Told = {},
): EventNamed<'LinkUnblocked'> =>
  newEvent('LinkUnblocked', { reason: 'a mistake' }, metadata(code, { sequence, ...told }));

export const keyHash = 'ab'.repeat(32);

export const keyCreated = (
  id: string,
  data: Partial<Data<'ApiKeyCreated'>> = {},
  told: Told = {},
): EventNamed<'ApiKeyCreated'> =>
  newEvent(
    'ApiKeyCreated',
    { name: 'website', plan: 'HOBBY', account: 'acme', hash: keyHash, ...data },
    metadata(id, { account: 'acme', ...told }),
  );

export const keyChanged = (
  id: string,
  sequence: number,
  data: Data<'ApiKeyChanged'>,
  told: Told = {},
): EventNamed<'ApiKeyChanged'> =>
  newEvent('ApiKeyChanged', data, metadata(id, { sequence, account: 'acme', ...told }));

export const keyRevoked = (
  id: string,
  sequence: number,
  told: Told = {},
): EventNamed<'ApiKeyRevoked'> =>
  newEvent('ApiKeyRevoked', {}, metadata(id, { sequence, account: 'acme', ...told }));

export const maintenanceSwitched = (
  sequence: number,
  on: boolean,
  told: Told = {},
): EventNamed<'MaintenanceSwitched'> =>
  newEvent('MaintenanceSwitched', { on }, metadata('platform', { sequence, ...told }));

export const featureSwitched = (
  sequence: number,
  feature: Data<'FeatureSwitched'>['feature'],
  on: boolean,
  told: Told = {},
): EventNamed<'FeatureSwitched'> =>
  newEvent('FeatureSwitched', { feature, on }, metadata('platform', { sequence, ...told }));

export const overrideGranted = (
  alias: string,
  sequence: number,
  account: string,
  told: Told = {},
): EventNamed<'AliasOverrideGranted'> =>
  newEvent('AliasOverrideGranted', { account }, metadata(alias, { sequence, account, ...told }));

export const overrideRevoked = (
  alias: string,
  sequence: number,
  told: Told = {},
): EventNamed<'AliasOverrideRevoked'> =>
  newEvent('AliasOverrideRevoked', {}, metadata(alias, { sequence, ...told }));
