/** Records that all readers build in the same way. */
import type { SourceLink, SourceRecord } from './source-record.js';

/** Characters of a text in an `invalid` record. */
const maxShown = 2_048;

/** Characters of a value that a message quotes. */
const maxQuoted = 100;

/** PostgreSQL stores neither U+0000 nor unpaired surrogates. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Whether all strings of a JSON value can be stored. */
const isStorableJson = (value: unknown): boolean => {
  let storable = true;
  JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'string' && !isStorable(part)) storable = false;
    return part;
  });
  return storable;
};

const cut = (text: string, length: number): string =>
  text.slice(0, length).replaceAll('\0', '\ufffd').toWellFormed();

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

/** The link, or an `invalid` record if it has no code, no URL, or characters that cannot be stored. */
export const linkRecord = (row: number, link: SourceLink): SourceRecord => {
  if (link.url === '') return invalidRecord(row, 'The row has no destination URL.', link);
  if (link.code === '') return invalidRecord(row, 'The row has no code.', link);
  const { code, domain, url, title, note, tags, rules } = link;
  const texts = [code, domain ?? '', url, title ?? '', note ?? '', ...tags];
  if (texts.every(isStorable) && (rules.length === 0 || isStorableJson(rules))) {
    return { type: 'link', row, link };
  }
  const message = 'The row has a character that cannot be stored: U+0000 or half a surrogate pair.';
  return invalidRecord(row, message, link);
};

/** A value that the reader could not use adds a message. */
export type AddMessage = (message: string) => void;

/** `null` and an empty text: the link has no such time. */
export const readOptionalTime = (
  text: string | null | undefined,
  name: string,
  read: (text: string) => string | null,
  addMessage: AddMessage,
): string | null => {
  if (!text?.trim()) return null;
  const time = read(text);
  if (time === null) addMessage(`The ${name} ${quote(text)} cannot be read and was left out.`);
  return time;
};

/** A whole number, at least 0. */
export const readCount = (
  text: string | undefined,
  name: string,
  addMessage: AddMessage,
): number | null => {
  if (!text?.trim()) return null;
  if (/^\d{1,15}$/.test(text.trim())) return Number(text);
  addMessage(`The ${name} ${quote(text)} is not a whole number and was left out.`);
  return null;
};

/** Tag of links that are archived at their source, where they still redirect. */
export const archivedTag = 'archived';
