/** A thread that is busy for a while, and posts the number of its sleeps and of its steps. */
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { yieldCpu, atNormalPriority, lowerThreadPriority } from '../thread.js';

const { hasLowPriority, isAwaited, ms } = workerData as {
  readonly hasLowPriority: boolean;
  readonly isAwaited: boolean;
  readonly ms: number;
};

const sleeps = (): number => {
  const status = readFileSync('/proc/thread-self/status', 'utf8');
  return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1]);
};

const numbers = function* (): Generator<number> {
  const until = performance.now() + ms;
  for (let number = 0; performance.now() < until; number += 1) yield number;
};

if (hasLowPriority) lowerThreadPriority(1);
const before = sleeps();
let last = -1;
const count = () => {
  for (const number of numbers()) {
    yieldCpu();
    if (number !== last + 1) throw new Error(`${number} came after ${last}`);
    last = number;
  }
  return Promise.resolve();
};
await (isAwaited ? atNormalPriority(count) : count());
parentPort?.postMessage([sleeps() - before, last]);
