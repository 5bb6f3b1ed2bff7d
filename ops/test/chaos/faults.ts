import { setTimeout as sleep } from 'node:timers/promises';
import type { PartKind } from '../../local/stack/parts.js';
import type { RunningStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';
import type { Random } from './random.js';

/** `kill -9` of one part, or the broker stopped for a while (SIGSTOP, SIGCONT). */
export type Fault =
  | { readonly type: 'kill'; readonly part: PartKind; readonly index: number }
  | { readonly type: 'stopBroker' };

export const nameOf = (fault: Fault): string =>
  fault.type === 'kill' ? `kill -9 ${fault.part}` : 'stop kafka';

const stopEvery = 4;

/**
 * Round after round of every part once, in a random order; in each fourth round the broker stops too.
 * `only` takes some of them: at least one.
 */
export const planFaults = (
  count: number,
  pids: RunningStack['pids'],
  random: Random,
  only: (fault: Fault) => boolean,
): readonly Fault[] => {
  const kills = (Object.keys(pids) as PartKind[]).flatMap((part) =>
    pids[part].map((_, index): Fault => ({ type: 'kill', part, index })),
  );
  const plan: Fault[] = [];
  for (let round = 0; plan.length < count; round += 1) {
    const stops: Fault[] = round % stopEvery === 0 ? [{ type: 'stopBroker' }] : [];
    const waiting = [...kills, ...stops].filter(only);
    while (waiting.length > 0) {
      plan.push(...waiting.splice(random.below(waiting.length), 1));
    }
  }
  return plan.slice(0, count);
};

const restartedWithinMs = 60_000;

/** Does it; resolves when the part runs again. */
export const inflict = async (stack: RunningStack, fault: Fault, stopMs: number): Promise<void> => {
  if (fault.type === 'stopBroker') {
    const [pid = 0] = stack.pids.kafka;
    process.kill(pid, 'SIGSTOP');
    try {
      await sleep(stopMs);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    return;
  }
  const { part, index } = fault;
  const pid = stack.pids[part][index];
  if (pid === undefined) throw new Error(`There is no ${part} ${index}`);
  const before = stack.restarts(part, index);
  process.kill(pid, 'SIGKILL');
  const isRestarted = (): boolean => stack.restarts(part, index) > before;
  await eventually(`${part} ${index} is restarted`, isRestarted, restartedWithinMs);
};
