const seed = 0x9747b28c;
const m = 0x5bd1e995;

/** Murmur2 as Kafka's own clients compute it, so that every producer agrees on a key's partition. */
export const murmur2 = (bytes: Uint8Array): number => {
  const { length } = bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, length);
  let hash = seed ^ length;
  let index = 0;
  for (; index + 4 <= length; index += 4) {
    let word = Math.imul(view.getUint32(index, true), m);
    word = Math.imul(word ^ (word >>> 24), m);
    hash = Math.imul(hash, m) ^ word;
  }
  const rest = length - index;
  if (rest > 0) {
    for (let tail = rest - 1; tail >= 0; tail -= 1) {
      hash ^= view.getUint8(index + tail) << (8 * tail);
    }
    hash = Math.imul(hash, m);
  }
  hash = Math.imul(hash ^ (hash >>> 13), m);
  return hash ^ (hash >>> 15);
};

/** The partition of a key in a topic with `count` partitions: Kafka's default partitioner. */
export const partitionOf = (key: string | Uint8Array, count: number): number => {
  if (count === 1) return 0;
  return (murmur2(typeof key === 'string' ? Buffer.from(key) : key) & 0x7fffffff) % count;
};
