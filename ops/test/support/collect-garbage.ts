/** Preloaded into a product (`NODE_OPTIONS=--import=…`) to compare its memory: collects garbage on SIGUSR2. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
export const collectGarbage = runInNewContext('gc') as () => void;
process.on('SIGUSR2', collectGarbage);
