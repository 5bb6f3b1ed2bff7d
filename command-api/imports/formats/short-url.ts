/** Where a short link is: its domain and its code. */
interface ShortUrl {
  /** The host in lower case without port; `null` if the text has none. */
  readonly domain: string | null;
  readonly code: string;
}

/** The longest host with a port, in characters. */
const maxHostLength = 260;

/** A host with a dot, or one with a port: `go.example/abc`, `localhost:8080/abc`. */
const isHost = (text: string): boolean => {
  if (text.length > maxHostLength || /[?#\s]/.test(text)) return false;
  const dot = text.indexOf('.', 1);
  const hasDot = dot > 0 && dot < text.length - 1;
  return hasDot || (/^[\w.:[\]-]+$/.test(text) && /.:\d+$/.test(text));
};

const urlWithHost = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)(.*)$/is;

/** Percent-decoded, if its encoding is correct. */
const decodePercent = (text: string): string => {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** The host of an authority, in lower case; `null` if it is empty. */
export const domainOf = (authority: string): string | null =>
  authority
    .slice(authority.lastIndexOf('@') + 1)
    .replace(/:\d*$/, '')
    .toLowerCase() || null;

/** The code has neither the slash before it, one slash after it, nor a query. */
const codeOfPath = (path: string): string => {
  const [code = ''] = path.split(/[?#]/, 1);
  return decodePercent(code.replace(/^\/+/, '').replace(/\/$/, ''));
};

/** White space of ASCII is not part of a code. Other white space is, so that it is not removed silently. */
const trimAscii = (text: string): string => {
  const isSpace = (index: number): boolean => ' \t\r\n'.includes(text.charAt(index));
  let [start, end] = [0, text.length];
  while (start < end && isSpace(start)) start += 1;
  while (end > start && isSpace(end - 1)) end -= 1;
  return text.slice(start, end);
};

/**
 * Reads a code, a path, `host/code` or a URL.
 *
 * @param known the domain, if it is known: then a text without a scheme and with another host is a code or a path
 */
export const readShortUrl = (text: string, known: string | null = null): ShortUrl => {
  const trimmed = trimAscii(text);
  const url = urlWithHost.exec(trimmed);
  if (url) return { domain: domainOf(url[1] ?? ''), code: codeOfPath(url[2] ?? '') };
  const slash = trimmed.indexOf('/');
  const host = trimmed.slice(0, Math.max(0, slash));
  const domain = domainOf(host);
  if (slash > 0 && (known === null ? isHost(host) : domain === known)) {
    return { domain, code: codeOfPath(trimmed.slice(slash)) };
  }
  if (trimmed.startsWith('/')) return { domain: null, code: codeOfPath(trimmed) };
  return { domain: null, code: decodePercent(trimmed) };
};
