import { rm } from 'node:fs/promises';
import { untilReady } from '../chaos/check.js';
import { durationOf, inject, planFaults } from '../chaos/faults.js';
import { startLinkedStack } from '../chaos/linked-stack.js';
import type { Target } from '../chaos/setup.js';
import { temporaryDir } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import type { Random } from '../support/random.js';

interface SystemFault {
  readonly name: string;
  /** Whether edges may be cut off from PostgreSQL until all nodes are ready. */
  readonly cuts: boolean;
  inject(): Promise<void>;
}

/** The product under test. */
export interface System {
  /** A restart may change the addresses. */
  readonly target: Target;
  readonly faults: readonly SystemFault[];
  stop(): Promise<void>;
}

interface SystemOptions {
  /** Kafka brokers; 0: the embedded product. */
  readonly brokers: number;
  readonly faults: number;
  readonly random: Random;
  readonly env: Readonly<Record<string, string>>;
}

/** The maximum duration of a pause or a link failure. */
const longestMs = 15_000;

/** Two processes of each service, with their servers behind links. */
const startStack = async ({ brokers, faults, random, env }: SystemOptions): Promise<System> => {
  const stack = await startLinkedStack({ brokers, nodes: 2 }, env);
  const plan = planFaults({ faults, rolling: 0 }, stack.pids, random, () => true);
  return {
    target: stack,
    faults: plan.map((fault) => ({
      name: `${fault.type} ${fault.part} ${fault.index}`,
      cuts: fault.part === 'postgres',
      async inject() {
        await inject(stack, fault, durationOf(random, longestMs));
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
    if (withPostgres) await product.killTree();
    else process.kill(product.pid, 'SIGKILL');
    product = await start();
  };
  return {
    get target() {
      return product;
    },
    faults: Array.from({ length: faults }, (_, index) => ({
      name: index % 2 === 0 ? 'kill node' : 'kill node and postgres',
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
