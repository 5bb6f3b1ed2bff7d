/** For tests: a thread that is busy for a moment, and says how often it slept and how far it came. */
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { giveWay, hurried, stepBack } from '../step-back.js';

const { stepsBack, isHurried, ms } = workerData as {
  readonly stepsBack: boolean;
  readonly isHurried: boolean;
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

if (stepsBack) stepBack(1);
const before = sleeps();
let last = -1;
const count = () => {
  for (const number of numbers()) {
    giveWay();
    if (number !== last + 1) throw new Error(`${number} came after ${last}`);
    last = number;
  }
  return Promise.resolve();
};
await (isHurried ? hurried(count) : count());
parentPort?.postMessage([sleeps() - before, last]);
