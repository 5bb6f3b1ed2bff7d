import { v7 as uuid } from 'uuid';
import type { EventNamed, LinklogEvent } from '../../schemas/events/catalogue.js';
import { newEvent, writeEvent } from '../../schemas/events/codec.js';
import { spoolSource } from '../../schemas/events/envelope.js';
import type { NewRecord } from '../../ops/platform/event-log/port.js';

export const noon = '2026-05-20T12:00:00.000Z';

/** A time so many seconds after noon; before it if negative. */
export const at = (seconds: number): string =>
  new Date(Date.parse(noon) + seconds * 1_000).toISOString();

interface Metadata {
  readonly sequence?: number;
  readonly time?: string;
}

const metadata = (subject: string, { sequence = 1, time = noon }: Metadata) => ({
  id: uuid(),
  subject,
  sequence,
  time: new Date(time),
});

type Creation = EventNamed<'LinkCreated'>['data'];

export const created = (
  code: string,
  { account, sequence, time, ...data }: Partial<Creation> & Metadata & { account?: string } = {},
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
    {
      ...metadata(code, {
        ...(sequence !== undefined && { sequence }),
        ...(time !== undefined && { time }),
      }),
      account,
    },
  );

export const expired = (
  code: string,
  sequence: number,
  reason: 'time' | 'clicks' = 'time',
): EventNamed<'LinkExpired'> => newEvent('LinkExpired', { reason }, metadata(code, { sequence }));

export const blocked = (code: string, sequence: number): EventNamed<'LinkBlocked'> =>
  newEvent('LinkBlocked', { reason: 'phishing' }, metadata(code, { sequence }));

export const unblocked = (code: string, sequence: number): EventNamed<'LinkUnblocked'> =>
  newEvent('LinkUnblocked', { reason: 'a mistake' }, metadata(code, { sequence }));

/** A visit of a link without a limit, numbered by a spool. */
export const visited = (
  code: string,
  {
    spool = 'spool-1',
    bot = false,
    ...rest
  }: Metadata & { readonly spool?: string; readonly bot?: boolean } = {},
): EventNamed<'LinkVisited'> =>
  newEvent(
    'LinkVisited',
    { click: null, bot },
    { ...metadata(code, rest), source: spoolSource(spool) },
  );

export const metered = (
  keyId: string,
  sequence: number,
  calls: number,
  minute = noon,
): EventNamed<'CallsMetered'> =>
  newEvent('CallsMetered', { minute, calls }, metadata(keyId, { sequence, time: at(90) }));

export const rendered = (keyId: string, sequence: number, time = noon): EventNamed<'QrRendered'> =>
  newEvent('QrRendered', { code: 'abc' }, metadata(keyId, { sequence, time }));

export const recordOf = (event: LinklogEvent): NewRecord => ({
  key: event.subject,
  value: writeEvent(event),
});
