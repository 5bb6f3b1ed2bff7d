import { randomInt } from 'node:crypto';
import { Command } from 'commander';
import { endShared } from '../support/at-end.js';
import { wholeNumber } from '../support/options.js';
import { proveStatistics } from './statistics-proof.js';

const command = new Command('statistics')
  .description(
    'Kills projectors (-9) during visits, and compares the statistics with the responses.',
  )
  .option('--visits <count>', 'number of visits', wholeNumber, 1_000_000)
  .option('--links <count>', 'a multiple of 50', wholeNumber, 1_000)
  .option('--clients <count>', 'concurrent clients', wholeNumber, 64)
  .option('--kill-every <ms>', 'time between kills', wholeNumber, 5_000)
  .option('--seed <number>', 'repeats the visits of a run', wholeNumber, randomInt(1, 2 ** 31))
  .parse();
const { killEvery: killEveryMs, ...options } =
  command.opts<Record<'visits' | 'links' | 'clients' | 'killEvery' | 'seed', number>>();

process.stdout.write(`seed ${options.seed}\n`);
const wrong = await proveStatistics({
  ...options,
  killEveryMs,
  onProgress: (responses, kills) => {
    process.stdout.write(`${responses} visits, ${kills} projectors killed\n`);
  },
});
await endShared();
for (const line of wrong) process.stdout.write(`WRONG: ${line}\n`);
process.stdout.write(
  wrong.length === 0
    ? 'every number equals the count of responses\n'
    : `--seed ${options.seed} repeats the visits\n`,
);
process.exitCode = wrong.length === 0 ? 0 : 1;
