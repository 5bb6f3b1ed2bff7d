import { randomInt } from 'node:crypto';
import { Command } from 'commander';
import { stopTestServer } from '../support/database.js';
import { wholeNumber } from '../support/options.js';
import { proveStatistics } from './statistics-proof.js';

const command = new Command('statistics')
  .description(
    'Kills projectors with -9 under visits, and compares the statistics with the answers.',
  )
  .option('--visits <count>', 'in all', wholeNumber, 1_000_000)
  .option('--links <count>', 'a multiple of 50', wholeNumber, 1_000)
  .option('--clients <count>', 'at once', wholeNumber, 64)
  .option('--kill-every <ms>', 'from one kill to the next', wholeNumber, 5_000)
  .option('--seed <number>', 'repeats the visits of a run', wholeNumber, randomInt(1, 2 ** 31))
  .parse();
const { killEvery: killEveryMs, ...options } =
  command.opts<Record<'visits' | 'links' | 'clients' | 'killEvery' | 'seed', number>>();

process.stdout.write(`seed ${options.seed}\n`);
const wrong = await proveStatistics({
  ...options,
  killEveryMs,
  onProgress: (answered, kills) => {
    process.stdout.write(`${answered} visits answered, ${kills} projectors killed\n`);
  },
});
await stopTestServer();
for (const line of wrong) process.stdout.write(`WRONG: ${line}\n`);
process.stdout.write(
  wrong.length === 0
    ? 'every number is what was answered\n'
    : `seed ${options.seed} shows it again\n`,
);
process.exitCode = wrong.length === 0 ? 0 : 1;
