import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const idBytes = 16;

/**
 * Makes UUIDv7s with random bytes drawn for 256 of them at a time: a draw for each would be a third
 * of an append's cost.
 */
export const eventIds = (): (() => string) => {
  const pool = new Uint8Array(256 * idBytes);
  let used = pool.length;
  return () => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const random = pool.subarray(used, used + idBytes);
    used += idBytes;
    return v7({ random });
  };
};
