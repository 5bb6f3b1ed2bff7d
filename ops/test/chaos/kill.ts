import { randomInt } from 'node:crypto';
import { Command } from 'commander';
import { killRounds, steady } from './kill-rounds.js';
import { wholeNumber } from '../support/options.js';

const command = new Command('chaos')
  .description('Kills the product (-9) under load and checks its promises, round by round.')
  .option('--rounds <count>', 'kills', wholeNumber, 20)
  .option('--minutes <count>', 'duration under a steady load, instead of rounds', wholeNumber)
  .option('--seed <number>', 'repeats the kills of a run', wholeNumber, randomInt(1, 2 ** 31))
  .parse();
const { rounds, minutes, seed } = command.opts<{
  rounds: number;
  minutes?: number;
  seed: number;
}>();

process.stdout.write(`seed ${seed}\n`);
const broken = await killRounds({
  seed,
  ...(minutes === undefined
    ? { rounds }
    : { rounds: Infinity, load: steady, withinMs: minutes * 60_000 }),
  onRound: (line) => process.stdout.write(`${line}\n`),
});
for (const promise of broken) process.stdout.write(`BROKEN: ${promise}\n`);
process.exitCode = broken.length === 0 ? 0 : 1;
