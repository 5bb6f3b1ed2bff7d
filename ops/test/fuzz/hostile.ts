import { Command } from 'commander';
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { wholeNumber } from '../chaos/options.js';
import { Bench } from '../e2e/harness.js';
import { hostileEnvironment, startHostileRun, type HostileRun } from '../e2e/hostile/run.js';

const command = new Command('fuzz:hostile')
  .description('Sends hostile requests to the three listeners, and judges each answer.')
  .option('--count <number>', 'requests, in whole thousands', wholeNumber, 100_000)
  .option('--seed <number>', 'gives the same requests again', wholeNumber, randomInt(1, 2 ** 31))
  .parse();
const { count, seed } = command.opts<{ count: number; seed: number }>();

/** Requests at a time. */
const portion = 1_000;
/** Portions before the first look at the memory: until then V8's heap grows to the size that it keeps. */
const warmUp = 30;
/** What the memory may have grown by in the end. */
const maxGrowth = 0.1;
/** Of the faults, in the report. */
const shown = 10;

/** MiB, after all garbage was collected. */
const memoryOf = async ({ product }: Bench): Promise<number> => {
  for (let round = 0; round < 3; round += 1) {
    process.kill(product.pid, 'SIGUSR2');
    await sleep(2_000);
  }
  return product.rssMiB();
};

const table = ({ outcomes }: HostileRun): string[] => [
  '| Kind | Requests | Outcomes |',
  '| --- | ---: | --- |',
  ...[...outcomes].sort().map(([kind, counts]) => {
    const total = [...counts.values()].reduce((sum, each) => sum + each, 0);
    const each = [...counts].sort().map(([outcome, times]) => `${outcome}: ${times}`);
    return `| ${kind} | ${total} | ${each.join(', ')} |`;
  }),
];

process.stdout.write(`seed ${seed}\n`);
const bench = new Bench();
const preloaded = new URL('../support/collect-garbage.js', import.meta.url).href;
await bench.start({ ...(await hostileEnvironment()), NODE_OPTIONS: `--import=${preloaded}` });
try {
  const run = await startHostileRun(bench);
  for (let part = 0; part < warmUp; part += 1) await run.send(portion, seed + part);
  run.outcomes.clear();
  const before = await memoryOf(bench);
  const began = performance.now();
  for (let part = 0; part < count / portion; part += 1) {
    await run.send(portion, seed + warmUp + part);
  }
  const seconds = (performance.now() - began) / 1_000;
  run.end();
  const after = await memoryOf(bench);
  const growth = after / before - 1;
  const errors = bench.product
    .stderr()
    .split('\n')
    .filter((line) => line.includes('"level":50'));
  const lines = [
    ...table(run),
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
