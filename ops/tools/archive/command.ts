import { openStore } from '../../../projectors/log/archive/archive.js';
import { isArchived } from '../../../projectors/log/archive/archiver.js';
import { archiveStarted, ownerStream } from '../../../projectors/log/archive/owner.js';
import { ArchiveUnavailable, type ArchiveStore } from '../../../projectors/log/archive/store.js';
import type { Config } from '../../config/config.js';
import { ConfigError } from '../../platform/errors.js';
import { reportUnreadable } from '../audit/replay/replay.js';
import type { Command, CommandContext } from '../cli/command.js';
import { runOnDatabase, type LongWork } from '../cli/database.js';
import { CliError } from '../cli/errors.js';
import { secondsSince } from '../cli/long-work.js';
import { count, counted, plain, type Output } from '../cli/output.js';
import { compareArchive, type ArchiveDifference } from './compare.js';

const messages = {
  title: 'archive',
  stopped: 'the comparison was stopped; nothing was changed',
  ended: 'the comparison was killed; nothing was changed',
};

const streamArgument = (name: string): string => {
  if (isArchived(name)) return name;
  const message = `the archive has no streams such as "${plain(name)}": use link-<code>, visits-<code>, platform …`;
  throw new CliError('USAGE', message);
};

const explained = (error: unknown): unknown => {
  if (!(error instanceof ArchiveUnavailable)) return error;
  const hint =
    error.code === 'ACCESS_DENIED'
      ? '; its user must be in the group $admins to read $all, which --stream does not need'
      : '';
  const message = `EVENTSTORE_URL: EventStoreDB cannot be used: ${error.code}${hint}`;
  return new CliError('REFUSED', message, { cause: error });
};

/** Makes the archive one of this log. @throws CliError */
const adopt = async (store: ArchiveStore, { log }: LongWork): Promise<void> => {
  const started = archiveStarted(log);
  const newest = (await store.read(ownerStream, 'end', 1))?.[0];
  if (newest?.id === started.id) return;
  const outcome = await store.append(ownerStream, (newest?.revision ?? -1) + 1, [started]);
  if (outcome.type === 'appended') return;
  throw new CliError('REFUSED', `the stream ${ownerStream} of the archive was changed or deleted`);
};

const differenceLine = ({ kind, stream, revision, id, fields }: ArchiveDifference): string =>
  `${kind.padEnd(9)}  ${plain(stream)} at ${revision}: ${id}` +
  (fields.length > 0 ? ` (${fields.join(', ')})` : '');

const run = async (
  { isAdoption, stream }: { readonly isAdoption: boolean; readonly stream?: string | undefined },
  config: Config,
): Promise<Output> => {
  const { eventStoreUrl } = config;
  if (eventStoreUrl === null) throw new ConfigError('EVENTSTORE_URL is not set');
  const store = openStore(eventStoreUrl);
  const unreadable = reportUnreadable();
  const started = performance.now();
  const work = async (database: LongWork) => {
    try {
      const onUnreadable = unreadable.report;
      const found = await compareArchive({ ...database, store, stream, isAdoption, onUnreadable });
      if (isAdoption && found.differences.length === 0) await adopt(store, database);
      return found;
    } catch (error) {
      throw explained(error);
    }
  };
  try {
    const found = await runOnDatabase(config, { ...messages, deadlines: 'patient' }, work);
    const { differences, events, ...counts } = found;
    const isEqual = differences.length === 0;
    const names = Object.entries(counts).map(([name, value]) => `${count(value)} ${name}`);
    const seconds = secondsSince(started);
    const head = `Compared ${counted(events, 'event')} in ${seconds.toFixed(2)} s: ${names.join(', ')}`;
    return {
      json: { ...(isAdoption && { adopted: isEqual }), seconds, ...found },
      text: [
        head,
        ...differences.map(differenceLine),
        ...(isAdoption && isEqual ? ['The archive belongs to this log'] : []),
      ].join('\n'),
      ...unreadable.outcome(),
      ...(!isEqual && { exitCode: 1 }),
    };
  } finally {
    await store.close();
  }
};

export const addArchiveCommands = (
  program: Command,
  { readConfig, print }: CommandContext,
): void => {
  const group = program.command('archive').description('compare EventStoreDB with the log');

  group
    .command('verify')
    .description('compare stream, order, id, type, data and metadata of every event with the log')
    .option('--stream <name>', 'only this stream, such as link-spring-sale', streamArgument)
    .notes(
      `
The service may run meanwhile and is not changed; temporary tables need 500 MB of disk space for a million events.
Waiting events are not copied yet. Removed events were removed in EventStoreDB by retention or deletion. The exit code
is 1 if an event is missing, foreign (not in the log) or different; the first 20 are listed.

Examples:
  $ linklog archive verify
  $ linklog archive verify --stream link-spring-sale
  $ linklog archive verify --json | jq -r '.differences[].stream'`,
    )
    .action(async ({ stream }: { readonly stream?: string }) => {
      print(await run({ isAdoption: false, stream }, readConfig()));
    });

  group
    .command('adopt')
    .description('continue the archive of another log that this log was restored from')
    .notes(
      `
Compares every stream. If the archive has no event that this log lacks, the projectors continue it without a restart.
Otherwise nothing is changed, the first 20 of these events are listed, and the exit code is 1. Stop the services on
the other log first.

Example:
  $ linklog archive adopt`,
    )
    .action(async () => {
      print(await run({ isAdoption: true }, readConfig()));
    });
};
