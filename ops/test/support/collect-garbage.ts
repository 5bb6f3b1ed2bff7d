/**
 * Preloaded into a product (`NODE_OPTIONS=--import=…`), so that its memory can be compared: on SIGUSR2 it
 * collects all its garbage.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** Collects all garbage of this process. */
export const collectGarbage = runInNewContext('gc') as () => void;
process.on('SIGUSR2', collectGarbage);
