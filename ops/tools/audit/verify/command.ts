import {
  isClean,
  type DifferentColumn,
  type ExplainedDifference,
  type Gap,
  type MissingEvents,
  type RowPlace,
  type Verification,
} from './report.js';
import { verify as verifyAll } from './verify.js';
import type { Config } from '../../../config/config.js';
import type { Command, CommandContext } from '../../cli/command.js';
import { several } from '../../cli/arguments.js';
import { runOnDatabase } from '../../cli/database.js';
import { CliError } from '../../cli/errors.js';
import { secondsSince } from '../../cli/long-work.js';
import { count, counted, plain, table, type Answer } from '../../cli/output.js';
import { verifySealsOf } from '../seals/command.js';

const placeOf = ({ in: where, topic, partition, offset }: RowPlace): string =>
  `${where === 'outbox' ? 'outbox of ' : ''}${topic}/${partition} at ${offset}`;

const valueOf = (value: unknown): string => (value === undefined ? '-' : JSON.stringify(value));

const headlines: Record<ExplainedDifference['kind'], string> = {
  differs: 'is not what the log gives',
  missing: 'is missing: the log gives it',
  extra: 'is not in the log',
};

const columnLine = ({ name, found, expected }: DifferentColumn): string =>
  `  ${name}: ${valueOf(found)} here, ${valueOf(expected)} by the log`;

const differenceText = (difference: ExplainedDifference): string => {
  const { model, table: name, key, kind, columns, events, eventCount } = difference;
  const keys = Object.entries(key).map(([column, value]) => `${column}=${String(value)}`);
  const omitted = eventCount - events.length;
  return [
    `${model}.${name} ${keys.join(' ')} ${headlines[kind]}`,
    ...columns.map(columnLine),
    ...events.map((event) => {
      const what = event.type === null ? 'cannot be read' : `${event.type} ${event.time ?? ''}`;
      return `  ${placeOf(event)}: ${what}${event.data === null ? '' : ` ${valueOf(event.data)}`}`;
    }),
    ...(omitted > 0 ? [`  … and ${counted(omitted, 'event')} between these`] : []),
  ].join('\n');
};

const gapText = ({ from, to, ...place }: Gap): string =>
  `${placeOf({ ...place, offset: from })} has no event` +
  (to - from === 1 ? '' : `, nor up to ${to - 1}`);

const missingText = ({ topic, origin, first, count: events }: MissingEvents): string =>
  `${topic} lacks ${counted(events, 'event')} of ${plain(origin)}` +
  (first === null ? '' : `, the first one with sequence ${first}`);

const answerOf = (found: Verification, seconds: number): Answer => {
  const { events, tables, differences, gaps, missing, setAside } = found;
  const clean = isClean(found);
  const rows = tables.reduce((sum, compared) => sum + compared.rows, 0);
  const wrong = tables.reduce((sum, compared) => sum + compared.differences, 0);
  const moreOrigins = missing.origins - missing.reported.length;
  const notes = setAside.map(
    ({ model, deadLetters, parked }) =>
      `${model} has set aside ${counted(deadLetters, 'dead letter')}, ${count(parked)} parked`,
  );
  const head = `Verified ${counted(rows, 'row')} against ${counted(events, 'event')} in ${seconds.toFixed(2)} s`;
  const verdict = clean
    ? 'every row is what the log gives'
    : [
        ...(wrong > 0 ? [`${counted(wrong, 'row')} differ`] : []),
        ...(gaps.length > 0 ? [`${counted(gaps.length, 'gap')} in the log`] : []),
        ...(missing.events > 0 ? [`${counted(missing.events, 'event')} missing from the log`] : []),
      ].join(', ');
  const cells = tables.map((compared) => [
    `${compared.model}.${compared.table}`,
    count(compared.rows),
    count(compared.differences),
  ]);
  return {
    json: { clean, seconds, ...found },
    text: [
      `${head}: ${verdict}`,
      table(['TABLE', 'ROWS', 'DIFFERENCES'], cells),
      ...gaps.map(gapText),
      ...missing.reported.map(missingText),
      ...(moreOrigins > 0 ? [`… and ${counted(moreOrigins, 'origin')} more; see --limit`] : []),
      ...differences.map(differenceText),
      ...(wrong > differences.length
        ? [`… and ${counted(wrong - differences.length, 'row')} more; see --limit`]
        : []),
    ].join('\n\n'),
    ...(notes.length > 0 && { notice: notes.join('; ') }),
    exitCode: clean ? 0 : 1,
  };
};

const verify = async (config: Config, limit: number): Promise<Answer> => {
  const words = {
    title: 'verify',
    stopped: 'the verification was stopped; nothing is left of it, and nothing was changed',
    ended: 'the verification was ended at once; nothing was changed',
  };
  const started = performance.now();
  const found = await runOnDatabase(config, { ...words, deadlines: 'patient' }, (database) =>
    verifyAll({ ...database, limit }),
  );
  return answerOf(found, secondsSince(started));
};

const limitOf = (word: string): number => {
  if (!/^[1-9]\d{0,5}$/.test(word)) {
    throw new CliError('USAGE', `--limit is a whole number from 1 to 999999, not ${word}`);
  }
  return Number(word);
};

interface Options {
  readonly limit: number;
  readonly seals?: true;
  readonly publicKey?: readonly string[];
  readonly checkpoint?: string;
}

export const addVerifyCommand = (audit: Command, { readConfig, print }: CommandContext): void => {
  audit
    .command('verify')
    .description('fold the whole log again, and compare every row of the live tables with it')
    .option(
      '--limit <number>',
      'rows of each table, and origins of missing events, that are reported at most',
      limitOf,
      10,
    )
    .option('--seals', 'instead: see that no event that was sealed is changed, gone or moved')
    .option(
      '--public-key <file>',
      'with --seals: a key that is trusted; again after a change',
      several((file) => file),
    )
    .option('--checkpoint <file>', 'with --seals: what "linklog audit seal --export" wrote last')
    .notes(
      `
The service may run meanwhile, and nothing of it is changed: the folds are temporary tables, for which
PostgreSQL needs as much room as for the live ones. Read models are compared at their checkpoints, the
ledger with the outbox, all as they were at one moment. Each event has a sequence that ascends by 1 in its
subject or spool: an event that the log lacks is counted as missing. Exit code 1 when a row differs or an
event is missing.

Examples:
  $ linklog audit verify
  $ linklog audit verify --seals --public-key linklog-seal.pub.pem --checkpoint seals.json
  $ linklog audit verify --json | jq '.differences[] | {model, table, key, columns}'`,
    )
    .action(async (options: Options) => {
      const config = readConfig();
      const { seals, publicKey: publicKeys, checkpoint, limit } = options;
      if (seals && publicKeys === undefined) {
        throw new CliError('USAGE', '--public-key is missing; see "linklog audit verify --help"');
      }
      if (!seals && (publicKeys !== undefined || checkpoint !== undefined)) {
        throw new CliError('USAGE', '--public-key and --checkpoint go with --seals');
      }
      const answer = publicKeys
        ? await verifySealsOf(config, { publicKeys, checkpoint })
        : await verify(config, limit);
      print(answer);
    });
};
