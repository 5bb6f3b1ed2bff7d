import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startStackProcess } from '../support/stack.js';
import { type Checked, checkEverything, checkLive, untilReady, withPool } from './check.js';
import { inflict, nameOf, planFaults, type Fault } from './faults.js';
import { startLoad, type Load, type Pace } from './load.js';
import { checkLog } from './log-check.js';
import { LogCopy } from './log-copy.js';
import { readKafkaOn } from './log-sources.js';
import { noPromises } from './promises.js';
import { seededRandom } from './random.js';
import { rebuildAll } from './rebuilds.js';
import { since, type Tally } from './tally.js';
import { issueLoadKeys, writePlans } from './setup.js';

/** One fault, and what was seen of it. */
export interface Suffered {
  readonly fault: Fault;
  /** Milliseconds from the fault until the part ran again. */
  readonly restartMs: number;
  /** Milliseconds from the fault until every node was ready again. */
  readonly readyMs: number;
  /** Milliseconds that the checks after it took. */
  readonly checkMs: number;
  /** What the load counted from the fault until the checks were through. */
  readonly tally: Tally;
  /** What it counted until every node was ready again. */
  readonly meanwhile: Tally;
  readonly broken: readonly string[];
}

/** The 99th percentile and how many there were, of redirects of links without a limit. */
export interface Latency {
  readonly p99Ms: number;
  readonly count: number;
}

export interface Outcome {
  readonly suffered: readonly Suffered[];
  readonly tally: Tally;
  readonly records: number;
  readonly repeats: number;
  readonly normal: Latency;
  readonly brokerStopped: Latency;
  readonly broken: readonly string[];
}

export interface StackRoundsOptions {
  readonly faults: number;
  /** No further fault after as long, however many there were to be. */
  readonly withinMs?: number;
  readonly seed: number;
  readonly pace: Pace;
  /** How long a part is paused at most; 1 s at least. */
  readonly longestPauseMs: number;
  /** Between one fault's checks and the next fault: at most. */
  readonly pauseMs: number;
  /** Which faults; all of them unless told. */
  readonly only?: (fault: Fault) => boolean;
  readonly onProgress?: (line: string) => void;
}

const latencyOf = (ms: readonly number[]): Latency => {
  const sorted = [...ms].sort((a, b) => a - b);
  return { p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0, count: sorted.length };
};

const failedVisits = ({ edgeErrors, lostVisits }: Tally): number => edgeErrors + lostVisits;

/** Links of before that are looked at after each fault. */
const sampled = 30;

/**
 * Kills every part of a running stack with -9 under a steady load, one after another, and pauses each; after
 * each looks at what was promised, and at the end at everything.
 */
export const stackRounds = async (options: StackRoundsOptions): Promise<Outcome> => {
  const { seed, pace, longestPauseMs, pauseMs, withinMs = Infinity } = options;
  const { only = () => true, onProgress = () => undefined } = options;
  const until = performance.now() + withinMs;
  // The faults are the seed's alone: what the load draws depends on how fast it is answered.
  const random = seededRandom(seed);
  const ofLoad = seededRandom(seed + 1);
  const plansFile = path.join(tmpdir(), `linklog-chaos-${randomUUID()}.json`);
  await writePlans(plansFile);
  const promises = noPromises();
  const stack = await startStackProcess({ PLANS_FILE: plansFile, LOG_LEVEL: 'error' });
  onProgress('the stack is ready');
  let load: Load | undefined;
  try {
    const checked: Checked = {
      target: stack,
      keys: await issueLoadKeys(stack),
      promises,
      random: ofLoad,
      log: new LogCopy(),
      readOn: readKafkaOn(stack.kafka),
    };
    const normal: number[] = [];
    const brokerStopped: number[] = [];
    const suffered: Suffered[] = [];
    const running = (load = startLoad({ ...checked, pace }));
    let linksChecked = 0;

    const checkSofar = async (): Promise<void> => {
      const fresh = promises.links.slice(linksChecked);
      const older = Array.from({ length: Math.min(sampled, linksChecked) }, () => {
        return promises.links[ofLoad.below(linksChecked)];
      }).filter((link) => link !== undefined);
      linksChecked += fresh.length;
      await checkLive(stack, [...fresh, ...older], promises);
      await withPool(stack.dataDir, (pool) => checkLog({ ...checked, pool }));
    };
    const suffer = async (fault: Fault): Promise<Suffered> => {
      const before = { ...running.tally };
      const startedAt = performance.now();
      for (const ms of running.takeLatencies()) normal.push(ms);
      await inflict(stack, fault, random.between(1_000, longestPauseMs));
      const restartMs = performance.now() - startedAt;
      if (fault.type === 'pause' && fault.part === 'kafka') {
        for (const ms of running.takeLatencies()) brokerStopped.push(ms);
        const failed = failedVisits(since(before, running.tally));
        if (failed > 0)
          promises.broken.push(`${failed} visits failed while the broker was stopped`);
      }
      await untilReady(stack);
      const readyMs = performance.now() - startedAt;
      const meanwhile = since(before, running.tally);
      await checkSofar();
      // Of neither: what is slow here is slow for the sake of the fault, or of the checks.
      running.takeLatencies();
      return {
        fault,
        restartMs,
        readyMs,
        checkMs: performance.now() - startedAt - readyMs,
        meanwhile,
        tally: since(before, running.tally),
        broken: [...promises.broken],
      };
    };

    await sleep(pauseMs);
    for (const fault of planFaults(options.faults, stack.pids, random, only)) {
      await sleep(random.between(pauseMs / 4, pauseMs));
      const one = await suffer(fault);
      suffered.push(one);
      const { tally } = one;
      onProgress(
        `${suffered.length}: ${nameOf(fault)} ${fault.index}, ` +
          `restarted in ${Math.round(one.restartMs)} ms, all ready in ${Math.round(one.readyMs)} ms, checked in ${Math.round(one.checkMs)} ms; ` +
          `${tally.created} created, ${tally.visited} visited, ` +
          `${tally.apiErrors + tally.edgeErrors} answered 5xx; ${one.broken.length} promises broken`,
      );
      if (one.broken.length > 0 || performance.now() > until) break;
    }
    await running.stop();
    onProgress('the load has ended; checking everything');
    await checkEverything(checked);
    onProgress('rebuilding every projection');
    promises.broken.push(...(await rebuildAll(stack.dataDir)));
    return {
      suffered,
      tally: running.tally,
      records: checked.log.records,
      repeats: checked.log.repeats,
      normal: latencyOf(normal),
      brokerStopped: latencyOf(brokerStopped),
      broken: promises.broken,
    };
  } finally {
    await load?.stop();
    await stack.stop();
    await rm(plansFile, { force: true });
  }
};
