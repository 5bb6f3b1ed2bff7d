import { randomInt } from 'node:crypto';
import { Command } from 'commander';
import { wholeNumber, wholeNumberOrZero } from '../support/options.js';
import { stackRounds } from './stack-rounds.js';

const options = new Command('chaos:stack')
  .description(
    'Kills (-9) and pauses every part of the stack under a steady load, makes the links to Kafka, PostgreSQL and ' +
      'Redis silent, slow and half-open, and restarts brokers; checks promises after each fault, and compares Kafka ' +
      'with all acknowledged requests at the end.',
  )
  .option('--brokers <count>', 'Kafka brokers, 1 to 5', wholeNumber, 3)
  .option('--faults <count>', 'how many', wholeNumber, 100)
  .option('--rolling <count>', 'additional rolling restarts of all brokers', wholeNumberOrZero, 0)
  .option('--seed <number>', 'repeats the faults of a run', wholeNumber, randomInt(1, 2 ** 31))
  .parse()
  .opts<Record<'brokers' | 'faults' | 'rolling' | 'seed', number>>();

// Child processes are killed at exit, which a signal alone does not trigger.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

process.stdout.write(`seed ${options.seed}\n`);
const { broken, links } = await stackRounds({
  ...options,
  longestMs: 15_000,
  onProgress: (line) => process.stdout.write(`${line}\n`),
});
for (const promise of broken) process.stdout.write(`BROKEN: ${promise}\n`);
process.stdout.write(`${links.length} links, ${broken.length} promises broken\n`);
process.exitCode = broken.length === 0 ? 0 : 1;
