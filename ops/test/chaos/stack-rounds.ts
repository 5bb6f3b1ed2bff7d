import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Checked, checkEverything, checkLive, untilReady } from './check.js';
import { durationOf, inject, planFaults, type Fault } from './faults.js';
import { startLinkedStack, type LinkedStack } from './linked-stack.js';
import { withLedger } from '../support/ledger-events.js';
import { temporaryDir } from '../support/process.js';
import { eventually } from '../support/waiting.js';
import { startLoad } from './load.js';
import { checkLog } from './log-check.js';
import { LogCopy } from './log-copy.js';
import { catchUpFromKafka } from './log-sources.js';
import { noPromises, type Promises } from './promises.js';
import { seededRandom } from '../support/random.js';
import { issueLoadKeys, writePlans } from './setup.js';

interface StackRoundsOptions {
  /** Kafka brokers. */
  readonly brokers: number;
  /** Processes of each service; 2 by default. */
  readonly nodes?: number;
  readonly faults: number;
  /** Additional rolling restarts of the brokers. */
  readonly rolling?: number;
  readonly seed: number;
  /** The maximum duration of a pause or a link failure; at least 1 s. */
  readonly longestMs: number;
  /** Selects faults; all by default. */
  readonly only?: (fault: Fault) => boolean;
  readonly onProgress?: (line: string) => void;
}

const pace = {
  // Enough clients for responses of 2 s, the deadline without the log.
  creations: { perSecond: 10, clients: 20 },
  visits: { perSecond: 100, clients: 34 },
};

/** The maximum time between the checks and the next fault. */
const pauseMs = 500;
/** Links that are checked on each edge after each fault; at the end, all links are checked. */
const sampledLinks = 200;
/** From the time when every node is ready. */
const creatingWithinMs = 10_000;

/** Injects the fault, waits until the stack is healthy, and checks it. */
const injectAndCheck = async (
  stack: LinkedStack,
  checked: Checked,
  fault: Fault,
  durationMs: number,
): Promise<void> => {
  const { promises, random } = checked;
  const { failedVisits } = promises;
  await inject(stack, fault, durationMs);
  if (fault.type !== 'kill' && fault.part === 'kafka' && promises.failedVisits > failedVisits) {
    promises.broken.push('visits failed without the broker');
  }
  await untilReady(stack);
  const created = promises.links.length;
  const isCreated = (): boolean => promises.links.length > created;
  await eventually('links are created again', isCreated, creatingWithinMs);
  const sample = Array.from({ length: sampledLinks }, () => random.below(promises.links.length));
  await checkLive(
    checked,
    [...new Set(sample)].flatMap((index) => promises.links[index] ?? []),
  );
  await withLedger(stack, (pool) => checkLog({ ...checked, pool }));
};

/**
 * Kills (-9) and pauses every part of a stack under a steady load, and disturbs the links to its servers, one after
 * another. Checks new promises after each fault, and all promises at the end.
 */
export const stackRounds = async (options: StackRoundsOptions): Promise<Promises> => {
  const { brokers, nodes = 2, faults, rolling = 0, seed, longestMs } = options;
  const { only = () => true, onProgress = () => undefined } = options;
  // The load has its own random numbers: their order depends on response times, and faults must repeat.
  const random = seededRandom(seed);
  const plans = await temporaryDir();
  const promises = noPromises();
  const env = { PLANS_FILE: await writePlans(plans), LOG_LEVEL: 'error' };
  const stack = await startLinkedStack({ brokers, nodes }, env);
  let stopLoad: (() => Promise<void>) | undefined;
  try {
    const checked: Checked = {
      target: stack,
      keys: await issueLoadKeys(stack),
      promises,
      random: seededRandom(seed + 1),
      log: new LogCopy(),
      catchUp: catchUpFromKafka(stack.brokers),
      env: { DATA_DIR: stack.dataDir, KAFKA_BROKERS: stack.brokers },
    };
    stopLoad = startLoad(checked, pace);
    const plan = planFaults({ faults, rolling }, stack, random, only);
    for (const [number, fault] of plan.entries()) {
      await sleep(random.between(pauseMs / 4, pauseMs));
      await injectAndCheck(stack, checked, fault, durationOf(random, longestMs));
      onProgress(
        `${number + 1}: ${fault.type} ${fault.part} ${fault.index}; ${promises.links.length} links, ` +
          `${promises.failedVisits} failed visits, ${promises.broken.length} promises broken`,
      );
      if (promises.broken.length > 0) break;
    }
    await stopLoad();
    onProgress('the load has ended; checking all promises');
    await checkEverything(checked);
    return promises;
  } finally {
    await stopLoad?.();
    await stack.stop();
    await rm(plans, { recursive: true, force: true });
  }
};
