import { z } from 'zod';
import { catalogue, type EventNamed } from './catalogue.js';
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
