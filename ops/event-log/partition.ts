const seed = 0x9747b28c;
const m = 0x5bd1e995;

/** The Murmur2 hash of the bytes from `start` to `end` (exclusive), as Kafka's clients compute it. */
export const murmur2 = (bytes: Uint8Array, start = 0, end = bytes.length): number => {
  const length = end - start;
  const at = (index: number): number => bytes[start + index] ?? 0;
  let hash = seed ^ length;
  let index = 0;
  for (; index + 4 <= length; index += 4) {
    const bits = at(index) | (at(index + 1) << 8) | (at(index + 2) << 16) | (at(index + 3) << 24);
    let word = Math.imul(bits, m);
    word = Math.imul(word ^ (word >>> 24), m);
    hash = Math.imul(hash, m) ^ word;
  }
  const rest = length - index;
  if (rest > 0) {
    for (let tail = rest - 1; tail >= 0; tail -= 1) hash ^= at(index + tail) << (8 * tail);
    hash = Math.imul(hash, m);
  }
  hash = Math.imul(hash ^ (hash >>> 13), m);
  return hash ^ (hash >>> 15);
};

/** Reused, because a Buffer for each key takes several times as long as its hash. */
const keyBytes = new Uint8Array(256);

const murmur2Of = (key: string): number => {
  const { length } = key;
  if (length > keyBytes.length) return murmur2(Buffer.from(key));
  for (let index = 0; index < length; index += 1) {
    const unit = key.charCodeAt(index);
    if (unit > 0x7f) return murmur2(Buffer.from(key));
    keyBytes[index] = unit;
  }
  return murmur2(keyBytes, 0, length);
};

/** Kafka's default partitioner. */
const partitionOfHash = (hash: number, count: number): number => (hash & 0x7fffffff) % count;

export const partitionOf = (key: string | Uint8Array, count: number): number => {
  if (count === 1) return 0;
  return partitionOfHash(typeof key === 'string' ? murmur2Of(key) : murmur2(key), count);
};
