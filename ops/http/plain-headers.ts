import type { IncomingHttpHeaders } from 'node:http';

/** The headers that a fast path gets. */
const handlerNames = [
  ...['host', 'user-agent', 'referer', 'accept-language', 'x-request-id', 'traceparent'],
  ...['x-forwarded-for', 'x-forwarded-host'],
  ...['dnt', 'sec-gpc', 'sec-purpose', 'purpose', 'x-purpose', 'x-moz'],
] as const;

/** Headers that node:http or its parser interprets. Only `Connection: keep-alive` has no effect. */
const protocolNames = [
  ...['content-length', 'transfer-encoding', 'trailer', 'te', 'expect'],
  ...['connection', 'proxy-connection', 'keep-alive', 'upgrade'],
];

type Use = 'handler' | 'protocol';
interface KnownName {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly use: Use;
}

const [space, colon, carriageReturn, lineFeed, lastPrintable] = [0x20, 0x3a, 0x0d, 0x0a, 0x7e];
/** The bit that makes a letter lower case. All other characters of names have it. */
const lowerCase = 0x20;

/** Whether a name may contain a byte (1). The index is the byte. */
const inName = new Uint8Array(256);
for (let byte = 0; byte < 0x80; byte += 1) {
  if (/[A-Za-z0-9-]/.test(String.fromCharCode(byte))) inName[byte] = 1;
}

/** Adds a byte to the hash of a name. */
const addToHash = (hash: number, byte: number): number => ((hash << 5) | (hash >>> 27)) ^ byte;

const byHash = (names: readonly string[], use: Use): [hash: number, name: KnownName][] =>
  names.map((name) => {
    const bytes = Buffer.from(name);
    return [bytes.reduce(addToHash, 0), { name, bytes, use }];
  });

/** Their hashes are distinct. */
const knownNames = new Map([
  ...byHash(handlerNames, 'handler'),
  ...byHash(protocolNames, 'protocol'),
]);

/** Whether a request has the expected bytes (or their range) at an offset, after `bit` is set in each of its bytes. */
export const matches = (
  bytes: Buffer,
  at: number,
  expected: Uint8Array,
  from = 0,
  to = expected.length,
  bit = 0,
): boolean => {
  for (let index = from; index < to; index += 1) {
    if (expected[index] !== ((bytes[at + index - from] ?? 0) | bit)) return false;
  }
  return true;
};

interface Line {
  from: number;
  /** The position after its line end. */
  to: number;
  /** `null` if the handler does not get the header. */
  readonly name: string | null;
  readonly value: string;
}

/** Parses the header line at an offset; `null` if the request must fall back to node:http. */
const readLine = (bytes: Buffer, from: number): Line | null => {
  let at = from;
  let byte = bytes[at] ?? 0;
  let hash = 0;
  while (inName[byte] === 1) {
    hash = addToHash(hash, byte | lowerCase);
    at += 1;
    byte = bytes[at] ?? 0;
  }
  if (byte !== colon || at === from) return null;
  const nameEnd = at;

  at += 1;
  if (bytes[at] === space) at += 1;
  const valueAt = at;
  byte = bytes[at] ?? 0;
  while (byte >= space && byte <= lastPrintable) {
    at += 1;
    byte = bytes[at] ?? 0;
  }
  const isPlain =
    at > valueAt &&
    byte === carriageReturn &&
    bytes[at + 1] === lineFeed &&
    bytes[valueAt] !== space &&
    bytes[at - 1] !== space;
  if (!isPlain) return null;

  const to = at + 2;
  const known = knownNames.get(hash);
  const isKnown =
    known?.bytes.length === nameEnd - from &&
    matches(bytes, from, known.bytes, 0, known.bytes.length, lowerCase);
  if (!isKnown) return { from, to, name: null, value: '' };
  const { name, use } = known;
  const value = bytes.toString('latin1', valueAt, at);
  if (use === 'handler') return { from, to, name, value };
  return name === 'connection' && value === 'keep-alive'
    ? { from, to, name: null, value: '' }
    : null;
};

/** `null` if the request must fall back to node:http, because a header is repeated or Host is missing. */
const headersOf = (lines: readonly Line[]): IncomingHttpHeaders | null => {
  const headers: Record<string, string> = {};
  for (const { name, value } of lines) {
    if (name === null) continue;
    if (headers[name] !== undefined) return null;
    headers[name] = value;
  }
  return headers['host'] === undefined ? null : headers;
};

const nothing = Buffer.alloc(0);

/**
 * Parses the headers of a connection's requests, most of which have the same headers: equal lines are not parsed again,
 * and for equal headers it returns the same object. `null` if the request must fall back to node:http.
 */
export const createHeaderReader = () => {
  /** The last request. `lines` are offsets in it. */
  let previous: Buffer = nothing;
  const lines: Line[] = [];
  let headers: IncomingHttpHeaders | null = null;

  const reset = (): null => {
    previous = nothing;
    lines.length = 0;
    headers = null;
    return null;
  };

  /** @param from the offset of the first header; the headers extend to the end of the bytes */
  return (bytes: Buffer, from: number): IncomingHttpHeaders | null => {
    let at = from;
    let count = 0;
    while (bytes[at] !== carriageReturn) {
      const last = lines[count];
      if (last && matches(bytes, at, previous, last.from, last.to)) {
        const { from: before, to } = last;
        last.from = at;
        at += to - before;
        last.to = at;
      } else {
        const line = readLine(bytes, at);
        if (!line) return reset();
        lines[count] = line;
        headers = null;
        at = line.to;
      }
      count += 1;
    }
    if (at !== bytes.length - 2 || bytes[at + 1] !== lineFeed) return reset();
    previous = bytes;
    if (count < lines.length) {
      lines.length = count;
      headers = null;
    }
    headers ??= headersOf(lines);
    return headers;
  };
};
