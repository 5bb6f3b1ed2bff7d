import { setTimeout as sleep } from 'node:timers/promises';
import type { PartKind } from '../../local/stack/parts.js';
import type { Disturbance } from '../support/tcp-proxy.js';
import { stopProcess } from '../support/process.js';
import { eventually } from '../support/waiting.js';
import { moveLeaders, reassignReplicas, untilInSync } from './kafka-cluster.js';
import { linkedKinds, type LinkedKind, type LinkedStack } from './linked-stack.js';
import type { Random } from '../support/random.js';

interface PartFault {
  readonly type: 'kill' | 'pause';
  readonly part: PartKind;
  readonly index: number;
}

interface LinkFault {
  readonly type: Disturbance;
  readonly part: LinkedKind;
  readonly index: number;
}

/** An operation on one broker of several, or on the whole cluster. */
interface ClusterFault {
  readonly type: 'restart' | 'reassign' | 'election' | 'rolling';
  readonly part: 'kafka';
  readonly index: number;
}

/**
 * `kill -9` of one part, a pause (SIGSTOP, SIGCONT) of all its processes, or a network failure between a server and
 * all its clients. For a Kafka cluster also: a graceful or rolling restart, a reassignment of all partitions off a
 * broker and back, and an election of another leader for each partition.
 */
export type Fault = PartFault | LinkFault | ClusterFault;

const disturbances = ['silent', 'slow', 'half-open'] as const satisfies readonly Disturbance[];

const texts: Readonly<Record<Fault['type'], string>> = {
  kill: 'kill -9',
  pause: 'pause',
  silent: 'silent link to',
  slow: 'slow link to',
  'half-open': 'half-open link to',
  restart: 'graceful restart of',
  reassign: 'reassignment off a broker of',
  election: 'leader election in',
  rolling: 'rolling restart of',
};

export const faultTypes: readonly string[] = Object.keys(texts);

export const nameOf = ({ type, part }: Fault): string => `${texts[type]} ${part}`;

/**
 * Whether other brokers become the leaders of partitions. A network failure between a broker and its clients moves no
 * leader.
 */
export const movesLeaders = ({ type, part }: Fault): boolean =>
  part === 'kafka' && !(disturbances as readonly string[]).includes(type);

/** Whether the fault freezes a node, which may hold locks. */
export const freezesNode = ({ type, part }: Fault): boolean =>
  type === 'pause' && !(linkedKinds as readonly PartKind[]).includes(part);

/**
 * Rounds of every fault that `only` selects, each in a random order. Rolling restarts are added at equal distances.
 *
 * @throws if `only` selects no fault
 */
export const planFaults = (
  counts: { readonly faults: number; readonly rolling: number },
  pids: LinkedStack['pids'],
  random: Random,
  only: (fault: Fault) => boolean,
): readonly Fault[] => {
  const parts = (Object.keys(pids) as PartKind[]).flatMap((part) =>
    pids[part].map((_, index) => ({ part, index })),
  );
  const servers = linkedKinds.flatMap((part) => pids[part].map((_, index) => ({ part, index })));
  const brokers = pids.kafka.length > 1 ? servers.filter(({ part }) => part === 'kafka') : [];
  const faults: readonly Fault[] = [
    ...parts.map((part) => ({ type: 'kill', ...part }) as const),
    ...parts.map((part) => ({ type: 'pause', ...part }) as const),
    ...servers.flatMap((server) => disturbances.map((type) => ({ type, ...server }) as const)),
    ...brokers.flatMap(({ index }) =>
      (['restart', 'reassign', 'election'] as const).map(
        (type) => ({ type, part: 'kafka', index }) as const,
      ),
    ),
  ];
  const selected = faults.filter(only);
  if (selected.length === 0) throw new Error('no fault has these types and parts');
  const plan: Fault[] = [];
  while (plan.length < counts.faults) {
    const remaining = [...selected];
    while (remaining.length > 0) {
      plan.push(...remaining.splice(random.below(remaining.length), 1));
    }
  }
  plan.splice(counts.faults);
  const distance = counts.faults / (counts.rolling + 1);
  for (let number = counts.rolling; number > 0; number -= 1) {
    plan.splice(Math.round(distance * number), 0, { type: 'rolling', part: 'kafka', index: 0 });
  }
  return plan;
};

/** From 1 s to `longestMs`, mostly short: half of the durations are below 2 s if `longestMs` is 30 s. */
export const durationOf = (random: Random, longestMs: number): number =>
  1_000 * (longestMs / 1_000) ** (random.between(0, 1) ** 3);

const restartedWithinMs = 60_000;

/** Signals one part, and waits until it has restarted. */
const restart = async (
  stack: LinkedStack,
  { part, index }: Pick<Fault, 'part' | 'index'>,
  signal: 'SIGKILL' | 'SIGTERM',
): Promise<void> => {
  const before = stack.restarts(part, index);
  process.kill(pidOf(stack, part, index), signal);
  const isRestarted = (): boolean => stack.restarts(part, index) > before;
  await eventually(`${part} ${index} is restarted`, isRestarted, restartedWithinMs);
};

const pidOf = ({ pids }: LinkedStack, part: PartKind, index: number): number => {
  const pid = pids[part][index];
  if (pid === undefined) throw new Error(`no process of ${part} ${index}`);
  return pid;
};

/** Resolves when the part runs again, or its link is restored. */
const act = async (stack: LinkedStack, fault: Fault, durationMs: number): Promise<void> => {
  const { type, part, index } = fault;
  switch (type) {
    case 'kill':
      await restart(stack, fault, 'SIGKILL');
      return;
    case 'pause': {
      const resume = await stopProcess(pidOf(stack, part, index));
      await sleep(durationMs);
      resume();
      return;
    }
    case 'silent':
    case 'slow':
    case 'half-open': {
      const link = stack.links[part][index];
      link?.disturb(type);
      await sleep(durationMs);
      link?.mend();
      return;
    }
    case 'restart':
      await restart(stack, fault, 'SIGTERM');
      return;
    case 'rolling':
      for (const broker of stack.pids.kafka.keys()) {
        await restart(stack, { part, index: broker }, 'SIGTERM');
        await untilInSync(stack.brokers);
      }
      return;
    case 'reassign':
      await reassignReplicas(stack.brokers, index);
      return;
    case 'election':
      await moveLeaders(stack.brokers);
      return;
    default: {
      const unknown: never = type;
      throw new Error(`unknown fault ${String(unknown)}`);
    }
  }
};

/**
 * Injects the fault; resolves when the part runs again, or its link is restored, and all replicas are in sync: at most
 * one broker is unavailable at a time.
 */
export const inject = async (
  stack: LinkedStack,
  fault: Fault,
  durationMs: number,
): Promise<void> => {
  await act(stack, fault, durationMs);
  if (fault.part === 'kafka') await untilInSync(stack.brokers);
};
