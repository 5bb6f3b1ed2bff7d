import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProduct, type Product } from '../support/product.js';
import { startLoad, type Pace } from './load.js';
import { LogCopy } from './log-copy.js';
import { catchUpFromTable } from './log-sources.js';
import { noPromises } from './promises.js';
import { seededRandom } from '../support/random.js';
import { rebuildAll } from './rebuilds.js';
import { checkEverything } from './check.js';
import { issueLoadKeys, writePlans } from './setup.js';

export interface Round {
  readonly round: number;
  /** Milliseconds under load before the kill. */
  readonly loadMs: number;
  /** Milliseconds from the restart to the ready line. */
  readonly restartMs: number;
  /** Sums since the first round. */
  readonly links: number;
  readonly redirects: number;
  readonly unanswered: number;
  /** Acknowledged changes by operators and owners. */
  readonly changes: number;
  readonly broken: readonly string[];
}

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

const kill = async (product: Product, round: number): Promise<void> => {
  if (round % orphanEvery === 0) process.kill(product.pid, 'SIGKILL');
  else await product.killTree();
};

/**
 * Kills the product (-9) under load in each round, at times that the seed chooses, restarts it and checks all
 * promises. At the end every projection is rebuilt from the log and must be equal.
 */
export const killRounds = async (options: {
  readonly rounds: number;
  readonly seed: number;
  readonly load?: RoundLoad;
  /** No round starts after this time. */
  readonly withinMs?: number;
  readonly onRound?: (round: Round) => void;
}): Promise<readonly string[]> => {
  const { pace, shortestMs, longestMs } = options.load ?? burst;
  const deadline = performance.now() + (options.withinMs ?? Infinity);
  const random = seededRandom(options.seed);
  const dataDir = await mkdtemp(path.join(tmpdir(), 'linklog-chaos-'));
  const plansFile = path.join(tmpdir(), `${path.basename(dataDir)}-plans.json`);
  await writePlans(plansFile);
  const start = (): Promise<Product> =>
    startProduct({ dataDir, env: { PLANS_FILE: plansFile, LOG_LEVEL: 'error' } });
  const promises = noPromises();
  const env = { DATA_DIR: dataDir };
  let product = await start();
  try {
    const keys = await issueLoadKeys(product);
    const log = new LogCopy();
    for (let round = 1; round <= options.rounds && performance.now() < deadline; round += 1) {
      const load = startLoad({ target: product, keys, promises, random, pace });
      const loadMs = random.between(shortestMs, longestMs);
      await sleep(loadMs);
      // Requests in flight meet the kill.
      const ended = load.stop();
      await kill(product, round);
      await ended;
      const restarted = performance.now();
      product = await start();
      const restartMs = performance.now() - restarted;
      await checkEverything({
        ...{ target: product, keys, promises, random, log, env },
        catchUp: catchUpFromTable,
      });
      const { links, broken } = promises;
      options.onRound?.({
        round,
        loadMs,
        restartMs,
        links: links.length,
        redirects: links.reduce((sum, link) => sum + link.redirected, 0),
        unanswered: links.reduce((sum, link) => sum + link.unanswered, 0),
        changes: promises.versions.length + promises.changes.length,
        broken: [...broken],
      });
      if (broken.length > 0) break;
    }
    if (promises.broken.length === 0) promises.broken.push(...(await rebuildAll(env)));
    await product.stop();
  } finally {
    await product.cleanup();
    await rm(dataDir, { recursive: true, force: true });
    await rm(plansFile, { force: true });
  }
  return promises.broken;
};
