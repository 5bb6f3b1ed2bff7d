import { fstatSync } from 'node:fs';
import { catalogue, type EventName } from '../../../../schemas/events/catalogue.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { topicsOf, type EventFilter } from './filter.js';
import { formatNames, formatOf, type Append, type FormatName } from './formats.js';
import type { PlacedEvent } from './order.js';
import { replay, reportUnreadable } from './replay.js';
import { writeNewFile } from '../../../platform/files/new-file.js';
import type { Config } from '../../../config/config.js';
import type { AddCommands } from '../../cli/command.js';
import { linkArgument, oneOf, several, timeOf } from '../../cli/arguments.js';
import { writeFromDatabase, subjectNamed } from '../../cli/database.js';
import { CliError } from '../../cli/errors.js';
import { secondsSince } from '../../cli/long-work.js';
import { appendToStdout, counted, type Output } from '../../cli/output.js';

interface Options extends Omit<EventFilter, 'types' | 'topics' | 'subject'> {
  /** Names a link: see `pastedLink`. */
  readonly code?: string;
  readonly type?: readonly EventName[];
  readonly topic?: readonly TopicName[];
  readonly format: FormatName;
  readonly out?: string;
  readonly force?: true;
  readonly positions?: true;
  readonly repeats?: true;
  readonly follow?: true;
  readonly isJson: boolean;
}

const eventNames = Object.keys(catalogue) as EventName[];
const namesByType = new Map(eventNames.map((name) => [catalogue[name].type, name]));

/** Accepts `LinkCreated` and `linklog.LinkCreated.v4`. */
const eventName = (word: string): EventName => {
  if (!word.toLowerCase().startsWith('linklog.')) return oneOf('event type', eventNames)(word);
  const name = namesByType.get(oneOf('event type', [...namesByType.keys()])(word));
  if (name === undefined) throw new Error(`the catalogue has no event of the type ${word}`);
  return name;
};

const topicWords = Object.keys(topics) as (keyof typeof topics)[];

/** Accepts `visits` and `linklog.visits.v1`. */
const topicName = (word: string): TopicName => {
  const [, short = word] = /^linklog\.(\w+)\.v1$/i.exec(word) ?? [];
  return topics[oneOf('topic', topicWords)(short)].name;
};

const filterOf = (options: Options): EventFilter => {
  const { since, until, type: types, topic, code: subject, account, actor, request } = options;
  if (since !== undefined && until !== undefined && since >= until) {
    throw new CliError('USAGE', `--since (${since}) is not before --until (${until})`);
  }
  const filter = { since, until, types, topics: topic, subject, account, actor, request };
  if (topicsOf(filter).length === 0) {
    throw new CliError('USAGE', 'no event can match --type, --topic and --code');
  }
  return filter;
};

/** Returns an error message for contradictory output options; `null` if they are valid. */
const mistakeIn = ({ format, out, force, follow, until, isJson }: Options): string | null => {
  if (out === undefined) {
    if (format === 'parquet') return '--format parquet requires --out';
    if (force) return '--force requires --out';
    if (isJson && format === 'csv') return '--json and --format csv exclude each other on stdout';
  } else if (follow) return '--follow and --out exclude each other';
  return follow && until !== undefined ? '--follow and --until exclude each other' : null;
};

/** A progress bar would mix with events on a terminal, or in a pipe to one. */
const showsProgress = ({ out, follow }: Options): boolean =>
  out !== undefined || (!follow && fstatSync(process.stdout.fd).isFile());

const run = async (config: Config, options: Options): Promise<Output> => {
  const { format: name, out: file, positions = false, repeats = false, follow = false } = options;
  const mistake = mistakeIn(options);
  if (mistake !== null) throw new CliError('USAGE', mistake);
  const named = filterOf(options);
  const format = formatOf(name, positions);
  const unreadable = reportUnreadable();
  const started = performance.now();
  let events = 0;

  async function* counting(
    chunks: AsyncIterable<readonly PlacedEvent[]>,
  ): AsyncGenerator<readonly PlacedEvent[]> {
    for await (const chunk of chunks) {
      yield chunk;
      events += chunk.length;
    }
  }

  const reporting = {
    ...{ title: showsProgress(options) ? 'replay' : null, work: 'the replay' },
    ...(file !== undefined && { stopped: 'its file is removed', killed: '' }),
  };
  await writeFromDatabase(config, reporting, async ({ pool, log, progress, signal }) => {
    const { subject: link } = named;
    const subject = link === undefined ? link : await subjectNamed(pool, config, link);
    const filter = { ...named, subject };
    const onUnreadable = unreadable.report;
    const source = { log, filter, keepRepeats: repeats, follow, onUnreadable, progress, signal };
    const write = (append: Append): Promise<void> => format(counting(replay(source)), append);
    try {
      if (file === undefined) await write(appendToStdout(signal));
      else await writeNewFile(file, { replace: options.force === true }, write);
    } catch (error) {
      // An aborted stream rejects with another error than the signal's reason. With --follow, an abort is the normal end.
      if (!signal.aborted) throw error;
      if (!follow) throw signal.reason;
    }
  });

  if (file === undefined) return unreadable.outcome();
  const seconds = secondsSince(started);
  return {
    json: { file, format: name, events, unreadable: unreadable.count(), seconds },
    text: `Wrote ${counted(events, 'event')} to ${file} in ${seconds.toFixed(2)} s`,
    ...unreadable.outcome(),
  };
};

export const addReplayCommand: AddCommands = (group, context) => {
  group
    .command('replay')
    .description('write the events of the log in a defined order as JSON Lines, CSV or Parquet')
    .option('--since <time>', 'events at this time or later, ISO 8601', timeOf)
    .option('--until <time>', 'events before this time', timeOf)
    .option('--type <type>', 'an event type, such as LinkCreated; repeatable', several(eventName))
    .option('--topic <topic>', `one of ${topicWords.join(', ')}; repeatable`, several(topicName))
    .option(
      '--code <code>',
      'events and visits of a link: code, domain/code or short URL',
      linkArgument,
    )
    .option('--account <account>', 'events of an account')
    .option('--actor <actor>', "events by a key's id, an operator's name, or system")
    .option('--request <id>', 'events caused by a request (correlationid)')
    .option('--format <format>', formatNames.join(', '), oneOf('format', formatNames), 'jsonl')
    .option('--out <file>', 'write to a file, which only its owner may read, instead of stdout')
    .option('--force', 'replace an existing file')
    .option('--positions', 'with JSON Lines: add topic, partition and offset')
    .option('--repeats', 'include repeated records, which a sender wrote twice after a crash')
    .option('--follow', 'continue with new events until Ctrl-C')
    .notes(
      `
Each line is one CloudEvent of the log without secrets (hashes of passwords and keys).

Order: the partitions are merged by the time of their next event, then by topic name and partition. The
replay ends at the end that the log had at the start. The same log always results in the same order, the order
of each partition is preserved, and an event that was appended late follows the earlier records of its
partition. With --follow, new events are merged in the same way in each round.

A record without a readable event is reported on stderr and omitted; the exit code is then 1. Import CSV
values as text, because a spreadsheet may parse some as formulas.

Examples:
  $ linklog audit replay --since 2026-05-20 --type LinkBlocked --type LinkUnblocked
  $ linklog audit replay --code spring-sale --positions | jq .
  $ linklog audit replay --code go.example.com/spring-sale
  $ linklog audit replay --actor alice --format csv --out alice.csv
  $ linklog audit replay --topic visits --format parquet --out visits.parquet
  $ linklog audit replay --topic platform --follow`,
    )
    .action(async (options: Omit<Options, 'isJson'>) => {
      const isJson = context.isJson();
      context.print(await run(context.readConfig(), { ...options, isJson }));
    });
};
