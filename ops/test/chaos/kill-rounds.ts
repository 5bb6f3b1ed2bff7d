import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedProduct, type Product } from '../support/product.js';
import { temporaryDir } from '../support/process.js';
import { startLoad, type Pace } from './load.js';
import { LogCopy } from './log-copy.js';
import { catchUpFromTable } from './log-sources.js';
import { noPromises } from './promises.js';
import { seededRandom } from '../support/random.js';
import { checkEverything } from './check.js';
import { issueLoadKeys, writePlans } from './setup.js';

/** Every third round kills only Node: its PostgreSQL continues as an orphan. */
const orphanEvery = 3;

/** The load of a round, and the range of its duration, ms. */
interface RoundLoad {
  readonly pace: Pace;
  readonly shortestMs: number;
  readonly longestMs: number;
}

/** As fast as the product responds, for a short time. */
const burst: RoundLoad = {
  pace: {
    creations: { perSecond: 600, clients: 6 },
    visits: { perSecond: 10_000, clients: 24 },
  },
  shortestMs: 200,
  longestMs: 2_500,
};

/** Long enough for caches, compaction and segments to exist at the kill. */
export const steady: RoundLoad = {
  pace: { creations: { perSecond: 3, clients: 3 }, visits: { perSecond: 150, clients: 12 } },
  shortestMs: 20_000,
  longestMs: 90_000,
};

/**
 * Kills the product (-9) under load in each round, at times that the seed chooses, restarts it and checks all promises.
 *
 * @returns the broken promises
 */
export const killRounds = async (options: {
  readonly rounds: number;
  readonly seed: number;
  readonly load?: RoundLoad;
  /** No round starts after this time. */
  readonly withinMs?: number;
  readonly onRound?: (line: string) => void;
}): Promise<readonly string[]> => {
  const { pace, shortestMs, longestMs } = options.load ?? burst;
  const deadline = performance.now() + (options.withinMs ?? Infinity);
  const random = seededRandom(options.seed);
  const [dataDir, plans] = [await temporaryDir(), await temporaryDir()];
  const env = { PLANS_FILE: await writePlans(plans), LOG_LEVEL: 'error' };
  const start = (): Promise<Product> => startEmbeddedProduct({ dataDir, env });
  const promises = noPromises();
  let product = await start();
  try {
    const keys = await issueLoadKeys(product);
    const log = new LogCopy();
    for (let round = 1; round <= options.rounds && performance.now() < deadline; round += 1) {
      const stop = startLoad({ target: product, keys, promises, random }, pace);
      await sleep(random.between(shortestMs, longestMs));
      // Requests in flight meet the kill.
      const ended = stop();
      if (round % orphanEvery === 0) process.kill(product.pid, 'SIGKILL');
      else await product.killTree();
      await ended;
      product = await start();
      await checkEverything({
        ...{ target: product, keys, promises, random, log },
        ...{ catchUp: catchUpFromTable, env: { DATA_DIR: dataDir } },
      });
      const { links, failedVisits, broken } = promises;
      options.onRound?.(
        `round ${round}: ${links.length} links, ${failedVisits} failed visits, ${broken.length} broken`,
      );
      if (broken.length > 0) break;
    }
    await product.stop();
  } finally {
    await product.cleanup();
    for (const dir of [dataDir, plans]) await rm(dir, { recursive: true, force: true });
  }
  return promises.broken;
};
