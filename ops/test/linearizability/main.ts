import { randomInt } from 'node:crypto';
import path from 'node:path';
import { Command, Option } from 'commander';
import { wholeNumber, wholeNumberOrZero } from '../support/options.js';
import { temporaryDir } from '../support/process.js';
import { tryMutations } from './mutations.js';
import { kindNames, type Kind } from './objects.js';
import { runAndCheck } from './run.js';

type Options = Record<'brokers' | 'faults' | 'seconds' | 'seed', number> &
  Record<'embedded' | 'standby' | 'mutations', boolean> & {
    readonly kinds: readonly Kind[];
  } & Partial<Record<'only' | 'folder', string>>;

const options = new Command('linearizability')
  .description(
    'Uses aliases, links with limits, destinations and quotas concurrently while parts of the stack fail, and checks ' +
      'the history of all operations with Porcupine.',
  )
  .option('--brokers <count>', 'Kafka brokers, 1 to 5', wholeNumber, 3)
  .option('--embedded', 'one process with an embedded PostgreSQL, killed with -9', false)
  .option('--standby', 'PostgreSQL fails over to a synchronous standby', false)
  .option('--faults <count>', 'how many', wholeNumberOrZero, 20)
  .option('--seconds <count>', 'the maximum duration', wholeNumber, 86_400)
  .option('--seed <number>', 'repeats the faults of a run', wholeNumber, randomInt(1, 2 ** 31))
  .addOption(new Option('--kinds <names...>', 'of objects').choices(kindNames).default(kindNames))
  .option('--folder <path>', 'for the history and the picture of a violation')
  .option('--mutations', 'checks the checker with faulty versions of the product', false)
  .option('--only <text>', 'only mutations whose name contains the text')
  .parse()
  .opts<Options>();

// Child processes are killed at exit, which a signal alone does not trigger.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const report = (line: string): void => void process.stdout.write(`${line}\n`);
const { seed, faults, seconds, kinds, embedded, standby: hasStandby } = options;
report(`seed ${seed}`);
const folder = options.folder === undefined ? await temporaryDir() : path.resolve(options.folder);
if (options.mutations) {
  const { table, missed } = await tryMutations({ seed, folder, only: options.only ?? '', report });
  report(table);
  process.exitCode = missed === 0 ? 0 : 1;
} else {
  const brokers = embedded ? 0 : options.brokers;
  const run = { brokers, faults, hasStandby, seconds, seed, kinds, folder };
  const verdict = await runAndCheck({ ...run, onProgress: report });
  report(`history in ${folder}`);
  report(verdict.report);
  process.exitCode = verdict.exitCode ?? 2;
}
