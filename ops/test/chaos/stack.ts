import { randomInt } from 'node:crypto';
import { Command } from 'commander';
import { partKinds } from '../../local/stack/parts.js';
import { wholeNumber } from './options.js';
import { reportOf } from './report.js';
import { stackRounds } from './stack-rounds.js';

/** What is killed or paused. */
const kinds: readonly string[] = partKinds;

const command = new Command('chaos:stack')
  .description(
    'Kills every part of the stack with -9 under a steady load, one after another, and pauses each ' +
      'of them; checks after each what was promised.',
  )
  .option('--faults <count>', 'how many', wholeNumber, 100)
  .option('--seed <number>', 'gives the same faults again', wholeNumber, randomInt(1, 2 ** 31))
  .option('--creates <rate>', 'links made a second', wholeNumber, 20)
  .option('--visits <rate>', 'visits a second', wholeNumber, 200)
  .option('--pause-seconds <seconds>', 'how long a part is paused at most', wholeNumber, 30)
  .option('--pauses', 'pauses alone')
  .option('--only <kinds...>', `of ${kinds.join(', ')}`)
  .option('--minutes <minutes>', 'no further fault after as long', wholeNumber)
  .option('--pause <ms>', 'at most, before each fault', wholeNumber, 3_000)
  .parse();
const {
  faults,
  seed,
  creates,
  visits,
  pauseSeconds,
  pause,
  minutes = Infinity,
  only = kinds,
  pauses,
} = command.opts<
  Record<'faults' | 'seed' | 'creates' | 'visits' | 'pauseSeconds' | 'pause', number> & {
    pauses?: true;
    minutes?: number;
    only?: readonly string[];
  }
>();

const [stranger] = only.filter((kind) => !kinds.includes(kind));
if (stranger !== undefined) command.error(`error: there is no ${stranger} to be killed`);

// What was started is ended at the exit, which a signal alone would not be.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const startedAt = performance.now();
const say = (line: string): void => {
  process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s: ${line}\n`);
};
say(`seed ${seed}: ${faults} faults under ${creates} creates and ${visits} visits a second`);
const outcome = await stackRounds({
  faults,
  seed,
  pace: {
    // Enough askers for answers that take 2 s, which is what a log that is away takes.
    creations: { perSecond: creates, atOnce: creates * 2 },
    visits: { perSecond: visits, atOnce: Math.ceil(visits / 3) },
  },
  withinMs: minutes * 60_000,
  longestPauseMs: pauseSeconds * 1_000,
  pauseMs: pause,
  only: ({ type, part }) => only.includes(part) && (pauses !== true || type === 'pause'),
  onProgress: say,
});
process.stdout.write(`${reportOf(outcome)}\n`);
process.stdout.write(
  `seed ${seed}, ${creates} creates and ${visits} visits a second, ` +
    `${Math.round((performance.now() - startedAt) / 1_000)} s\n`,
);
process.exitCode = outcome.broken.length === 0 ? 0 : 1;
