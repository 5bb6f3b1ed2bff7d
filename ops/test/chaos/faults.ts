import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PartKind } from '../../local/stack/parts.js';
import type { RunningStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';
import type { Random } from './random.js';

/** `kill -9` of one part, or a pause (SIGSTOP, SIGCONT) of all its processes. */
export interface Fault {
  readonly type: 'kill' | 'pause';
  readonly part: PartKind;
  readonly index: number;
}

export const nameOf = ({ type, part }: Fault): string =>
  `${type === 'kill' ? 'kill -9' : 'pause'} ${part}`;

/** Every fourth round is one of pauses. */
const pauseEvery = 4;

/**
 * Round after round of every part once, in a random order, beginning with pauses. `only` takes some of them:
 * at least one.
 */
export const planFaults = (
  count: number,
  pids: RunningStack['pids'],
  random: Random,
  only: (fault: Fault) => boolean,
): readonly Fault[] => {
  const parts = (Object.keys(pids) as PartKind[]).flatMap((part) =>
    pids[part].map((_, index) => ({ part, index })),
  );
  const plan: Fault[] = [];
  for (let round = 0; plan.length < count; round += 1) {
    const type = round % pauseEvery === 0 ? 'pause' : 'kill';
    const waiting = parts.map((part): Fault => ({ type, ...part })).filter(only);
    while (waiting.length > 0) {
      plan.push(...waiting.splice(random.below(waiting.length), 1));
    }
  }
  return plan.slice(0, count);
};

const restartedWithinMs = 60_000;

/** Stops a process and its children, PostgreSQL's backends for example; returns how to let them go on. */
export const stopProcess = async (pid: number): Promise<() => void> => {
  const stopped: number[] = [];
  const stop = (one: number): void => {
    process.kill(one, 'SIGSTOP');
    stopped.push(one);
  };
  // The parent first: it starts no more children.
  stop(pid);
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  children.split(' ').filter(Boolean).map(Number).forEach(stop);
  return () => {
    for (const one of stopped) process.kill(one, 'SIGCONT');
  };
};

/** Does it; resolves when the part runs again. */
export const inflict = async (
  stack: RunningStack,
  { type, part, index }: Fault,
  pauseMs: number,
): Promise<void> => {
  const pid = stack.pids[part][index];
  if (pid === undefined) throw new Error(`There is no ${part} ${index}`);
  if (type === 'pause') {
    const goOn = await stopProcess(pid);
    await sleep(pauseMs);
    goOn();
    return;
  }
  const before = stack.restarts(part, index);
  process.kill(pid, 'SIGKILL');
  const isRestarted = (): boolean => stack.restarts(part, index) > before;
  await eventually(`${part} ${index} is restarted`, isRestarted, restartedWithinMs);
};
