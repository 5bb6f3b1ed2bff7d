/** The bytes of an import file as text: gzip, byte order marks, UTF-16, UTF-8 and windows-1252. */
import { isAscii } from 'node:buffer';
import { createGunzip } from 'node:zlib';
import { ImportFileFault } from './source-record.js';

export interface DecodeLimits {
  /** Size of the file before decompression, in bytes. */
  readonly maxBytes: number;
}

type Bytes = AsyncIterable<Uint8Array>;

/** How much larger than `maxBytes` a file can be after decompression. */
const maxExpansion = 20;

/** Bytes per call of zlib. Deflate expands at most 1,032 times, so one call returns at most 17 MB. */
const inflateBytes = 16_384;

/** The bytes 0x80 to 0x9F in windows-1252. Some versions of Node decode them as Latin-1. */
const windows1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/** Collects chunks until they have `length` bytes, so that the start of the file is in one chunk. */
async function* joinStart(chunks: Bytes, length: number): AsyncIterable<Uint8Array> {
  let start: Buffer | null = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (start === null) {
      yield chunk;
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length < length) continue;
    yield start;
    start = null;
  }
  if (start !== null) yield start;
}

/** What zlib can read of a damaged file comes before the fault. */
async function* gunzip(chunks: Bytes, maxBytes: number): AsyncIterable<Uint8Array> {
  const stream = createGunzip();
  const output: Buffer[] = [];
  const state = { size: 0, isDamaged: false };
  stream.on('data', (chunk: Buffer) => {
    output.push(chunk);
    state.size += chunk.length;
  });
  const closed = new Promise<void>((resolve) => {
    stream.on('error', () => {
      state.isDamaged = true;
    });
    stream.on('close', resolve);
  });
  try {
    for await (const chunk of chunks) {
      for (let start = 0; start < chunk.length && !state.isDamaged; start += inflateBytes) {
        const written = new Promise((resolve) =>
          stream.write(chunk.subarray(start, start + inflateBytes), resolve),
        );
        await Promise.race([written, closed]);
        if (state.size > maxBytes) {
          throw new ImportFileFault(`The decompressed file is larger than ${maxBytes} bytes.`);
        }
        yield* output.splice(0);
      }
      if (state.isDamaged) break;
    }
    stream.end();
    await closed;
    yield* output.splice(0);
    if (state.isDamaged) throw new ImportFileFault('The gzip file is incomplete or damaged.');
  } finally {
    stream.destroy();
  }
}

async function* inflate(chunks: Bytes, maxBytes: number): AsyncIterable<Uint8Array> {
  const joined = joinStart(chunks, 3)[Symbol.asyncIterator]();
  const first = await joined.next();
  if (first.done === true) return;
  const file = (async function* () {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => joined };
  })();
  const isGzip = first.value[0] === 0x1f && first.value[1] === 0x8b && first.value[2] === 8;
  yield* isGzip ? gunzip(file, maxBytes) : file;
}

/** Whether the bytes start with a complete character of UTF-8 outside ASCII. */
const startsWithUtf8 = (bytes: Uint8Array): boolean =>
  [2, 3, 4].some((length) => {
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
        bytes.subarray(0, length),
      );
      return length <= bytes.length && text !== '';
    } catch {
      return false;
    }
  });

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');

type Decode = (bytes: Uint8Array, options?: { readonly stream: boolean }) => string;

const decodeWindows1252: Decode = (bytes) =>
  latin1(bytes).replace(
    /[\u0080-\u009f]/g,
    (char) => windows1252[char.charCodeAt(0) - 0x80] ?? char,
  );

const decoderOf = (encoding: string): Decode => {
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  return (bytes, options) => decoder.decode(bytes, options);
};

/** The encoding that a byte order mark names. */
const encodingOf = (start: Uint8Array): { encoding: string; markLength: number } | null => {
  const [first, second, third] = start;
  if (first === 0xff && second === 0xfe) return { encoding: 'utf-16le', markLength: 2 };
  if (first === 0xfe && second === 0xff) return { encoding: 'utf-16be', markLength: 2 };
  const isUtf8 = first === 0xef && second === 0xbb && third === 0xbf;
  return isUtf8 ? { encoding: 'utf-8', markLength: 3 } : null;
};

/**
 * Decodes text without a byte order mark. The first character outside ASCII decides: if it is not UTF-8, the text is
 * windows-1252. Later bytes that are not UTF-8 become U+FFFD.
 */
async function* decodeUnmarked(chunks: Bytes): AsyncIterable<string> {
  let decode: Decode | null = null;
  /** Up to three bytes: the start of the first character outside ASCII. */
  let undecided = new Uint8Array(0);
  for await (const chunk of chunks) {
    if (decode) {
      yield decode(chunk, { stream: true });
      continue;
    }
    const bytes: Uint8Array = undecided.length > 0 ? Buffer.concat([undecided, chunk]) : chunk;
    const position = isAscii(bytes) ? -1 : bytes.findIndex((byte) => byte >= 0x80);
    const ascii = position < 0 ? bytes : bytes.subarray(0, position);
    yield latin1(ascii);
    const rest = bytes.subarray(ascii.length);
    undecided = Uint8Array.from(rest.subarray(0, 4));
    if (rest.length < 4) continue;
    decode = startsWithUtf8(rest) ? decoderOf('utf-8') : decodeWindows1252;
    yield decode(rest, { stream: true });
  }
  if (decode === null) decode = startsWithUtf8(undecided) ? decoderOf('utf-8') : decodeWindows1252;
  else undecided = new Uint8Array(0);
  yield decode(undecided);
}

/**
 * Decodes an import file.
 *
 * @returns text without a byte order mark; a chunk can be empty and can end within a line
 * @throws ImportFileFault if a gzip file is damaged, after its readable part, or larger than 20 times `maxBytes` when
 *   decompressed
 */
export async function* decodeFile(chunks: Bytes, limits: DecodeLimits): AsyncIterable<string> {
  const bytes = joinStart(inflate(chunks, maxExpansion * limits.maxBytes), 3)[
    Symbol.asyncIterator
  ]();
  const first = await bytes.next();
  if (first.done === true) return;
  const mark = encodingOf(first.value);
  const file = (async function* () {
    yield first.value.subarray(mark?.markLength ?? 0);
    yield* { [Symbol.asyncIterator]: () => bytes };
  })();
  if (mark === null) {
    yield* decodeUnmarked(file);
    return;
  }
  const decode = decoderOf(mark.encoding);
  for await (const chunk of file) yield decode(chunk, { stream: true });
  yield decode(new Uint8Array(0));
}
