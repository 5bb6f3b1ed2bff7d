/** The bytes of an import file as text: gzip, byte order marks and encodings. */
import { isAscii } from 'node:buffer';
import { createGunzip } from 'node:zlib';
import { ImportFileFault, markOf } from './records.js';

interface DecodeOptions {
  /** Size of the file before decompression, in bytes. */
  readonly maxBytes: number;
  /** The encoding of the file; `undefined`: it is detected. */
  readonly encoding?: string | undefined;
}

type Bytes = AsyncIterable<Uint8Array>;

/** Characters of UTF-8 outside ASCII. Patterns have bytes as characters of Latin-1. */
const utf8Character =
  '[\\xc2-\\xdf][\\x80-\\xbf]|\\xe0[\\xa0-\\xbf][\\x80-\\xbf]|\\xed[\\x80-\\x9f][\\x80-\\xbf]|' +
  '[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]{2}|\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}|\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2}|' +
  '[\\xf1-\\xf3][\\x80-\\xbf]{3}';

/** How much larger than `maxBytes` a file can be after decompression. */
const maxExpansion = 20;

/** Bytes per call of zlib. Deflate expands at most 1,032 times, so one call returns at most 17 MB. */
const inflateBytes = 16_384;

/** The bytes 0x80 to 0x9F in windows-1252. Some versions of Node decode them as Latin-1. */
const windows1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/** The values of an iterable, and another one at its end, or before its error. */
async function* withLast<T>(values: AsyncIterable<T>, last: () => T): AsyncIterable<T> {
  try {
    yield* values;
  } catch (error) {
    yield last();
    throw error;
  }
  yield last();
}

/** Joins chunks to at least `length` bytes each, except the last one. */
const join = (chunks: Bytes, length: number): AsyncIterable<Buffer> => {
  let joined: Uint8Array[] = [];
  let size = 0;
  const take = (): Buffer => {
    const bytes = Buffer.concat(joined);
    [joined, size] = [[], 0];
    return bytes;
  };
  const complete = async function* (): AsyncIterable<Buffer> {
    for await (const chunk of chunks) {
      joined.push(chunk);
      size += chunk.length;
      if (size >= length) yield take();
    }
  };
  return withLast(complete(), take);
};

/** The values of an iterator after a first one. */
export async function* prepend<T>(first: T, rest: AsyncIterator<T>): AsyncIterable<T> {
  yield first;
  yield* { [Symbol.asyncIterator]: () => rest };
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
  const joined = join(chunks, 3)[Symbol.asyncIterator]();
  const first = await joined.next();
  if (first.done === true) return;
  const [id1, id2, method] = first.value;
  const file = prepend(first.value, joined);
  const isGzip = id1 === 0x1f && id2 === 0x8b && method === 8;
  yield* isGzip ? gunzip(file, maxBytes) : file;
}

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');

type Decode = (bytes: Buffer) => string;

const decodeWindows1252: Decode = (bytes) =>
  latin1(bytes).replace(
    /[\u0080-\u009f]/g,
    (char) => windows1252[char.charCodeAt(0) - 0x80] ?? char,
  );

const decodeUtf16: Decode = (bytes) =>
  bytes.toString('utf16le') + (bytes.length % 2 === 0 ? '' : markOf(bytes.at(-1) ?? 0).repeat(2));

const decodeUtf16be: Decode = (bytes) => {
  const even = bytes.length & ~1;
  return decodeUtf16(
    Buffer.concat([Buffer.from(bytes.subarray(0, even)).swap16(), bytes.subarray(even)]),
  );
};

/** The characters outside ASCII of encodings in which they have several bytes. */
const characters = new Map([
  ['utf-8', utf8Character],
  ['shift_jis', '[\\xa1-\\xdf]|[\\x81-\\x9f\\xe0-\\xfc][\\x40-\\x7e\\x80-\\xfc]'],
  ['euc-jp', '\\x8e[\\xa1-\\xdf]|\\x8f?[\\xa1-\\xfe]{2}'],
  ['gb18030', '\\x80|[\\x81-\\xfe](?:[\\x40-\\x7e\\x80-\\xfe]|[0-9][\\x81-\\xfe][0-9])'],
  ['big5', '[\\x81-\\xfe][\\x40-\\x7e\\xa1-\\xfe]'],
  ['euc-kr', '[\\x81-\\xfe][\\x41-\\xfe]'],
]);

/** Stands for invalid bytes while a text is decoded. */
const placeholder = '\x01';

/** Decodes an encoding of which ASCII is a part, and marks bytes that are not valid. */
const decodeMarking = (encoding: string): Decode => {
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  const character = characters.get(encoding);
  const isUtf8 = encoding === 'utf-8';
  // ICU decodes invalid bytes of EUC and Big5 as control characters, or as U+F8F8.
  const invalid = /^euc-|^big5/.test(encoding) ? /[\ufffd\x80-\x9f\uf8f8]/ : /\ufffd/;
  const known = new Map<string, boolean>();
  const isValid = (bytes: string): boolean => {
    const found = known.get(bytes) ?? !invalid.test(decoder.decode(Buffer.from(bytes, 'latin1')));
    if (bytes.length < 4) known.set(bytes, found);
    return found;
  };
  const pattern = new RegExp(`(${character ?? '[\\x80-\\xff]'})|[${placeholder}\\x80-\\xff]`, 'g');
  return (bytes) => {
    const text = decoder.decode(bytes);
    if (!invalid.test(text)) return text;
    const replaced: string[] = [];
    const clean = latin1(bytes).replaceAll(pattern, (match, valid?: string) => {
      if (valid !== undefined && (isUtf8 || isValid(valid))) return match;
      replaced.push(match === placeholder ? match : markOf(match.charCodeAt(0)));
      return placeholder + match.slice(1).replaceAll(/[^\0-\x7f]/g, '');
    });
    let index = -1;
    return decoder.decode(Buffer.from(clean, 'latin1')).replaceAll(placeholder, () => {
      index += 1;
      return replaced[index] ?? '';
    });
  };
};

/** Marks bytes that are not valid. */
export const decodeUtf8 = decodeMarking('utf-8');

const decoderOf = (encoding: string): Decode => {
  if (encoding === 'utf-8') return decodeUtf8;
  if (encoding === 'windows-1252' || encoding === 'iso-8859-1') return decodeWindows1252;
  if (encoding === 'utf-16be') return decodeUtf16be;
  return encoding === 'utf-16le' ? decodeUtf16 : decodeMarking(encoding);
};

/** Bytes that are decoded in one event-loop iteration. */
const blockBytes = 16_384;

/**
 * The number of bytes that end with a whole character. No character of several bytes has one below 0x30.
 *
 * @param from where the last block begins; before it, there is no such end
 */
const wholeCharacters = (bytes: Buffer, from: number, encoding: string): number => {
  if (encoding.startsWith('utf-16')) return bytes.length & ~1;
  if (!characters.has(encoding)) return bytes.length;
  const isUtf8 = encoding === 'utf-8';
  const last = bytes
    .subarray(from)
    .findLastIndex((byte) => byte < 0x30 || (isUtf8 && (byte < 0x80 || byte >= 0xc0)));
  if (last >= 0) return from + last + ((bytes[from + last] ?? 0) < 0x80 ? 1 : 0);
  // No text has so many characters without white space and punctuation.
  return isUtf8 || bytes.length > blockBytes ? bytes.length : 0;
};

const decodeAs = (encoding: string, pieces: AsyncIterable<Buffer>): AsyncIterable<string> => {
  const decode = decoderOf(encoding);
  let rest = Buffer.alloc(0);
  const blocks = async function* (): AsyncIterable<string> {
    for await (const piece of pieces) {
      for (let start = 0; start < piece.length; start += blockBytes) {
        const bytes = Buffer.concat([rest, piece.subarray(start, start + blockBytes)]);
        const end = wholeCharacters(bytes, rest.length, encoding);
        yield decode(bytes.subarray(0, end));
        rest = bytes.subarray(end);
      }
    }
  };
  return withLast(blocks(), () => decode(rest));
};

const encodingOfMark = (start: Uint8Array): { encoding: string; markLength: number } | null => {
  const [first, second, third] = start;
  if (first === 0xff && second === 0xfe) return { encoding: 'utf-16le', markLength: 2 };
  if (first === 0xfe && second === 0xff) return { encoding: 'utf-16be', markLength: 2 };
  const isUtf8 = first === 0xef && second === 0xbb && third === 0xbf;
  return isUtf8 ? { encoding: 'utf-8', markLength: 3 } : null;
};

/** The start of a file that decides about its encoding, in bytes. */
const sampleBytes = 1_048_576;

/** Decodes text without a byte order mark: ASCII as it arrives, then UTF-8 or windows-1252. */
async function* decodeUnmarked(pieces: AsyncIterable<Buffer>): AsyncIterable<string> {
  const iterator = pieces[Symbol.asyncIterator]();
  try {
    let left = sampleBytes;
    let next = await iterator.next();
    for (; left > 0 && next.done !== true && isAscii(next.value); next = await iterator.next()) {
      yield latin1(next.value);
      left -= next.value.length;
    }
    if (next.done === true) return;
    // A character can begin with the last byte of the sample.
    const length = Math.max(0, left) + 3;
    const joined = join(prepend(next.value, iterator), length)[Symbol.asyncIterator]();
    const start = await joined.next();
    if (start.done === true) return;
    const sample = start.value.subarray(0, length);
    const isUtf8 =
      isAscii(sample.subarray(0, length - 3)) || new RegExp(utf8Character).test(latin1(sample));
    yield* decodeAs(isUtf8 ? 'utf-8' : 'windows-1252', prepend(start.value, joined));
  } finally {
    await iterator.return?.();
  }
}

/**
 * Decodes an import file.
 *
 * @returns text without a byte order mark; a chunk can be empty and can end within a line
 * @throws ImportFileFault if a gzip file is damaged, after its readable part, or larger than 20 times `maxBytes` when
 *   decompressed
 */
export async function* decodeFile(chunks: Bytes, options: DecodeOptions): AsyncIterable<string> {
  const { maxBytes, encoding } = options;
  const pieces = join(inflate(chunks, maxExpansion * maxBytes), blockBytes / 2)[
    Symbol.asyncIterator
  ]();
  const first = await pieces.next();
  if (first.done === true) return;
  const found = encodingOfMark(first.value);
  const file = prepend(first.value.subarray(found?.markLength ?? 0), pieces);
  const named = encoding ?? found?.encoding;
  yield* named === undefined ? decodeUnmarked(file) : decodeAs(named, file);
}
