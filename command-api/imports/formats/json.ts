/** Readers of JSON listings and JSON Lines. */
import { z } from 'zod';
import type { OptionName } from '../../../schemas/link-options.js';
import { trimInvisible } from '../../../schemas/trim-invisible.js';
import {
  archivedTag,
  ImportFileFault,
  invalidRecord,
  LinkValues,
  quote,
  type KnownLink,
  type ReaderOptions,
  type SourceReader,
  type SourceRecord,
  readOptions,
} from './records.js';
import { objectScanner } from './json-objects.js';
import { scan, scanLength } from './scan.js';
import { readShortUrl } from './short-url.js';
import { readTime } from './times.js';

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

const knownAs =
  (code: string, url: string): JsonFormat<unknown>['knownOf'] =>
  (object) => ({ code: textOf(object, code), url: textOf(object, url) });

export const jsonReader = <T>(format: JsonFormat<T>): SourceReader =>
  async function* ({ head, text }, options) {
    const first = /[^\s\ufeff]/.exec(head)?.[0] ?? '';
    if (first === '' && head.length < scanLength && !format.canBeEmpty) {
      throw new ImportFileFault('The file is empty.');
    }
    if (!'[{'.includes(first)) {
      throw new ImportFileFault(`The file is no ${format.name}: it does not start with [ or {.`);
    }
    const { scanner, isIncomplete } = objectScanner();
    for await (const { row, item } of scan(text, scanner)) {
      if ('fault' in item) {
        yield invalidRecord(row, item.fault);
        continue;
      }
      const parsed = format.schema.safeParse(item.value);
      if (parsed.success) yield* format.toRecords(parsed.data, row, options);
      else {
        const path = parsed.error.issues[0]?.path.join('.') ?? '';
        const message = `The record has no valid ${quote(path)}.`;
        yield invalidRecord(row, message, format.knownOf(item.value));
      }
    }
    if (isIncomplete()) throw new ImportFileFault('The file ends within its list of links.');
  };

/** The values of a record, whose times without an offset are in the zone of the options. */
export const linkValues = (row: number, { linkZone }: ReaderOptions): LinkValues =>
  new LinkValues(row, (text) => readTime(text, linkZone));

export const optionalText = z.string().nullish();

/** The longest list in a record, far above what a link may have. */
const maxValues = 1_000;

/** A list in a record. A longer one is rejected before its items are read: a record has room for 30,000 errors. */
export const recordList = <Item extends z.ZodType>(item: Item) =>
  z.array(z.unknown()).max(maxValues).pipe(z.array(item));

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
  /** The time has no offset if Kutt's database is SQLite. */
  expire_in: optionalText,
  visit_count: count,
  banned: flag,
  password: z.union([z.boolean(), z.int(), z.string()]).nullish().transform(Boolean),
});

/** The listing of Kutt's API, or its links as an array or JSON Lines. */
export const readKuttJson: SourceReader = jsonReader({
  name: 'JSON of Kutt',
  schema: kuttLink,
  knownOf: knownAs('address', 'target'),
  canBeEmpty: false,
  toRecords: (kutt, row, options) => {
    const values = linkValues(row, options);
    const link = {
      code: kutt.address,
      domain: kutt.domain?.toLowerCase() ?? readShortUrl(kutt.link ?? '').domain,
      url: trimInvisible(kutt.target),
      title: kutt.description ?? null,
      createdAt: values.time('created_at', kutt.created_at),
      expiresAt: values.time('expire_in', kutt.expire_in, true),
      clicks: kutt.visit_count,
      disabled: kutt.banned,
      hasPassword: kutt.password,
    };
    return [values.link(link)];
  },
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
export const readBitlyJson: SourceReader = jsonReader({
  name: 'JSON of Bitly',
  schema: bitlyLink,
  knownOf: knownAs('id', 'long_url'),
  canBeEmpty: false,
  toRecords: (bitly, row, options) => {
    const values = linkValues(row, options);
    const custom = (bitly.custom_bitlinks ?? []).filter((short) => short.trim() !== '');
    if (bitly.deeplinks?.length) values.messages.push('Deep links are not imported.');
    const link = {
      url: trimInvisible(bitly.long_url ?? ''),
      title: bitly.title ?? null,
      tags: [...(bitly.tags ?? []), ...(bitly.archived ? [archivedTag] : [])],
      createdAt: values.time('created_at', bitly.created_at),
    };
    const shortUrls = custom.length > 0 ? custom : [bitly.link ?? bitly.id ?? ''];
    return shortUrls.map((short) => values.link({ ...link, ...readShortUrl(short) }));
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
  hasPassword: flag,
  codes: optionalTexts,
  ...(readOptions(() => z.unknown().optional()) as Readonly<Record<OptionName, z.ZodType>>),
});

/** Our export as JSON Lines. */
export const readLinklog: SourceReader = jsonReader({
  name: 'export of Linklog',
  schema: linklogLink,
  knownOf: knownAs('code', 'url'),
  canBeEmpty: true,
  toRecords: (link, row, options) => {
    const values = linkValues(row, options);
    const { code, url, clicks, disabled, hasPassword } = link;
    const fields = {
      ...{ code, url, clicks, disabled, hasPassword },
      isCustom: link.alias !== null,
      domain: link.domain?.toLowerCase() ?? null,
      title: link.title ?? null,
      note: link.note ?? null,
      tags: link.tags ?? [],
      codes: link.codes ?? [],
      createdAt: values.time('createdAt', link.createdAt),
      startsAt: values.time('startsAt', link.startsAt, true),
      expiresAt: values.time('expiresAt', link.expiresAt, true),
      maxClicks: link.maxClicks ?? null,
    };
    return [
      values.link(
        fields,
        readOptions((name) => link[name]),
      ),
    ];
  },
});
