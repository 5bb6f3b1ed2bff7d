import { headBytes, writeHead } from './binary-array.js';

const textType = 25;

/**
 * Encodes strings and UTF-8 bytes as `text[]` in PostgreSQL's binary format. The escapes of quotes in an array literal would
 * be most of the cost of an insert of JSON.
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
