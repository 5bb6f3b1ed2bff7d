/** Records that all readers build in the same way. */
import type { SourceLink, SourceRecord } from './source-record.js';

/** Characters of a text in an `invalid` record. */
const maxShown = 200;

/** Characters of a value that a message quotes. */
const maxQuoted = 100;

/** How a text has a byte that is not valid in its encoding: half a surrogate pair, which no record may have. */
export const markOf = (byte: number): string => String.fromCharCode(0xdc00 + byte);

/** Why a text cannot be stored; `null`: it can be. PostgreSQL stores neither U+0000 nor half a surrogate pair. */
export const storageFault = (text: string): string | null => {
  if (text.isWellFormed() && !text.includes('\0')) return null;
  const byte = /[\udc00-\udcff]/u.exec(text)?.[0].charCodeAt(0);
  return byte === undefined
    ? 'a character that cannot be stored: U+0000 or half a surrogate pair'
    : `the byte 0x${(byte - 0xdc00).toString(16).toUpperCase().padStart(2, '0')}, which is not valid in the encoding of the file`;
};

/** The start of a text, which can be stored. */
export const cut = (text: string, length: number): string =>
  text.slice(0, length).replaceAll(/[\0\ud800-\udfff]/gu, '?');

/** A value as a message quotes it. */
export const quote = (text: string): string =>
  text.length > maxQuoted ? `"${cut(text, maxQuoted)}…"` : `"${cut(text, maxQuoted)}"`;

/** Code and URL of a record, as far as they are known. */
export interface KnownLink {
  readonly code?: string | null;
  readonly url?: string | null;
}

export const invalidRecord = (
  row: number,
  message: string,
  { code, url }: KnownLink = {},
): Extract<SourceRecord, { readonly type: 'invalid' }> => ({
  ...{ type: 'invalid', row },
  code: code ? cut(code, maxShown) : null,
  url: url ? cut(url, maxShown) : null,
  message,
});

export const emptyLink: SourceLink = {
  ...{ code: '', isCustom: true, domain: null, url: '', title: null, note: null, tags: [] },
  ...{ createdAt: null, startsAt: null, expiresAt: null, maxClicks: null, clicks: 0 },
  ...{ disabled: false, hasPassword: false, forwardQuery: false, rules: [], messages: [] },
};

/** The strings of a JSON value. */
const textsOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
};

/** The link, or an `invalid` record if it has no code, no URL, or what cannot be stored. @param fault another fault */
export const linkRecord = (
  row: number,
  link: SourceLink,
  fault: string | null = null,
): SourceRecord => {
  const { code, domain, url, title, note, tags, rules } = link;
  // The separator keeps halves of a surrogate pair apart.
  const stored = storageFault(
    [code, domain, url, title, note, ...tags, ...textsOf(rules)].join(' '),
  );
  if (stored !== null) return invalidRecord(row, `The row has ${stored}.`, link);
  if (fault !== null) return invalidRecord(row, fault, link);
  if (url === '') return invalidRecord(row, 'The row has no destination URL.', link);
  if (code === '') return invalidRecord(row, 'The row has no code.', link);
  return { type: 'link', row, link };
};

/** How to read the text of a value. */
export interface Kind<T> {
  /** Completes "It is not …". */
  readonly name: string;
  /** `null`: the text is no such value. */
  readonly read: (text: string) => T | null;
}

/** Reads the values of a record. */
export class RecordValues {
  /** About values that were left out. */
  readonly messages: string[] = [];
  /** The first value that makes the record invalid. */
  fault: string | null = null;

  /**
   * @param restricts whether the link without the value is wider than its original: the record is invalid then
   * @returns `null` if the text is empty, or no such value
   */
  read<T>(
    name: string,
    text: string | null | undefined,
    kind: Kind<T>,
    restricts = false,
  ): T | null {
    const trimmed = text?.trim() ?? '';
    if (trimmed === '') return null;
    const value = kind.read(trimmed);
    if (value !== null) return value;
    const message = `The value ${quote(trimmed)} of ${quote(name)} is not ${kind.name}`;
    if (restricts) this.fault ??= `${message}.`;
    else this.messages.push(`${message}. It was left out.`);
    return null;
  }
}

/** Tag of links that are archived at their source, where they still redirect. */
export const archivedTag = 'archived';
