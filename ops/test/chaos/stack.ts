import { randomInt } from 'node:crypto';
import { Command, InvalidArgumentError } from 'commander';
import { partKinds } from '../../local/stack/parts.js';
import { maxBrokers } from '../../local/stack/topology.js';
import { faultTypes } from './faults.js';
import { wholeNumber, wholeNumberOrZero } from '../support/options.js';
import { formatReport } from './report.js';
import { stackRounds } from './stack-rounds.js';

const brokerCount = (text: string): number => {
  const value = wholeNumber(text);
  if (value > maxBrokers) throw new InvalidArgumentError(`at most ${maxBrokers} are possible`);
  return value;
};

const kinds: readonly string[] = partKinds;
const types: readonly string[] = faultTypes;

const command = new Command('chaos:stack')
  .description(
    'Kills (-9) and pauses every part of the stack under a steady load, and makes the links to Kafka, ' +
      'PostgreSQL and Redis silent, slow and half-open, one after another; checks promises and deadlines ' +
      'after each fault. With several Kafka brokers, also restarts brokers, and moves partitions and ' +
      'leaders. At the end, compares Kafka with the acknowledged requests.',
  )
  .option('--brokers <count>', 'Kafka brokers, 1 to 5', brokerCount, 3)
  .option('--faults <count>', 'how many', wholeNumber, 100)
  .option(
    '--rolling <count>',
    'additional rolling restarts of all brokers (default: 5)',
    wholeNumberOrZero,
  )
  .option('--seed <number>', 'repeats the faults of a run', wholeNumber, randomInt(1, 2 ** 31))
  .option('--creates <rate>', 'links created a second', wholeNumber, 10)
  .option('--visits <rate>', 'visits a second', wholeNumber, 100)
  .option('--longest <seconds>', 'maximum duration of a pause or a link failure', wholeNumber, 15)
  .option('--types <types...>', `of ${types.join(', ')}`)
  .option('--only <kinds...>', `of ${kinds.join(', ')}`)
  .option('--minutes <minutes>', 'no fault starts later', wholeNumber)
  .option('--pause <ms>', 'maximum time before each fault', wholeNumber, 500)
  .option(
    '--kafkajs-retries',
    'enables the retries of kafkajs, which lose records: the checks must fail',
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

// Child processes are killed at exit, which a signal alone does not trigger.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const startedAt = performance.now();
const log = (line: string): void => {
  process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s: ${line}\n`);
};
log(
  `seed ${seed}: ${faults} faults and ${rolling} rolling restarts, ${brokers} brokers, under ${creates} creates and ${visits} visits a second`,
);
const outcome = await stackRounds({
  brokers,
  faults,
  rolling,
  kafkajsRetries,
  seed,
  pace: {
    // Enough clients for responses of 2 s, the deadline without the log.
    creations: { perSecond: creates, clients: creates * 2 },
    visits: { perSecond: visits, clients: Math.ceil(visits / 3) },
  },
  withinMs: minutes * 60_000,
  longestMs: longest * 1_000,
  pauseMs: pause,
  only: ({ type, part }) => only.includes(part) && onlyTypes.includes(type),
  onProgress: log,
});
process.stdout.write(`${formatReport(outcome)}\n`);
process.stdout.write(
  `seed ${seed}, ${creates} creates and ${visits} visits a second, ` +
    `${Math.round((performance.now() - startedAt) / 1_000)} s\n`,
);
const isLate = outcome.reports.some(({ deadlines }) => deadlines.late.length > 0);
process.exitCode = outcome.broken.length === 0 && !isLate ? 0 : 1;
