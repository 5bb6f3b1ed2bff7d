import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const bytesOfOne = 16;
const random = new Uint8Array(256 * bytesOfOne);
let used = random.length;

/** A new UUIDv7. 16 random bytes cost as much as 4,096 of them. */
export const newId = (): string => {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += bytesOfOne;
  return uuidv7({ random: random.subarray(used - bytesOfOne, used) });
};
