import { setTimeout as sleep } from 'node:timers/promises';
import type { PartKind } from '../../local/stack/parts.js';
import type { Disturbance } from '../support/tcp-proxy.js';
import { stopProcess } from '../support/process.js';
import { eventually } from '../support/waiting.js';
import { linkedKinds, type LinkedKind, type LinkedStack } from './linked-stack.js';
import type { Random } from './random.js';

interface PartFault {
  readonly type: 'kill' | 'pause';
  readonly part: PartKind;
  readonly index: number;
}

interface LinkFault {
  readonly type: Disturbance;
  readonly part: LinkedKind;
  readonly index: 0;
}

/**
 * `kill -9` of one part, a pause (SIGSTOP, SIGCONT) of all its processes, or a network that fails between a
 * server and all its clients.
 */
export type Fault = PartFault | LinkFault;

const disturbances = ['silent', 'slow', 'half-open'] as const satisfies readonly Disturbance[];

export const faultTypes: readonly string[] = ['kill', 'pause', ...disturbances];

const told: Readonly<Record<Fault['type'], string>> = {
  kill: 'kill -9',
  pause: 'pause',
  silent: 'silent link to',
  slow: 'slow link to',
  'half-open': 'half-open link to',
};

export const nameOf = ({ type, part }: Fault): string => `${told[type]} ${part}`;

/** Whether a node is frozen by it, with whatever locks it holds. */
export const freezesNode = ({ type, part }: Fault): boolean =>
  type === 'pause' && !(linkedKinds as readonly PartKind[]).includes(part);

/**
 * Round after round of every fault of every part once, in a random order. `only` takes some of them.
 *
 * @throws where it takes none
 */
export const planFaults = (
  count: number,
  pids: LinkedStack['pids'],
  random: Random,
  only: (fault: Fault) => boolean,
): readonly Fault[] => {
  const parts = (Object.keys(pids) as PartKind[]).flatMap((part) =>
    pids[part].map((_, index) => ({ part, index })),
  );
  const all: readonly Fault[] = [
    ...parts.map((part) => ({ type: 'kill', ...part }) as const),
    ...parts.map((part) => ({ type: 'pause', ...part }) as const),
    ...linkedKinds.flatMap((part) =>
      disturbances.map((type) => ({ type, part, index: 0 }) as const),
    ),
  ];
  const wanted = all.filter(only);
  if (wanted.length === 0) throw new Error('No fault is of these types and kinds');
  const plan: Fault[] = [];
  while (plan.length < count) {
    const waiting = [...wanted];
    while (waiting.length > 0) {
      plan.push(...waiting.splice(random.below(waiting.length), 1));
    }
  }
  return plan.slice(0, count);
};

/** From 1 s to `longestMs`: mostly short, so that many fit into an hour, and now and then as long as can be. */
export const durationOf = (random: Random, longestMs: number): number =>
  1_000 * (longestMs / 1_000) ** (random.between(0, 1) ** 3);

const restartedWithinMs = 60_000;

/** Does it; resolves when the part runs again, or its link is whole. */
export const inflict = async (
  stack: LinkedStack,
  fault: Fault,
  durationMs: number,
): Promise<void> => {
  const { type, part, index } = fault;
  const pid = stack.pids[part][index];
  if (pid === undefined) throw new Error(`There is no ${part} ${index}`);
  switch (type) {
    case 'kill': {
      const before = stack.restarts(part, index);
      process.kill(pid, 'SIGKILL');
      const isRestarted = (): boolean => stack.restarts(part, index) > before;
      await eventually(`${part} ${index} is restarted`, isRestarted, restartedWithinMs);
      return;
    }
    case 'pause': {
      const goOn = await stopProcess(pid);
      await sleep(durationMs);
      goOn();
      return;
    }
    case 'silent':
    case 'slow':
    case 'half-open':
      stack.links[part].disturb(type);
      await sleep(durationMs);
      stack.links[part].mend();
      return;
    default: {
      const unknown: never = type;
      throw new Error(`No fault ${String(unknown)}`);
    }
  }
};
