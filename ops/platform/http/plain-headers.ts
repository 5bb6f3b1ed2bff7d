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
/** Of a letter: in lower case. Whatever else may stand in a name has this bit. */
const lowerCase = 0x20;

/** By byte: what a name may consist of. */
const inName = new Uint8Array(256);
for (let byte = 0; byte < 0x80; byte += 1) {
  if (/[A-Za-z0-9-]/.test(String.fromCharCode(byte))) inName[byte] = 1;
}

/** Of a name, with one byte more. */
const hashed = (hash: number, byte: number): number => ((hash << 5) | (hash >>> 27)) ^ byte;

const known = (names: readonly string[], use: Use): [hash: number, name: KnownName][] =>
  names.map((name) => {
    const bytes = Buffer.from(name);
    return [bytes.reduce(hashed, 0), { name, bytes, use }];
  });
/** By hash: no two of them have the same. */
const knownNames = new Map([
  ...known(keptNames, 'keep'),
  ...known(actedNames, 'act'),
  ...known(['host'], 'host'),
]);

/** Whether the expected bytes, or a part of them, stand there; `bit`: those there taken with it. */
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

interface Line {
  readonly bytes: Buffer;
  readonly from: number;
  /** After its line end. */
  readonly to: number;
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
  if (!isKnown) return { bytes, from, to, name: null, value: '' };
  const { name, use } = found;
  if (use === 'host') return { bytes, from, to, name, value: '' };
  const value = bytes.toString('latin1', valueAt, at);
  if (use === 'keep') return { bytes, from, to, name, value };
  return name === 'connection' && value === 'keep-alive'
    ? { bytes, from, to, name: null, value: '' }
    : null;
};

/** `null` where node:http has to judge: it knows how headers that come twice are joined. */
const headersOf = (lines: readonly Line[], count: number): Record<string, string> | null => {
  const headers: Record<string, string> = {};
  let hosts = 0;
  for (let index = 0; index < count; index += 1) {
    const { name = null, value = '' } = lines[index] ?? {};
    if (name === 'host') hosts += 1;
    else if (name !== null) {
      if (headers[name] !== undefined) return null;
      headers[name] = value;
    }
  }
  return hosts === 1 ? headers : null;
};

/**
 * Reads the headers of a connection's requests, each of which is mostly like the one before: what stands in its
 * line there is the same string. The same object, where all are the same. `null` where node:http has to judge.
 *
 * `from`: where the first header begins; they end with the bytes.
 */
export const createHeaderReader = () => {
  const lines: Line[] = [];
  let count = 0;
  let headers: Record<string, string> | null = null;

  return (bytes: Buffer, from: number): IncomingHttpHeaders | null => {
    let at = from;
    let index = 0;
    while (bytes[at] !== carriageReturn) {
      const last = lines[index];
      if (last && stands(bytes, at, last.bytes, last.from, last.to)) {
        at += last.to - last.from;
      } else {
        const line = readLine(bytes, at);
        if (!line) return null;
        lines[index] = line;
        headers = null;
        at = line.to;
      }
      index += 1;
    }
    if (at !== bytes.length - 2 || bytes[at + 1] !== lineFeed) return null;
    if (headers === null || index !== count) headers = headersOf(lines, index);
    count = index;
    return headers;
  };
};
