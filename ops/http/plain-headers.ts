import type { IncomingHttpHeaders } from 'node:http';

/** What a handler of the lane may look at. */
const keptNames = [
  ...['user-agent', 'referer', 'accept-language', 'x-forwarded-for', 'x-request-id'],
  ...['dnt', 'sec-gpc', 'sec-purpose', 'purpose', 'x-purpose', 'x-moz'],
] as const;

/** What node:http or its parser act on. `Connection` may ask for what is done anyway. */
const actedNames = [
  ...['content-length', 'transfer-encoding', 'trailer', 'te', 'expect'],
  ...['connection', 'proxy-connection', 'keep-alive', 'upgrade'],
];

type Use = 'keep' | 'act' | 'host';
interface KnownName {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly use: Use;
}

const [space, colon, carriageReturn, lineFeed, lastPrintable] = [0x20, 0x3a, 0x0d, 0x0a, 0x7e];
/** The bit that makes a letter lower case. Whatever else may stand in a name has it anyway. */
const lowerCase = 0x20;

/** By byte: what a name may consist of. */
const inName = new Uint8Array(256);
for (let byte = 0; byte < 0x80; byte += 1) {
  if (/[A-Za-z0-9-]/.test(String.fromCharCode(byte))) inName[byte] = 1;
}

/** The hash of a name that has one byte more. */
const hashed = (hash: number, byte: number): number => ((hash << 5) | (hash >>> 27)) ^ byte;

const byHash = (names: readonly string[], use: Use): [hash: number, name: KnownName][] =>
  names.map((name) => {
    const bytes = Buffer.from(name);
    return [bytes.reduce(hashed, 0), { name, bytes, use }];
  });

/** No two of them have the same hash. */
const knownNames = new Map([
  ...byHash(keptNames, 'keep'),
  ...byHash(actedNames, 'act'),
  ...byHash(['host'], 'host'),
]);

/** Whether the expected bytes, or a part of them, stand at a place of a request, in whose bytes `bit` is set first. */
export const stands = (
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

/** A header as it stands in a request. */
interface Line {
  from: number;
  /** After its line end. */
  to: number;
  /** Of a header that is kept, or `host`; `null`: nobody looks at it. */
  readonly name: string | null;
  /** Of a header that is kept. */
  readonly value: string;
}

/** The header that begins there; `null` where node:http has to judge. */
const readLine = (bytes: Buffer, from: number): Line | null => {
  let at = from;
  let byte = bytes[at] ?? 0;
  let hash = 0;
  while (inName[byte] === 1) {
    hash = hashed(hash, byte | lowerCase);
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
  const found = knownNames.get(hash);
  const isKnown =
    found?.bytes.length === nameEnd - from &&
    stands(bytes, from, found.bytes, 0, found.bytes.length, lowerCase);
  if (!isKnown) return { from, to, name: null, value: '' };
  const { name, use } = found;
  if (use === 'host') return { from, to, name, value: '' };
  const value = bytes.toString('latin1', valueAt, at);
  if (use === 'keep') return { from, to, name, value };
  return name === 'connection' && value === 'keep-alive'
    ? { from, to, name: null, value: '' }
    : null;
};

/** `null` where node:http has to judge: it knows how headers that come twice are joined. */
const headersOf = (lines: readonly Line[]): IncomingHttpHeaders | null => {
  const headers: Record<string, string> = {};
  let hosts = 0;
  for (const { name, value } of lines) {
    if (name === 'host') hosts += 1;
    else if (name !== null) {
      if (headers[name] !== undefined) return null;
      headers[name] = value;
    }
  }
  return hosts === 1 ? headers : null;
};

const nothing = Buffer.alloc(0);

/**
 * Reads the headers of a connection's requests, most of which are like those before: a line that stands where it
 * stood is not read again, and where all do, the same object is returned. `null` where node:http has to judge.
 *
 * `from`: where the first header begins; they end with the bytes.
 */
export const createHeaderReader = () => {
  /** Of the last request, in which the lines stand: no more than its bytes are kept of a connection. */
  let known: Buffer = nothing;
  const lines: Line[] = [];
  let headers: IncomingHttpHeaders | null = null;

  const forget = (): null => {
    known = nothing;
    lines.length = 0;
    headers = null;
    return null;
  };

  return (bytes: Buffer, from: number): IncomingHttpHeaders | null => {
    let at = from;
    let count = 0;
    while (bytes[at] !== carriageReturn) {
      const last = lines[count];
      if (last && stands(bytes, at, known, last.from, last.to)) {
        const { from: before, to } = last;
        last.from = at;
        at += to - before;
        last.to = at;
      } else {
        const line = readLine(bytes, at);
        if (!line) return forget();
        lines[count] = line;
        headers = null;
        at = line.to;
      }
      count += 1;
    }
    if (at !== bytes.length - 2 || bytes[at + 1] !== lineFeed) return forget();
    known = bytes;
    if (count < lines.length) {
      lines.length = count;
      headers = null;
    }
    headers ??= headersOf(lines);
    return headers;
  };
};
