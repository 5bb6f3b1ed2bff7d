import { setTimeout as sleep } from 'node:timers/promises';
import type { Product } from '../support/product.js';

/** Option of Node for a product of which `collectGarbageOf` is called. */
export const preloaded = `--import=${new URL('../support/collect-garbage.js', import.meta.url).href}`;

export const collectGarbageOf = async ({ pid }: Product): Promise<void> => {
  for (let round = 0; round < 3; round += 1) {
    process.kill(pid, 'SIGUSR2');
    await sleep(2_000);
  }
};
