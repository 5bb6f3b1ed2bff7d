import { rm } from 'node:fs/promises';
import { nullOnThrow } from '../../platform/errors.js';
import { untilReady } from '../chaos/check.js';
import { durationOf, inject, planFaults, type Fault } from '../chaos/faults.js';
import { startLinkedStack } from '../chaos/linked-stack.js';
import type { Target } from '../chaos/setup.js';
import { isUsable } from '../support/needs.js';
import { temporaryDir } from '../support/process.js';
import { postgresOf, startEmbeddedProduct } from '../support/product.js';
import type { Random } from '../support/random.js';

/** Faults at the same time. */
interface Round {
  readonly names: readonly string[];
  /** Whether edges may be cut off from PostgreSQL until all nodes are ready. */
  readonly cuts: boolean;
  inject(): Promise<void>;
}

/** The product under test. */
export interface System {
  /** A restart may change the addresses. */
  readonly target: Target;
  readonly rounds: readonly Round[];
  /** The longest time between rounds. */
  readonly pauseMs: number;
  stop(): Promise<void>;
}

interface SystemOptions {
  /** Kafka brokers; 0: the embedded product. */
  readonly brokers: number;
  readonly faults: number;
  readonly random: Random;
  /** Whether the PostgreSQL of a stack has a synchronous standby, to which it fails over. */
  readonly hasStandby: boolean;
  readonly env: Readonly<Record<string, string>>;
}

/** The maximum duration of a pause or a link failure. */
const longestMs = 15_000;

/** One of this many faults is a rolling restart of the brokers. */
const rollingEvery = 50;

/** At most one part of each group fails at a time. */
const groupOf = ({ part }: Fault): string =>
  part === 'kafka' ? part : part === 'postgres' || part === 'redis' ? 'server' : 'service';

/** Two processes of each service, with their servers behind links. */
const startStack = async (options: SystemOptions): Promise<System> => {
  const { brokers, faults, random, hasStandby, env } = options;
  const machine = { hasClocks: isUsable('faketime'), hasDisks: isUsable('mount') };
  const stack = await startLinkedStack({ brokers, nodes: 2, hasStandby, ...machine }, env);
  const rolling = brokers > 1 ? Math.floor(faults / rollingEvery) : 0;
  const rounds: Fault[][] = [];
  for (const fault of planFaults(
    { faults: faults - rolling, rolling },
    stack,
    random,
    () => true,
  )) {
    const round = rounds.at(-1);
    if (!round || round.some((other) => groupOf(other) === groupOf(fault))) rounds.push([fault]);
    else round.push(fault);
  }
  return {
    target: stack,
    pauseMs: 3_000,
    rounds: rounds.map((round) => ({
      names: round.map(({ type, part, index }) => `${type} ${part} ${index}`),
      cuts: round.some(({ part }) => part === 'postgres'),
      async inject() {
        await Promise.all(
          round.map((fault) => inject(stack, fault, durationOf(random, longestMs))),
        );
        await untilReady(stack);
      },
    })),
    async stop() {
      await stack.stop();
    },
  };
};

/** One process with an embedded PostgreSQL, which survives every second kill. */
const startEmbedded = async ({ faults, env }: SystemOptions): Promise<System> => {
  const dataDir = await temporaryDir();
  const start = () => startEmbeddedProduct({ dataDir, env });
  let product = await start();
  const killAndRestart = async (withPostgres: boolean): Promise<void> => {
    if (withPostgres) {
      // First, because it makes commits durable within 200 ms even if no client waits.
      for (const pid of await postgresOf(dataDir))
        nullOnThrow(() => process.kill(pid, 'SIGKILL'), 'ESRCH');
      await product.killTree();
    } else process.kill(product.pid, 'SIGKILL');
    product = await start();
  };
  return {
    get target() {
      return product;
    },
    // Otherwise most requests would meet a product that starts.
    pauseMs: 15_000,
    rounds: Array.from({ length: faults }, (_, index) => ({
      names: [index % 2 === 0 ? 'kill node' : 'kill node and postgres'],
      cuts: false,
      inject: () => killAndRestart(index % 2 === 1),
    })),
    async stop() {
      // A clean stop would hide the error of a failed restart.
      await product.killTree();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};

export const startSystem = (options: SystemOptions): Promise<System> =>
  options.brokers === 0 ? startEmbedded(options) : startStack(options);
