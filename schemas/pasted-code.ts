import { trimInvisible } from './trim-invisible.js';

/** A short URL with or without its scheme: host, code, and characters that are pasted with it. */
const shortUrl = /^(?:https?:\/\/)?([^\s/?#@]+)\/([^\s/?#]+?)\+?\/?(?:[?#].*)?$/i;

interface Pasted {
  /** Lower case, with the port; `null`: the text is a short code. */
  readonly host: string | null;
  readonly code: string;
}

const read = (text: string): Pasted => {
  const trimmed = trimInvisible(text);
  const [, host, code] = shortUrl.exec(trimmed) ?? [];
  if (host === undefined || code === undefined) return { host: null, code: trimmed };
  return { host: host.toLowerCase(), code };
};

/** The short code in a pasted text, which is a short code or a short URL of any host. */
export const pastedCode = (text: string): string => read(text).code;

/** The short code in a short URL of this installation; `null` for every other text. */
export const codeOfShortUrl = (text: string, shortUrlHost: string): string | null => {
  const { host, code } = read(text);
  return host === new URL(shortUrlHost).host ? code : null;
};
