import { z } from 'zod';
import { catalogue, type EventNamed } from './catalogue.js';
import { writeSequence } from './envelope.js';
import { browserFamilies, deviceTypes, osFamilies, visitTriggers } from './visitor.js';

type Data = EventNamed<'LinkVisited'>['data'];

/** A character that JSON does not escape. */
const text = '[^"\\\\\\u0000-\\u001f]';
const orNull = (pattern: string): string => `(?:null|"(${pattern})")`;
const oneOf = (words: readonly string[]): string => orNull(words.join('|'));
const { type } = catalogue.LinkVisited;
const time = z.regexes.datetime({ precision: 3 }).source.slice(1, -1);

const layout = new RegExp(
  [
    `^{"specversion":"1\\.0","id":"([1-9]\\d{0,15})","type":"${type.replaceAll('.', '\\.')}"`,
    `"source":"(${text}+)"`,
    `"subject":"(${text}+)"`,
    `"time":"(${time})"`,
    `"datacontenttype":"application/json"`,
    `"sequence":"(\\d{16})"`,
    `"account":"(${text}+)"(?:,"correlationid":"(${text}+)")?`,
    `"data":{"click":null,"bot":(true|false)`,
    `"country":${orNull('[A-Z]{2}')}`,
    `"referrer":${orNull(`${text}*`)}`,
    `"browser":${oneOf(browserFamilies)}`,
    `"os":${oneOf(osFamilies)}`,
    `"device":${oneOf(deviceTypes)}`,
    `"language":${orNull('[a-z]{2,3}')}`,
    `"visitor":${orNull('[\\w-]{16}')}`,
    `"trigger":${oneOf(visitTriggers)}`,
    `"version":(?:null|([1-9]\\d{0,14}))`,
    `"target":${orNull('[\\w-]{1,50}(?:/[\\w-]{1,50})?')}}}$`,
  ].join(','),
);

/** A visit of a spool, before it is an event. It never contains the visitor's address. */
export interface NewVisit {
  /** The subject of a link, which needs no escape in JSON. */
  readonly subject: string;
  /** The account of the link. */
  readonly account: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The id in the visitor's request, if there is one. */
  readonly requestId: string | undefined;
  readonly data: Omit<Data, 'click'>;
}

/** The time of the last visit: most visits have the time of the previous one. */
const last = { at: NaN, time: '' };

/** No text in the data of a visit needs an escape in JSON. */
const quoted = (word: string | null): string => (word === null ? 'null' : `"${word}"`);

/**
 * Writes the event of a visit as `writeEvent` does, in a fifth of the time. Its id is its sequence, which is unique in
 * its source.
 */
export const writeSpooledVisit = (visit: NewVisit, source: string, sequence: number): string => {
  const { subject, account, at, requestId, data } = visit;
  if (at !== last.at) Object.assign(last, { at, time: new Date(at).toISOString() });
  const correlation =
    requestId === undefined ? '' : `,"correlationid":${JSON.stringify(requestId)}`;
  const { bot, country, referrer, browser, os, device, language, visitor, trigger } = data;
  return (
    `{"specversion":"1.0","id":"${sequence}","type":"${type}","source":"${source}","subject":"${subject}"` +
    `,"time":"${last.time}","datacontenttype":"application/json","sequence":"${writeSequence(sequence)}"` +
    `,"account":${JSON.stringify(account)}${correlation},"data":{"click":null,"bot":${bot}` +
    `,"country":${quoted(country)},"referrer":${quoted(referrer)},"browser":${quoted(browser)}` +
    `,"os":${quoted(os)},"device":${quoted(device)},"language":${quoted(language)}` +
    `,"visitor":${quoted(visitor)},"trigger":${quoted(trigger)},"version":${data.version}` +
    `,"target":${quoted(data.target)}}}`
  );
};

/**
 * Reads visits in the form that edges write them, which are nearly all records of a log, in an eighth of the time of
 * parsing and validating. The result equals that of the schemas. `null` for any other text, which may be a valid event,
 * too.
 */
export const readSpooledVisit = (value: string): EventNamed<'LinkVisited'> | null => {
  const found = layout.exec(value);
  if (!found) return null;
  const [, id = '', source = '', subject = '', at = '', digits, account = '', correlationid, bot] =
    found;
  const [country, referrer, browser, os, device, language, visitor, trigger, version, target] =
    found.slice(9);
  const sequence = Number(digits);
  if (sequence < 1 || !Number.isSafeInteger(sequence)) return null;
  return {
    specversion: '1.0',
    id,
    type,
    source,
    subject,
    time: at,
    datacontenttype: 'application/json',
    sequence,
    account,
    ...(correlationid !== undefined && { correlationid }),
    data: {
      click: null,
      bot: bot === 'true',
      country: country ?? null,
      referrer: referrer ?? null,
      browser: browser ?? null,
      os: os ?? null,
      device: device ?? null,
      language: language ?? null,
      visitor: visitor ?? null,
      trigger: trigger ?? null,
      version: version === undefined ? null : Number(version),
      target: target ?? null,
    } satisfies Record<keyof Data, unknown> as Data,
  };
};

/**
 * The most visits that a spool ships together. It ships the next portion when the log has this one, so at most this
 * many visits of a spool may be missing in one partition while later ones are in another.
 */
export const maxPortion = 2_000;
