import { setImmediate as nextIteration } from 'node:timers/promises';

interface Timer {
  dueAt: number;
  /** `null` for a timer that fires once. */
  readonly everyMs: number | null;
  readonly run: () => void;
  unref(): Timer;
}

/** Moves the clock forward and fires the timers that are due, in their order. Returns the number of pending timers. */
type Advance = (ms: number) => Promise<number>;

/** Runs `work` with a clock and timers that only `advance` moves. Timers of `node:timers/promises` are real. */
export const withVirtualTime = async (work: (advance: Advance) => Promise<void>): Promise<void> => {
  let now = 0;
  const timers = new Set<Timer>();
  const add = (run: () => void, ms: number, everyMs: number | null): Timer => {
    const timer: Timer = { dueAt: now + ms, everyMs, run, unref: () => timer };
    timers.add(timer);
    return timer;
  };
  const { setTimeout, setInterval, clearTimeout } = globalThis;
  Object.assign(globalThis, {
    setTimeout: (run: () => void, ms = 0) => add(run, ms, null),
    setInterval: (run: () => void, ms = 0) => add(run, ms, ms),
    clearTimeout: (timer: NodeJS.Timeout) => {
      if (!timers.delete(timer as unknown as Timer)) clearTimeout(timer);
    },
  });
  Object.defineProperty(performance, 'now', {
    configurable: true,
    writable: true,
    value: () => now,
  });
  try {
    await work(async (ms) => {
      const until = now + ms;
      for (;;) {
        // Promises and immediates of earlier steps come first.
        await nextIteration();
        await nextIteration();
        const [next] = [...timers].sort((a, b) => a.dueAt - b.dueAt);
        if (!next || next.dueAt > until) break;
        now = Math.max(now, next.dueAt);
        if (next.everyMs === null) timers.delete(next);
        else next.dueAt += next.everyMs;
        next.run();
      }
      now = until;
      return timers.size;
    });
  } finally {
    Object.assign(globalThis, { setTimeout, setInterval, clearTimeout });
    Reflect.deleteProperty(performance, 'now');
  }
};
