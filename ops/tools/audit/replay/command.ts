import { fstatSync } from 'node:fs';
import { catalogue, type EventName } from '../../../../schemas/events/catalogue.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { topicsOf, type EventFilter } from './filter.js';
import { formatNames, formatOf, type Append, type FormatName } from './formats.js';
import type { PlacedEvent } from './order.js';
import { replay } from './replay.js';
import { writeNewFile } from '../../../platform/files/new-file.js';
import type { Config } from '../../../config/config.js';
import type { Command, CommandContext } from '../../cli/command.js';
import { oneOf, several, shortCodeArgument, timeOf } from '../../cli/arguments.js';
import { runOnDatabase } from '../../cli/database.js';
import { CliError } from '../../cli/errors.js';
import { secondsSince } from '../../cli/long-work.js';
import { appendToStdout, counted, type Answer } from '../../cli/output.js';
import { reportUnreadable } from './unreadable.js';

interface Options extends Omit<EventFilter, 'types' | 'topics'> {
  readonly type?: readonly EventName[];
  readonly topic?: readonly TopicName[];
  readonly format: FormatName;
  readonly out?: string;
  readonly force?: true;
  readonly positions?: true;
  readonly repeats?: true;
  readonly follow?: true;
  readonly json?: true;
}

const eventNames = Object.keys(catalogue) as EventName[];
const namesByType = new Map(eventNames.map((name) => [catalogue[name].type, name]));

/** Accepts `LinkCreated` and `linklog.LinkCreated.v3`. */
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
  const { since, until, type: types, topic, code, account, actor, request } = options;
  if (since !== undefined && until !== undefined && since >= until) {
    throw new CliError('USAGE', `--since (${since}) is not before --until (${until})`);
  }
  const filter = { since, until, types, topics: topic, code, account, actor, request };
  if (topicsOf(filter).length === 0) {
    throw new CliError('USAGE', 'no event can be of all that --type, --topic and --code ask for');
  }
  return filter;
};

/** Returns an error message for contradictory output options; `null` if they are valid. */
const mistakeIn = ({ format, out, force, follow, until, json }: Options): string | null => {
  if (out === undefined) {
    if (format === 'parquet') return '--format parquet needs a file: give --out';
    if (force) return '--force is for a file: give --out';
    if (json && format === 'csv') return '--json and --format csv exclude each other on stdout';
  } else if (follow) return '--follow has no end, so it writes no file: leave out --out';
  return follow && until !== undefined ? '--follow has no end: leave out --until' : null;
};

/** On a terminal, or a pipe to one, events and a progress bar would be mixed. */
const showsProgress = ({ out, follow }: Options): boolean =>
  out !== undefined || (!follow && fstatSync(process.stdout.fd).isFile());

const run = async (config: Config, options: Options): Promise<Answer> => {
  const { format: name, out: file, positions = false, repeats = false, follow = false } = options;
  const mistake = mistakeIn(options);
  if (mistake !== null) throw new CliError('USAGE', mistake);
  const filter = filterOf(options);
  const format = formatOf(name, positions);
  const unreadable = reportUnreadable();
  const started = performance.now();
  let events = 0;

  async function* counting(
    pieces: AsyncIterable<readonly PlacedEvent[]>,
  ): AsyncGenerator<readonly PlacedEvent[]> {
    for await (const piece of pieces) {
      yield piece;
      events += piece.length;
    }
  }

  const words = {
    title: showsProgress(options) ? 'replay' : null,
    stopped: `the replay was stopped${file === undefined ? '' : ', and no file is left of it'}`,
    ended: 'the replay was ended at once',
  };
  await runOnDatabase(config, words, async ({ log, progress, signal }) => {
    const onUnreadable = unreadable.take;
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

export const addReplayCommand = (group: Command, { readConfig, print }: CommandContext): void => {
  group
    .command('replay')
    .description('the events of the log, in one order, as JSON Lines, CSV or Parquet')
    .option('--since <time>', 'events of this time and later, ISO 8601', timeOf)
    .option('--until <time>', 'events before this time', timeOf)
    .option('--type <type>', 'LinkCreated, or another; may be given again', several(eventName))
    .option(
      '--topic <topic>',
      `one of ${topicWords.join(', ')}; may be given again`,
      several(topicName),
    )
    .option('--code <code>', 'of a link: what was done to it, and its visits', shortCodeArgument)
    .option('--account <account>', 'of what belongs to an account')
    .option('--actor <actor>', "by a key's id, an operator's name, or system")
    .option('--request <id>', 'caused by one request (correlationid)')
    .option('--format <format>', formatNames.join(', '), oneOf('format', formatNames), 'jsonl')
    .option('--out <file>', 'write a file, which only its user may read, in place of stdout')
    .option('--force', 'replace the file if there is one')
    .option('--positions', 'with JSON Lines: topic, partition and offset beside the attributes')
    .option('--repeats', 'also what the log has twice, since a sender was ended while it sent')
    .option('--follow', 'go on with new events as they come, until Ctrl-C')
    .notes(
      `
Each line is one CloudEvent as the log has it, without secrets (hashes of passwords and keys).

Order: of the next events of all partitions the one with the earliest time comes first; of equal times
the first topic by name, then the lowest partition, then the lowest offset. It ends where the log ended
at the start. So the same log gives the same order, a partition's own order is always kept, and an
event that reached the log late stands behind those that its partition had before. With --follow, what
comes later is told in that order every time that something came.

A record that holds no event is named on stderr and left out; the exit code is 1 then. Values of CSV
are exact: read them as text into a spreadsheet, which may take some for formulas.

Examples:
  $ linklog audit replay --since 2026-05-20 --type LinkBlocked --type LinkUnblocked
  $ linklog audit replay --code spring-sale --positions | jq .
  $ linklog audit replay --actor alice --format csv --out alice.csv
  $ linklog audit replay --topic visits --format parquet --out visits.parquet
  $ linklog audit replay --topic platform --follow`,
    )
    .action(async (_options: object, command: Command) => {
      print(await run(readConfig(), command.optsWithGlobals<Options>()));
    });
};
