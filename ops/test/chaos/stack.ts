import { randomInt } from 'node:crypto';
import { Command, InvalidArgumentError } from 'commander';
import { partKinds } from '../../local/stack/parts.js';
import { maxBrokers } from '../../local/stack/topology.js';
import { faultTypes } from './faults.js';
import { wholeNumber, wholeNumberOrZero } from '../support/options.js';
import { reportOf } from './report.js';
import { stackRounds } from './stack-rounds.js';

const brokerCount = (text: string): number => {
  const value = wholeNumber(text);
  if (value > maxBrokers) throw new InvalidArgumentError(`at most ${maxBrokers} are possible`);
  return value;
};

/** What fails, and how. */
const kinds: readonly string[] = partKinds;
const types: readonly string[] = faultTypes;

const command = new Command('chaos:stack')
  .description(
    'Kills every part of the stack with -9 under a steady load, pauses each of them, and makes the links ' +
      'to Kafka, PostgreSQL and Redis silent, slow and half-open, one after another; checks after each ' +
      'what was promised, and that each answer came in time. With several Kafka brokers, also restarts ' +
      'them, one alone or one after another, and moves partitions and leaders. At the end, counts in Kafka ' +
      'what was acknowledged.',
  )
  .option('--brokers <count>', 'Kafka brokers, 1 to 5', brokerCount, 3)
  .option('--faults <count>', 'how many', wholeNumber, 100)
  .option(
    '--rolling <count>',
    'restarts of all brokers, one after another, besides (default: 5)',
    wholeNumberOrZero,
  )
  .option('--seed <number>', 'repeats the faults of a run', wholeNumber, randomInt(1, 2 ** 31))
  .option('--creates <rate>', 'links made a second', wholeNumber, 10)
  .option('--visits <rate>', 'visits a second', wholeNumber, 100)
  .option('--longest <seconds>', 'a pause, or a failing link; most are short', wholeNumber, 15)
  .option('--types <types...>', `of ${types.join(', ')}`)
  .option('--only <kinds...>', `of ${kinds.join(', ')}`)
  .option('--minutes <minutes>', 'no further fault after as long', wholeNumber)
  .option('--pause <ms>', 'at most, before each fault', wholeNumber, 500)
  .option(
    '--kafkajs-retries',
    'lets kafkajs retry, which loses records: the checks must fail',
    false,
  )
  .parse();
const {
  brokers,
  kafkajsRetries,
  faults,
  seed,
  creates,
  visits,
  longest,
  pause,
  minutes = Infinity,
  only = kinds,
  types: onlyTypes = types,
  rolling = brokers > 1 ? 5 : 0,
} = command.opts<
  Record<'brokers' | 'faults' | 'seed' | 'creates' | 'visits' | 'longest' | 'pause', number> & {
    kafkajsRetries: boolean;
    rolling?: number;
    types?: readonly string[];
    minutes?: number;
    only?: readonly string[];
  }
>();

const [stranger] = [
  ...only.filter((kind) => !kinds.includes(kind)),
  ...onlyTypes.filter((type) => !types.includes(type)),
];
if (stranger !== undefined) command.error(`error: there is no ${stranger}`);

if (brokers === 1 && rolling > 0) command.error('error: a rolling restart needs several brokers');

// What was started is ended at the exit, which a signal alone would not be.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const startedAt = performance.now();
const say = (line: string): void => {
  process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s: ${line}\n`);
};
say(
  `seed ${seed}: ${faults} faults and ${rolling} rolling restarts, ${brokers} brokers, under ${creates} creates and ${visits} visits a second`,
);
const outcome = await stackRounds({
  brokers,
  faults,
  rolling,
  kafkajsRetries,
  seed,
  pace: {
    // Enough askers for answers that take 2 s, which is what a log that is away takes.
    creations: { perSecond: creates, clients: creates * 2 },
    visits: { perSecond: visits, clients: Math.ceil(visits / 3) },
  },
  withinMs: minutes * 60_000,
  longestMs: longest * 1_000,
  pauseMs: pause,
  only: ({ type, part }) => only.includes(part) && onlyTypes.includes(type),
  onProgress: say,
});
process.stdout.write(`${reportOf(outcome)}\n`);
process.stdout.write(
  `seed ${seed}, ${creates} creates and ${visits} visits a second, ` +
    `${Math.round((performance.now() - startedAt) / 1_000)} s\n`,
);
const isLate = outcome.suffered.some(({ judgement }) => judgement.late.length > 0);
process.exitCode = outcome.broken.length === 0 && !isLate ? 0 : 1;
