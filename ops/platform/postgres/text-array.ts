const textType = 25;
const headBytes = 20;

/**
 * Texts as one parameter, of type `text[]`, in PostgreSQL's binary format. The driver writes an array of strings as
 * one text, in which it escapes each quote and PostgreSQL looks for it again: for JSON most of an insert's cost.
 */
export const textArray = (texts: readonly string[]): Buffer => {
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + length, headBytes));
  // One dimension, no nulls, the elements' type, how many, the index of the first.
  [1, 0, textType, texts.length, 1].forEach((value, index) => bytes.writeInt32BE(value, 4 * index));
  let at = headBytes;
  texts.forEach((text, index) => {
    at = bytes.writeInt32BE(lengths[index] ?? 0, at);
    at += bytes.write(text, at);
  });
  return bytes;
};
