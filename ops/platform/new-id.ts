import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const idBytes = 16;
const random = new Uint8Array(256 * idBytes);
let used = random.length;

/** Returns a UUIDv7. Random bytes are generated for 256 ids together, which takes as long as for one. */
export const newId = (): string => {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += idBytes;
  return uuidv7({ random: random.subarray(used - idBytes, used) });
};
