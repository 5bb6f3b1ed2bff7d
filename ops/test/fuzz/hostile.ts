import { Command } from 'commander';
import { randomInt } from 'node:crypto';
import { wholeNumber } from '../support/options.js';
import { Bench } from '../e2e/harness.js';
import { hostileEnvironment, startHostileRun } from '../e2e/hostile/run.js';
import { collectGarbageOf, preloaded } from './memory.js';

const command = new Command('fuzz:hostile')
  .description('Sends hostile requests to the three listeners, and checks each response.')
  .option('--count <number>', 'requests, a multiple of 1,000', wholeNumber, 100_000)
  .option('--seed <number>', 'repeats the requests of a run', wholeNumber, randomInt(1, 2 ** 31))
  .parse();
const { count, seed } = command.opts<{ count: number; seed: number }>();

/** Requests of a portion. */
const portion = 1_000;
/** Portions before the first measurement of memory: until then the heap of V8 grows. */
const warmUp = 30;
/** Growth of the memory, as a fraction. */
const maxGrowth = 0.1;
/** Faults in the report. */
const shown = 10;

/** MiB, after a garbage collection. */
const readMemory = async ({ product }: Bench): Promise<number> => {
  await collectGarbageOf(product);
  return product.rssMiB();
};

process.stdout.write(`seed ${seed}\n`);
const bench = new Bench();
await bench.start({ ...(await hostileEnvironment()), NODE_OPTIONS: preloaded });
try {
  const run = await startHostileRun(bench);
  for (let part = 0; part < warmUp; part += 1) await run.send(portion, seed + part);
  const before = await readMemory(bench);
  const startedAt = performance.now();
  for (let part = 0; part < count / portion; part += 1) {
    await run.send(portion, seed + warmUp + part);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  run.end();
  const after = await readMemory(bench);
  const growth = after / before - 1;
  const errors = bench.product
    .stderr()
    .split('\n')
    .filter((line) => line.includes('"level":50'));
  const lines = [
    `${run.faults.length} faults, ${errors.length} errors logged, in ${Math.round(seconds)} s`,
    `memory: ${before.toFixed(1)} MiB before, ${after.toFixed(1)} MiB after (${(growth * 100).toFixed(1)} %)`,
    ...run.faults.slice(0, shown),
    ...errors.slice(0, shown),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  process.exitCode = run.faults.length + errors.length === 0 && growth <= maxGrowth ? 0 : 1;
} finally {
  await bench.end();
}
