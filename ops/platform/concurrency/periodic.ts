import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises';
import { createOutageLog, type Logger } from '../logging.js';

/** The pause per unit of work, in an idle and in a busy process. */
interface PauseFactors {
  readonly idle: number;
  readonly busy: number;
}

const defaultFactors: PauseFactors = { idle: 1, busy: 9 };
/** Bounds the pause (ms) after work that waited for an unresponsive server. */
const maxPauseMs = 2_000;

/**
 * Throttles background work, so that requests get the core: by default to half of the time in an idle process and a tenth
 * in a busy one.
 */
export class DutyCycle {
  #since = performance.now();
  /** The utilization of the event loop during the last pause. */
  #busy = 1;

  constructor(
    private readonly signal: AbortSignal,
    private readonly factors = defaultFactors,
  ) {}

  /** Pauses after a piece of work, which started at the end of the last pause. The signal ends the pause. */
  async pause(): Promise<void> {
    const workedMs = performance.now() - this.#since;
    const before = performance.eventLoopUtilization();
    const { idle, busy } = this.factors;
    const ms = Math.min(maxPauseMs, workedMs * (idle + (busy - idle) * this.#busy));
    // Only the signal, which the caller checks, rejects the sleep.
    await sleep(ms, undefined, { signal: this.signal }).catch(() => undefined);
    this.#busy = performance.eventLoopUtilization(before).utilization;
    this.#since = performance.now();
  }
}

/** Runs a task periodically: after a pause of the duty cycle while it has work, otherwise every `everyMs`. */
export const periodically = (options: {
  readonly name: string;
  readonly everyMs: number;
  /** Does a piece of work. Returns its amount if work may be left. */
  readonly task: () => Promise<unknown>;
  readonly factors?: PauseFactors;
  readonly logger: Logger;
}) => {
  const { name, everyMs, task, factors, logger } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const outage = createOutageLog(
    logger.child({ task: name }),
    'a periodic task failed; trying again',
    'a periodic task succeeds again',
  );
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  const run = async (): Promise<void> => {
    const dutyCycle = new DutyCycle(signal, factors);
    let done = 1;
    while (done > 0 && !signal.aborted) {
      done = 0;
      try {
        done = Number((await task()) ?? 0);
        outage.recovered();
      } catch (err) {
        outage.failed(err);
      }
      if (done > 0) await dutyCycle.pause();
    }
    // Together with other tasks: a process that wakes often costs an idle machine more than the statements.
    if (!signal.aborted) schedule(everyMs - (performance.now() % everyMs));
  };
  const schedule = (ms: number): void => {
    timer = setTimeout(() => {
      running = run();
    }, ms);
  };
  schedule(0);

  return {
    /** Resolves when the task has ended. */
    async stop(): Promise<void> {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
};

export type Periodic = ReturnType<typeof periodically>;

/** The longest work without an iteration of the event loop (ms). */
const maxWorkMs = 4;

/** Bounds how long other requests wait for a long work. */
export class EventLoopShare {
  #since = performance.now();

  /** Checked between the parts of the work: whether others are to run before the next one. */
  get isUsedUp(): boolean {
    return performance.now() - this.#since >= maxWorkMs;
  }

  async renew(): Promise<void> {
    await nextIteration();
    this.#since = performance.now();
  }
}

/**
 * Runs one callback in each iteration of the event loop, in order. For work that many clients may cause concurrently, so
 * that other clients wait for one callback rather than all.
 */
export class EventLoopQueue {
  readonly #waiting: (() => void)[] = [];

  add(callback: () => void): void {
    if (this.#waiting.push(callback) === 1) setImmediate(this.#run);
  }

  readonly #run = (): void => {
    const [callback] = this.#waiting.splice(0, 1);
    if (this.#waiting.length > 0) setImmediate(this.#run);
    callback?.();
  };
}
