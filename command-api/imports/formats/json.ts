/**
 * Readers of JSON listings and JSON Lines.
 *
 * The objects are split here and not by a library: streaming parsers end at the first malformed object. Here the
 * objects after it are read.
 */
import { z } from 'zod';
import { redirectRule } from '../../../schemas/redirect-rules.js';
import { trimInvisible } from '../../../schemas/trim-invisible.js';
import {
  archivedTag,
  emptyLink,
  invalidRecord,
  linkRecord,
  quote,
  RecordValues,
  storageFault,
  type Kind,
  type KnownLink,
} from './records.js';
import { rescanBudget, scan, type Scanner } from './scan.js';
import { readShortUrl } from './short-url.js';
import {
  ImportFileFault,
  maxRecordLength,
  type ReaderOptions,
  type SourceLink,
  type SourceReader,
  type SourceRecord,
} from './source-record.js';
import { readTime } from './times.js';

/** An object of the file, or why it has none. */
type JsonRecord = { readonly value: object } | { readonly fault: string };

const tooLong = `The record does not end within ${maxRecordLength.toLocaleString('en')} characters.`;
const malformed = 'The record is not a JSON object.';

const [quoteMark, backslash, openBrace, closeBrace] = [34, 92, 123, 125];

/** The position after the object that starts at `start`; -1: it does not end before `end`. */
const objectEnd = (text: string, start: number, end: number): number => {
  let [depth, isString] = [0, false];
  for (let position = start; position < end; position += 1) {
    const char = text.charCodeAt(position);
    if (isString) {
      if (char === backslash) position += 1;
      else if (char === quoteMark) isString = false;
    } else if (char === quoteMark) isString = true;
    else if (char === openBrace) depth += 1;
    else if (char === closeBrace) {
      depth -= 1;
      if (depth === 0) return position + 1;
    }
  }
  return -1;
};

/** Raw control characters, which JSON does not allow in strings, are read as spaces. */
const parseObject = (text: string): JsonRecord => {
  if (!text.isWellFormed()) return { fault: `The record has ${storageFault(text)}.` };
  for (const json of [text, text.replaceAll(/[\u0001-\u001f]/g, ' ')]) {
    try {
      const value: unknown = JSON.parse(json);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      return isObject ? { value } : { fault: malformed };
    } catch {
      continue;
    }
  }
  return { fault: malformed };
};

/** An object whose `links` or `data` is a list. Its members before that have no nested objects with objects. */
const listing =
  /\{\s*(?:"[^"\\]*"\s*:\s*(?:"(?:[^"\\]|\\[^])*"|\{[^{}]*\}|[^\s,"{}[\]]+)\s*,\s*)*"(?:links|data)"\s*:\s*\[/y;

/** Characters from the start of a listing that `listing` gets, unless the file ends before. */
const minHeadLength = 8_192;

const matchAt = (pattern: RegExp, text: string, position: number): number => {
  pattern.lastIndex = position;
  return pattern.test(text) ? pattern.lastIndex : -1;
};

/** What separates values. */
const separators = /[\s,\ufeff]+/y;

/** The next object of a list after a malformed one. */
const nextObject = /\}\s*,\s*(?=\{)/g;

/** The next value of a list after a value that is not an object. */
const nextValue = /[,\]{]/g;

const lineEnd = /\r\n|\r|\n/g;

/** Where the scanner is: between the values of the file, in a list, after the list of a listing, or in a skipped value. */
type Mode = 'file' | 'list' | 'listing end' | 'skip object' | 'skip line';

interface ObjectScanner {
  readonly scanner: Scanner<JsonRecord>;
  /** Whether the end of the text is within a list. */
  readonly isIncomplete: () => boolean;
}

/** Reads the objects of arrays, of listings, and of lines. */
const objectScanner = (): ObjectScanner => {
  const takeRescan = rescanBudget();
  let mode: Mode = 'file';
  let isListing = false;

  const skip = (next: number): { item: null; next: number } => ({ item: null, next });

  /** One line of JSON Lines. */
  const readLine: Scanner<JsonRecord> = (text, position, isEnd) => {
    const end = matchAt(lineEnd, text, position);
    if (end < 0 && text.length - position <= maxRecordLength && !isEnd) return null;
    const next = end < 0 ? text.length : end;
    if (end < 0 && !isEnd) mode = 'skip line';
    const isLonger = next - position > maxRecordLength;
    const item = isLonger ? { fault: tooLong } : parseObject(text.slice(position, next));
    return { item, next };
  };

  /** One object of a list. */
  const readElement: Scanner<JsonRecord> = (text, position, isEnd) => {
    const limit = Math.min(text.length, position + maxRecordLength);
    const end = objectEnd(text, position, limit);
    if (end < 0 && limit === text.length && !isEnd) return null;
    if (end < 0) {
      takeRescan(limit - position);
      mode = 'skip object';
      return { item: { fault: tooLong }, next: position + 1 };
    }
    const item = parseObject(text.slice(position, end));
    if ('value' in item) return { item, next: end };
    const next = matchAt(nextObject, text, position);
    if (next < 0 || next > end) return { item, next: end };
    takeRescan(end - next);
    return { item, next };
  };

  const readInList: Scanner<JsonRecord> = (text, position, isEnd) => {
    if (text.startsWith('{', position)) return readElement(text, position, isEnd);
    if (text.startsWith(']', position)) {
      mode = isListing ? 'listing end' : 'file';
      return skip(position + 1);
    }
    const next = matchAt(nextValue, text, position);
    if (next < 0 && !isEnd && text.length - position <= maxRecordLength) return null;
    return { item: { fault: malformed }, next: next < 0 ? text.length : next - 1 };
  };

  const scanner: Scanner<JsonRecord> = (text, position, isEnd) => {
    if (mode === 'skip line') {
      const end = matchAt(lineEnd, text, position);
      if (end >= 0) mode = 'file';
      return skip(end < 0 ? text.length : end);
    }
    if (mode === 'skip object') {
      const next = matchAt(nextObject, text, position);
      if (next >= 0) mode = 'list';
      // The brace and the comma between two objects can be at the end of the text.
      const brace = text.lastIndexOf('}');
      if (next >= 0 || isEnd) return skip(next < 0 ? text.length : next);
      const isCut = brace >= position && ['', ','].includes(text.slice(brace + 1).trim());
      if (!isCut || text.length - brace > maxRecordLength) return skip(text.length);
      return brace === position ? null : skip(brace);
    }
    const value = matchAt(separators, text, position);
    if (value >= 0) return skip(value);
    switch (mode) {
      case 'list':
        return readInList(text, position, isEnd);
      case 'listing end': {
        // The members after the list, such as `pagination`, end with the object.
        const members = `{${text.slice(position, position + maxRecordLength)}`;
        const end = objectEnd(members, 0, members.length);
        if (end < 0 && !isEnd && text.length - position <= maxRecordLength) return null;
        mode = 'file';
        return skip(end < 0 ? text.length : position + end - 1);
      }
      case 'file': {
        if (!isEnd && text.length - position < minHeadLength) return null;
        if (text.startsWith('[', position)) {
          [mode, isListing] = ['list', false];
          return skip(position + 1);
        }
        const list = matchAt(listing, text, position);
        if (list < 0) return readLine(text, position, isEnd);
        [mode, isListing] = ['list', true];
        return skip(list);
      }
    }
  };
  return { scanner, isIncomplete: () => mode === 'list' || mode === 'listing end' };
};

/** The first object at the start of a file; `null` if it has none. */
export const firstObject = (head: string): object | null => {
  const { scanner } = objectScanner();
  // The number of steps is bounded, so that malformed objects do not use up the budget of the scanner.
  for (let [position, steps] = [0, 0]; position < head.length && steps < 100; steps += 1) {
    const step = scanner(head, position, true);
    if (step === null) return null;
    const { item, next } = step;
    if (item && 'value' in item) return item.value;
    position = next;
  }
  return null;
};

/** How to read the objects of a format. */
interface JsonFormat<T> {
  readonly name: string;
  readonly schema: z.ZodType<T>;
  /** Code and URL of an object that the schema rejects. */
  readonly knownOf: (object: object) => KnownLink;
  readonly toRecords: (object: T, row: number, options: ReaderOptions) => readonly SourceRecord[];
  /** Whether an empty file has no links. Otherwise it is a fault. */
  readonly canBeEmpty: boolean;
}

/** The field of an object that may have it, if it is a string. */
export const textOf = (object: object, field: string): string | null => {
  const value: unknown = new Map<string, unknown>(Object.entries(object)).get(field);
  return typeof value === 'string' ? value : null;
};

const toRecords = <T>(
  row: number,
  object: object,
  format: JsonFormat<T>,
  options: ReaderOptions,
): readonly SourceRecord[] => {
  const parsed = format.schema.safeParse(object);
  if (parsed.success) return format.toRecords(parsed.data, row, options);
  const path = parsed.error.issues[0]?.path.join('.') ?? '';
  return [invalidRecord(row, `The record has no valid ${quote(path)}.`, format.knownOf(object))];
};

export const jsonReader = <T>(format: JsonFormat<T>): SourceReader =>
  async function* (text, options) {
    const { scanner, isIncomplete } = objectScanner();
    const file = { isStart: true };
    const checked: Scanner<JsonRecord> = (buffer, position, isEnd) => {
      if (file.isStart) {
        const start = /[^\s\ufeff]/.exec(buffer);
        if (start && !'[{'.includes(start[0])) {
          throw new ImportFileFault(
            `The file is no ${format.name}: it does not start with [ or {.`,
          );
        }
        file.isStart = start === null;
        if (file.isStart) return { item: null, next: buffer.length };
      }
      return scanner(buffer, position, isEnd);
    };
    for await (const { row, item } of scan(text, checked)) {
      if ('fault' in item) yield invalidRecord(row, item.fault);
      else yield* toRecords(row, item.value, format, options);
    }
    if (file.isStart && !format.canBeEmpty) throw new ImportFileFault('The file is empty.');
    if (isIncomplete()) throw new ImportFileFault('The file ends within its list of links.');
  };

/** Times of a file; those without an offset are in `zone`. */
export const timesIn = (zone: string): Kind<string> => ({
  name: 'a time',
  read: (text) => readTime(text, zone),
});

/** A format of which each object is one link, or several ones. */
interface LinkFormat<T> extends Pick<JsonFormat<T>, 'name' | 'schema' | 'canBeEmpty'> {
  /** The fields with code and URL. */
  readonly known: { readonly code: string; readonly url: string };
  readonly toLinks: (
    object: T,
    values: RecordValues,
    times: Kind<string>,
  ) => readonly Omit<SourceLink, 'messages'>[];
}

const linkReader = <T>({ known, toLinks, ...format }: LinkFormat<T>): SourceReader =>
  jsonReader({
    ...format,
    knownOf: (object) => ({ code: textOf(object, known.code), url: textOf(object, known.url) }),
    toRecords: (object, row, { linkZone }) => {
      const values = new RecordValues();
      const { messages } = values;
      const links = toLinks(object, values, timesIn(linkZone));
      return links.map((link) => linkRecord(row, { ...link, messages }, values.fault));
    },
  });

export const optionalText = z.string().nullish();

/** The longest list in a record, far above what a link may have. */
const maxValues = 1_000;

/** A list in a record. Only its first error is found, because a record has room for 30,000 of them. */
export const recordList = <Item extends z.ZodType>(item: Item) =>
  z.array(z.unknown()).transform((values, context): z.output<Item>[] => {
    const read: z.output<Item>[] = [];
    const fail = (path: readonly PropertyKey[]): never => {
      context.addIssue({ code: 'custom', path: [...path] });
      return z.NEVER;
    };
    if (values.length > maxValues) return fail([]);
    for (const [index, value] of values.entries()) {
      const parsed = item.safeParse(value);
      if (!parsed.success) return fail([index, ...(parsed.error.issues[0]?.path ?? [])]);
      read.push(parsed.data);
    }
    return read;
  });

export const optionalTexts = recordList(z.string()).nullish();

/** Databases have 0 and 1. */
const flag = z.union([z.boolean(), z.int()]).nullish().transform(Boolean);

export const count = z
  .int()
  .min(0)
  .nullish()
  .transform((value) => value ?? 0);

const kuttLink = z.object({
  address: z.string(),
  target: z.string(),
  description: optionalText,
  domain: optionalText,
  link: optionalText,
  created_at: optionalText,
  /** Without offset, if Kutt's database is SQLite. */
  expire_in: optionalText,
  visit_count: count,
  banned: flag,
  password: z.union([z.boolean(), z.int(), z.string()]).nullish().transform(Boolean),
});

/** The listing of Kutt's API, or its links as an array or JSON Lines. */
export const readKuttJson: SourceReader = linkReader({
  name: 'JSON of Kutt',
  schema: kuttLink,
  known: { code: 'address', url: 'target' },
  canBeEmpty: false,
  toLinks: (kutt, values, times) => [
    {
      ...emptyLink,
      code: kutt.address,
      domain: kutt.domain?.toLowerCase() ?? readShortUrl(kutt.link ?? '').domain,
      url: trimInvisible(kutt.target),
      title: kutt.description ?? null,
      createdAt: values.read('created_at', kutt.created_at, times),
      expiresAt: values.read('expire_in', kutt.expire_in, times, true),
      clicks: kutt.visit_count,
      disabled: kutt.banned,
      hasPassword: kutt.password,
    },
  ],
});

const bitlyLink = z.object({
  id: optionalText,
  link: optionalText,
  custom_bitlinks: optionalTexts,
  /** Some links of Bitly have none. */
  long_url: optionalText,
  title: optionalText,
  created_at: optionalText,
  archived: flag,
  tags: optionalTexts,
  deeplinks: recordList(z.unknown()).nullish(),
});

/** The listing of Bitly's API. The random code counts only if a link has no custom one: printed links have those. */
export const readBitlyJson: SourceReader = linkReader({
  name: 'JSON of Bitly',
  schema: bitlyLink,
  known: { code: 'id', url: 'long_url' },
  canBeEmpty: false,
  toLinks: (bitly, values, times) => {
    const custom = (bitly.custom_bitlinks ?? []).filter((short) => short.trim() !== '');
    if (bitly.deeplinks?.length) values.messages.push('Deep links are not imported.');
    const link = {
      ...emptyLink,
      url: trimInvisible(bitly.long_url ?? ''),
      title: bitly.title ?? null,
      tags: [...(bitly.tags ?? []), ...(bitly.archived ? [archivedTag] : [])],
      createdAt: values.read('created_at', bitly.created_at, times),
    };
    return (custom.length > 0 ? custom : [bitly.link ?? bitly.id ?? '']).map((short) => ({
      ...link,
      ...readShortUrl(short),
    }));
  },
});

const linklogLink = z.object({
  domain: optionalText,
  code: z.string(),
  /** `null`: the code was generated. */
  alias: optionalText,
  url: z.string(),
  title: optionalText,
  note: optionalText,
  tags: optionalTexts,
  createdAt: optionalText,
  startsAt: optionalText,
  expiresAt: optionalText,
  maxClicks: z.int().nullish(),
  clicks: count,
  disabled: flag,
  rules: recordList(redirectRule).nullish(),
  forwardQuery: flag,
  hasPassword: flag,
});

/** Our export as JSON Lines. */
export const readLinklog: SourceReader = linkReader({
  name: 'export of Linklog',
  schema: linklogLink,
  known: { code: 'code', url: 'url' },
  canBeEmpty: true,
  toLinks: (link, values, times) => [
    {
      code: link.code,
      isCustom: link.alias !== null,
      domain: link.domain?.toLowerCase() ?? null,
      url: link.url,
      title: link.title ?? null,
      note: link.note ?? null,
      tags: link.tags ?? [],
      createdAt: values.read('createdAt', link.createdAt, times),
      startsAt: values.read('startsAt', link.startsAt, times, true),
      expiresAt: values.read('expiresAt', link.expiresAt, times, true),
      maxClicks: link.maxClicks ?? null,
      clicks: link.clicks,
      disabled: link.disabled,
      hasPassword: link.hasPassword,
      forwardQuery: link.forwardQuery,
      rules: link.rules ?? [],
    },
  ],
});
