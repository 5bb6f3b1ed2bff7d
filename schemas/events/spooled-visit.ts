import { z } from 'zod';
import { catalogue, type EventNamed } from './catalogue.js';
import { writeSequence } from './envelope.js';

type Data = EventNamed<'LinkVisited'>['data'];

/** A character that JSON does not escape. */
const text = '[^"\\\\\\u0000-\\u001f]';
const { type, data: dataSchema } = catalogue.LinkVisited;
const time = z.regexes.datetime({ precision: 3 }).source.slice(1, -1);

/** The fields that may be null in a visit of a spool. */
type FieldName = Exclude<keyof Data, 'click' | 'bot'>;

interface Field {
  readonly name: FieldName;
  readonly isNumber: boolean;
  /** The text before the value. */
  readonly start: string;
  /** The regular expression of the value, with one group. */
  readonly layout: string;
}

const fieldOf = (name: FieldName, schema: z.core.$ZodType): Field => {
  const { type: valueType, enum: words, pattern } = z.toJSONSchema(schema);
  const isNumber = valueType === 'integer';
  const value = words?.join('|') ?? pattern?.slice(1, -1) ?? `${text}*`;
  return {
    ...{ name, isNumber, start: `,"${name}":` },
    layout: isNumber ? '(?:null|([1-9]\\d{0,14}))' : `(?:null|"(${value})")`,
  };
};

const fields = Object.entries(dataSchema.shape).flatMap(([name, schema]) =>
  name !== 'click' && schema instanceof z.ZodNullable
    ? [fieldOf(name as FieldName, schema.unwrap())]
    : [],
);

const layout = new RegExp(
  `${[
    `^{"specversion":"1\\.0","id":"([1-9]\\d{0,15})","type":"${type.replaceAll('.', '\\.')}"`,
    `"source":"(${text}+)"`,
    `"subject":"(${text}+)"`,
    `"time":"(${time})"`,
    `"datacontenttype":"application/json"`,
    `"sequence":"(\\d{16})"`,
    `"account":"(${text}+)"(?:,"correlationid":"(${text}+)")?`,
    `"data":{"click":null,"bot":(true|false)`,
  ].join(',')}${fields.map(({ start, layout: value }) => start + value).join('')}}}$`,
);

/** A visit of a spool, before it is an event. It never contains the visitor's address. */
export interface NewVisit {
  /** The subject of a link, which needs no escape in JSON. */
  readonly subject: string;
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
const write = (value: string | number | null): string =>
  typeof value === 'string' ? `"${value}"` : String(value);

/**
 * Writes the event of a visit as `writeEvent` does, in a fifth of the time. Its id is its sequence, which is unique in
 * its source.
 */
export const writeSpooledVisit = (visit: NewVisit, source: string, sequence: number): string => {
  const { subject, account, at, requestId, data } = visit;
  if (at !== last.at) Object.assign(last, { at, time: new Date(at).toISOString() });
  const correlation =
    requestId === undefined ? '' : `,"correlationid":${JSON.stringify(requestId)}`;
  let event =
    `{"specversion":"1.0","id":"${sequence}","type":"${type}","source":"${source}","subject":"${subject}"` +
    `,"time":"${last.time}","datacontenttype":"application/json","sequence":"${writeSequence(sequence)}"` +
    `,"account":${JSON.stringify(account)}${correlation},"data":{"click":null,"bot":${data.bot}`;
  for (const { name, start } of fields) event += start + write(data[name]);
  return `${event}}}`;
};

/** The group of the first field in `layout`. */
const firstField = 9;

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
  const sequence = Number(digits);
  if (sequence < 1 || !Number.isSafeInteger(sequence)) return null;
  const data: Record<string, unknown> = { click: null, bot: bot === 'true' };
  fields.forEach(({ name, isNumber }, index) => {
    const value = found[firstField + index];
    data[name] = value === undefined ? null : isNumber ? Number(value) : value;
  });
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
    data: data as Data,
  };
};

/**
 * The most visits that a spool ships together. It ships the next portion when the log has this one, so at most this
 * many visits of a spool may be missing in one partition while later ones are in another.
 */
export const maxPortion = 2_000;
