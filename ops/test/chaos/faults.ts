import { setTimeout as sleep } from 'node:timers/promises';
import { serviceKinds, type PartKind } from '../../local/stack/parts.js';
import type { Disturbance } from '../support/tcp-proxy.js';
import { stopProcess } from '../support/process.js';
import { eventually } from '../support/waiting.js';
import { moveLeaders, untilInSync } from './kafka-cluster.js';
import { linkedKinds, type LinkedStack } from './linked-stack.js';
import type { Random } from '../support/random.js';

const disturbances = ['silent', 'slow', 'half-open'] as const satisfies readonly Disturbance[];

/** A part whose clock jumps by up to 15 minutes, and later back. */
const jumps = ['ahead', 'behind'] as const;

/**
 * `kill -9` of one part, a pause (SIGSTOP, SIGCONT) of all its processes, a graceful restart of a service, or a network
 * failure between a server and all its clients. For a Kafka cluster also: a graceful restart of one broker, or of one
 * after the other (`rolling`), and other leaders for the partitions of a broker (`leaders`). Where the stack has them:
 * jumps of a clock, a disk without space (`full`), and a failover of PostgreSQL to its standby (`failover`).
 */
export interface Fault {
  readonly type:
    | 'kill'
    | 'pause'
    | 'restart'
    | 'rolling'
    | 'leaders'
    | 'full'
    | 'failover'
    | (typeof jumps)[number]
    | (typeof disturbances)[number];
  readonly part: PartKind;
  readonly index: number;
}

/**
 * Rounds of every fault that `only` selects, each in a random order. Rolling restarts are added at equal distances.
 *
 * @throws if `only` selects no fault
 */
export const planFaults = (
  counts: { readonly faults: number; readonly rolling: number },
  { pids, clocks, disks, failOver }: Pick<LinkedStack, 'pids' | 'clocks' | 'disks' | 'failOver'>,
  random: Random,
  only: (fault: Fault) => boolean,
): readonly Fault[] => {
  const faultsOf = (kinds: readonly PartKind[], types: readonly Fault['type'][]) =>
    kinds.flatMap((part) =>
      pids[part].flatMap((_, index) => types.map((type): Fault => ({ type, part, index }))),
    );
  const selected = [
    ...faultsOf(Object.keys(pids) as PartKind[], ['kill', 'pause']),
    ...faultsOf(linkedKinds, disturbances),
    ...faultsOf(serviceKinds, ['restart']),
    ...(pids.kafka.length > 1 ? faultsOf(['kafka'], ['restart', 'leaders']) : []),
    ...faultsOf(clocks, jumps),
    ...Object.keys(disks).map((part): Fault => ({
      type: 'full',
      part: part as PartKind,
      index: 0,
    })),
    ...(failOver ? [{ type: 'failover', part: 'postgres', index: 0 } as const] : []),
  ].filter(only);
  if (selected.length === 0) throw new Error('no fault is selected');
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

/** A broker ends and starts in 15 s; a machine with other work needs many times as long. */
const restartedWithinMs = 180_000;

/** Signals one part, and waits until it has restarted. */
const restart = async (
  stack: LinkedStack,
  { part, index }: Pick<Fault, 'part' | 'index'>,
  signal: 'SIGKILL' | 'SIGTERM',
): Promise<void> => {
  const before = stack.restarts(part, index);
  process.kill(stack.pids[part][index] ?? NaN, signal);
  const isRestarted = (): boolean => stack.restarts(part, index) > before;
  await eventually(`${part} ${index} is restarted`, isRestarted, restartedWithinMs);
};

const act = async (stack: LinkedStack, fault: Fault, durationMs: number): Promise<void> => {
  const { type, part, index } = fault;
  switch (type) {
    case 'kill':
    case 'restart':
      return restart(stack, fault, type === 'kill' ? 'SIGKILL' : 'SIGTERM');
    case 'pause': {
      const resume = await stopProcess(stack.pids[part][index] ?? NaN);
      await sleep(durationMs);
      resume();
      return;
    }
    case 'rolling':
      for (const broker of stack.pids.kafka.keys()) {
        await restart(stack, { part, index: broker }, 'SIGTERM');
        await untilInSync(stack.brokers);
      }
      return;
    case 'leaders':
      // The ids of brokers begin at 1.
      return moveLeaders(stack.brokers, index + 1);
    case 'failover':
      return stack.failOver?.(durationMs);
    case 'full':
      await stack.disks[part]?.fill();
      await sleep(durationMs);
      return stack.disks[part]?.deleteFiller();
    case 'ahead':
    case 'behind': {
      const seconds = Math.round((durationMs / 1_000) * 60);
      await stack.setClock(part, index, type === 'ahead' ? seconds : -seconds);
      await sleep(durationMs);
      return stack.setClock(part, index, 0);
    }
    case 'silent':
    case 'slow':
    case 'half-open': {
      const link = linkedKinds.flatMap((kind) => (kind === part ? stack.links[kind] : []))[index];
      link?.disturb(type);
      await sleep(durationMs);
      link?.mend();
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
