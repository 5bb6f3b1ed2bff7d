import { randomInt } from 'node:crypto';
import { Command } from 'commander';
import { killRounds, steady } from './kill-rounds.js';
import { ledgerFaults } from './ledger-faults.js';
import { wholeNumber } from '../support/options.js';

const command = new Command('chaos')
  .description('Kills the product (-9) under load and checks its promises, round by round.')
  .option('--rounds <count>', 'kills', wholeNumber, 20)
  .option('--minutes <count>', 'duration under a steady load, instead of rounds', wholeNumber)
  .option('--ledger', 'injects faults into the transactions of the ledger instead')
  .option('--faults <count>', 'faults, with --ledger', wholeNumber, 1_000_000)
  .option('--seed <number>', 'repeats the kills of a run', wholeNumber, randomInt(1, 2 ** 31))
  .parse();
const { rounds, minutes, seed, ledger, faults } = command.opts<{
  rounds: number;
  minutes?: number;
  seed: number;
  ledger?: true;
  faults: number;
}>();

/** @returns the broken promises */
const failTransactions = async (): Promise<readonly string[]> => {
  const startedAt = performance.now();
  const result = await ledgerFaults({
    faults,
    seed,
    onProgress(line) {
      const seconds = Math.round((performance.now() - startedAt) / 1_000);
      process.stdout.write(`${seconds} s: ${line}\n`);
    },
  });
  for (const [name, { acknowledged, failed, unknown }] of Object.entries(result.outcomes)) {
    process.stdout.write(
      `${name}: ${acknowledged} acknowledged, ${failed} failed, ${unknown} with an unknown outcome\n`,
    );
  }
  return result.broken;
};

process.stdout.write(`seed ${seed}\n`);
const killProcesses = (): Promise<readonly string[]> =>
  killRounds({
    seed,
    ...(minutes === undefined
      ? { rounds }
      : { rounds: Infinity, load: steady, withinMs: minutes * 60_000 }),
    onRound: (round) => {
      const { loadMs, restartMs, links, redirects, unanswered, changes } = round;
      process.stdout.write(
        `round ${round.round}: killed after ${Math.round(loadMs)} ms, ready again in ` +
          `${Math.round(restartMs)} ms; ${links} links, ${redirects} redirects, ` +
          `${unanswered} visits without a response, ${changes} changes; ${round.broken.length} promises broken\n`,
      );
    },
  });
const broken = await (ledger ? failTransactions() : killProcesses());
for (const promise of broken) process.stdout.write(`BROKEN: ${promise}\n`);
process.stdout.write(
  broken.length === 0 ? 'every promise held\n' : `--seed ${seed} repeats the run\n`,
);
process.exitCode = broken.length === 0 ? 0 : 1;
