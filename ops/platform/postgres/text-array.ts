import { headBytes, writeHead } from './binary-array.js';

const textType = 25;

/**
 * Texts, some of which may be bytes in UTF-8, as one parameter of type `text[]` in PostgreSQL's binary format. The driver
 * escapes each quote in an array of strings: for JSON that is most of an insert's cost.
 */
export const textArray = (texts: readonly (string | Buffer | null)[]): Buffer => {
  const lengths = texts.map((text) => (text === null ? -1 : Buffer.byteLength(text)));
  const bytes = Buffer.allocUnsafe(
    lengths.reduce((sum, length) => sum + 4 + Math.max(length, 0), headBytes),
  );
  writeHead(bytes, textType, texts.length, texts.includes(null));
  let at = headBytes;
  texts.forEach((text, index) => {
    at = bytes.writeInt32BE(lengths[index] ?? 0, at);
    if (text !== null)
      at += typeof text === 'string' ? bytes.write(text, at) : text.copy(bytes, at);
  });
  return bytes;
};
