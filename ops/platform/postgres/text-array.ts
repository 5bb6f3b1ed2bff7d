import { headBytes, writeHead } from './binary-array.js';
import { ByteParts } from './byte-parts.js';

const textType = 25;

/** As `textArray`, of texts and of others' bytes in UTF-8, which are not copied. */
export const textArrayParts = (texts: readonly (string | Buffer | null)[]): ByteParts => {
  const lengths = texts.map((text) => (text === null ? -1 : Buffer.byteLength(text)));
  const ownBytes = lengths.reduce(
    (sum, length, index) => sum + 4 + (typeof texts[index] === 'string' ? length : 0),
    headBytes,
  );
  const bytes = Buffer.allocUnsafe(ownBytes);
  const parts: Buffer[] = [];
  writeHead(bytes, textType, texts.length, texts.includes(null));
  let from = 0;
  let at = headBytes;
  texts.forEach((text, index) => {
    at = bytes.writeInt32BE(lengths[index] ?? 0, at);
    if (typeof text === 'string') at += bytes.write(text, at);
    else if (text !== null) {
      parts.push(bytes.subarray(from, at), text);
      from = at;
    }
  });
  return new ByteParts(from < at ? [...parts, bytes.subarray(from, at)] : parts);
};

/**
 * Texts as one parameter, of type `text[]`, in PostgreSQL's binary format. The driver writes an array of strings as
 * one text, in which it escapes each quote and PostgreSQL looks for it again: for JSON most of an insert's cost.
 */
export const textArray = (texts: readonly (string | null)[]): Buffer => {
  // Without others' bytes there is one.
  const [bytes = Buffer.alloc(0)] = textArrayParts(texts).parts;
  return bytes;
};
