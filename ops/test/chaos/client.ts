import { randomInt } from 'node:crypto';
import { Command } from 'commander';
import { wholeNumber } from '../support/options.js';
import { markdownTable } from '../support/table.js';
import { clientRounds } from './client-rounds.js';

const options = new Command('chaos:client')
  .description(
    'Creates links with @linklog/client through a proxy that drops, delays, duplicates, silences and cuts a fifth of ' +
      'the requests, while an API of the stack is killed (-9) every 5 s, and reads the events of the links through the ' +
      'same proxy. Each returned link must exist once, and no second one; each event must arrive once, in order.',
  )
  .option('--links <count>', 'how many to create', wholeNumber, 10_000)
  .option('--events <count>', 'how many to write and to read', wholeNumber, 100_000)
  .option('--seed <number>', 'repeats the faults of a run', wholeNumber, randomInt(1, 2 ** 31))
  .parse()
  .opts<Record<'links' | 'events' | 'seed', number>>();

// Child processes are killed at exit, which a signal alone does not trigger.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

process.stdout.write(`seed ${options.seed}\n`);
const { figures, broken } = await clientRounds({
  ...options,
  onProgress: (line) => process.stdout.write(`${line}\n`),
});
const shown = broken.slice(0, 20);
for (const promise of shown) process.stdout.write(`BROKEN: ${promise}\n`);
const rows = Object.entries({ ...figures, 'broken promises': broken.length });
process.stdout.write(markdownTable(['', 'Count'], rows));
process.exitCode = broken.length === 0 ? 0 : 1;
