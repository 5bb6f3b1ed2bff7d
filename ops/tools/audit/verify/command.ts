import {
  isClean,
  type DifferentColumn,
  type ExplainedDifference,
  type Gap,
  type MissingEvents,
  type RowPosition,
  type Verification,
} from './report.js';
import { verify as verifyAll } from './verify.js';
import type { Config } from '../../../config/config.js';
import type { AddCommands } from '../../cli/command.js';
import { several } from '../../cli/arguments.js';
import { runOnDatabase } from '../../cli/database.js';
import { CliError } from '../../cli/errors.js';
import { secondsSince } from '../../cli/long-work.js';
import { count, counted, plain, table, type Output } from '../../cli/output.js';
import { linklogCommand } from '../../../platform/process/own-command.js';
import { verifySealsOf } from '../seals/command.js';

const formatPosition = ({ in: where, topic, partition, offset }: RowPosition): string =>
  `${where === 'outbox' ? 'outbox of ' : ''}${topic}/${partition} at ${offset}`;

const valueOf = (value: unknown): string => (value === undefined ? '-' : JSON.stringify(value));

const headlines: Record<ExplainedDifference['kind'], string> = {
  differs: 'differs from the log',
  missing: 'is missing, but in the log',
  extra: 'is not in the log',
};

const columnLine = ({ name, found, expected }: DifferentColumn): string =>
  `  ${name}: ${valueOf(found)} in the table, ${valueOf(expected)} in the log`;

const differenceText = (difference: ExplainedDifference): string => {
  const { model, table: name, key, kind, columns, events, eventCount } = difference;
  const keys = Object.entries(key).map(([column, value]) => `${column}=${String(value)}`);
  const omitted = eventCount - events.length;
  return [
    `${model}.${name} ${keys.join(' ')} ${headlines[kind]}`,
    ...columns.map(columnLine),
    ...events.map((event) => {
      const what = event.type === null ? 'cannot be read' : `${event.type} ${event.time ?? ''}`;
      return `  ${formatPosition(event)}: ${what}${event.data === null ? '' : ` ${valueOf(event.data)}`}`;
    }),
    ...(omitted > 0 ? [`  … and ${counted(omitted, 'event')} between these`] : []),
  ].join('\n');
};

const gapText = ({ from, to, ...position }: Gap): string =>
  `${formatPosition({ ...position, offset: from })} has no event` +
  (to - from === 1 ? '' : `, nor up to ${to - 1}`);

const missingText = ({ topic, origin, first, count: events }: MissingEvents): string =>
  `${topic}: ${counted(events, 'event')} of ${plain(origin)} missing` +
  (first === null ? '' : `, the first one with sequence ${first}`);

const outputOf = (found: Verification, seconds: number): Output => {
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
    ? 'every row matches the log'
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

const verify = async (config: Config, limit: number): Promise<Output> => {
  const reporting = { title: 'verify', work: 'the verification', stopped: 'nothing was changed' };
  const started = performance.now();
  const found = await runOnDatabase(config, { ...reporting, deadlines: 'patient' }, (database) =>
    verifyAll({ ...database, limit }),
  );
  return outputOf(found, secondsSince(started));
};

const limitOf = (word: string): number => {
  if (!/^[1-9]\d{0,5}$/.test(word)) {
    throw new CliError('USAGE', `--limit must be a whole number from 1 to 999999, not ${word}`);
  }
  return Number(word);
};

interface Options {
  readonly limit: number;
  readonly seals?: true;
  readonly publicKey?: readonly string[];
  readonly checkpoint?: string;
}

export const addVerifyCommand: AddCommands = (audit, { readConfig, print }) => {
  audit
    .command('verify')
    .description('rebuild all tables from the log and compare every row with the live tables')
    .option(
      '--limit <number>',
      'maximum number of reported rows of a table, and of origins of missing events',
      limitOf,
      10,
    )
    .option('--seals', 'verify instead that no sealed event was changed, deleted or moved')
    .option(
      '--public-key <file>',
      'with --seals: a trusted key; repeatable after a key rotation',
      several((file) => file),
    )
    .option('--checkpoint <file>', 'with --seals: the last export of "linklog audit seal --export"')
    .notes(
      `
The service may run meanwhile and is not changed: the folds are temporary tables, which need as much disk
space as the live ones. Read models are compared at their checkpoints, and the ledger with the outbox, in
one snapshot. The sequence of a subject or spool ascends by 1: events that are not in the log are reported as
missing. The exit code is 1 if a row differs or an event is missing.

Examples:
  $ linklog audit verify
  $ linklog audit verify --seals --public-key linklog-seal.pub.pem --checkpoint seals.json
  $ linklog audit verify --json | jq '.differences[] | {model, table, key, columns}'`,
    )
    .action(async (options: Options) => {
      const config = readConfig();
      const { seals, publicKey: publicKeys, checkpoint, limit } = options;
      if (seals && publicKeys === undefined) {
        throw new CliError(
          'USAGE',
          `--public-key is missing; see "${linklogCommand()} audit verify --help"`,
        );
      }
      if (!seals && (publicKeys !== undefined || checkpoint !== undefined)) {
        throw new CliError('USAGE', '--public-key and --checkpoint require --seals');
      }
      const output = publicKeys
        ? await verifySealsOf(config, { publicKeys, checkpoint })
        : await verify(config, limit);
      print(output);
    });
};
