import { openStore } from '../../../projectors/log/archive/archive.js';
import { isArchived } from '../../../projectors/log/archive/archiver.js';
import { archiveStarted, ownerStream } from '../../../projectors/log/archive/owner.js';
import { ArchiveUnavailable, type ArchiveStore } from '../../../projectors/log/archive/store.js';
import type { Config } from '../../config/config.js';
import { ConfigError } from '../../platform/errors.js';
import { reportUnreadable } from '../audit/replay/replay.js';
import type { AddCommands } from '../cli/command.js';
import { runOnDatabase, type LongWork } from '../cli/database.js';
import { CliError } from '../cli/errors.js';
import { secondsSince } from '../cli/long-work.js';
import { count, plain, type Output } from '../cli/output.js';
import { compareArchive, type ArchiveDifference } from './compare.js';

const streamArgument = (name: string): string => {
  if (isArchived(name)) return name;
  throw new CliError('USAGE', `"${plain(name)}" is no stream of the archive, such as link-<code>`);
};

/** Makes the archive one of this log. @throws CliError, ArchiveUnavailable */
const adopt = async (store: ArchiveStore, { log }: LongWork): Promise<void> => {
  const started = archiveStarted(log);
  const newest = (await store.read(ownerStream, 'end', 1))?.[0];
  if (newest?.id === started.id) return;
  const outcome = await store.append(ownerStream, (newest?.revision ?? -1) + 1, [started]);
  if (outcome.type === 'appended') return;
  throw new CliError('REFUSED', `the stream ${ownerStream} of the archive was changed or deleted`);
};

const lineOf = ({ kind, stream, revision, id, fields }: ArchiveDifference): string =>
  `${kind.padEnd(9)}  ${plain(stream)} at ${revision}: ${id} ${fields.join(', ')}`.trimEnd();

const compare = async (
  config: Config,
  options: { readonly stream?: string; readonly isAdoption: boolean },
): Promise<Output> => {
  const { eventStoreUrl } = config;
  if (eventStoreUrl === null) throw new ConfigError('EVENTSTORE_URL is not set');
  const store = openStore(eventStoreUrl);
  const unreadable = reportUnreadable();
  const work = async (database: LongWork) => {
    try {
      const onUnreadable = unreadable.report;
      const found = await compareArchive({ ...database, ...options, store, onUnreadable });
      const isAdopted = options.isAdoption && found.differences.length === 0;
      if (isAdopted) await adopt(store, database);
      return { ...found, isAdopted };
    } catch (error) {
      if (!(error instanceof ArchiveUnavailable)) throw error;
      const hint =
        error.code === 'ACCESS_DENIED' ? '; only the group $admins may read all streams' : '';
      const message = `EVENTSTORE_URL: EventStoreDB cannot be used: ${error.code}${hint}`;
      throw new CliError('REFUSED', message, { cause: error });
    }
  };
  const startedAt = performance.now();
  try {
    const reporting = {
      ...{ title: 'archive', work: 'the comparison', stopped: 'nothing was changed' },
      deadlines: 'patient' as const,
    };
    const { differences, isAdopted, ...counts } = await runOnDatabase(config, reporting, work);
    const seconds = secondsSince(startedAt);
    const numbers = Object.entries(counts).map(([name, value]) => `${count(value)} ${name}`);
    const head = `Compared in ${seconds.toFixed(2)} s: ${numbers.join(', ')}`;
    const last = isAdopted ? ['The archive belongs to this log'] : [];
    return {
      json: { ...counts, seconds, differences, ...(options.isAdoption && { isAdopted }) },
      text: [head, ...differences.map(lineOf), ...last].join('\n'),
      ...unreadable.outcome(),
      ...(differences.length > 0 && { exitCode: 1 }),
    };
  } finally {
    await store.close();
  }
};

export const addArchiveCommands: AddCommands = (program, context) => {
  const group = program.command('archive').description('compare EventStoreDB with the log');

  group
    .command('verify')
    .description('compare stream, order, id, type, data and metadata of every event with the log')
    .option('--stream <name>', 'only this stream, such as link-spring-sale', streamArgument)
    .notes(
      `
The service may run meanwhile and is not changed. Waiting events are not copied yet; removed events were removed in
EventStoreDB by retention or deletion. The exit code is 1 if an event is missing, foreign (not in the log) or different;
the first 20 are listed. A million events need 500 MB of disk space for temporary tables.`,
    )
    .examples('archive verify', 'archive verify --stream link-spring-sale --json')
    .action(async (options: { readonly stream?: string }) => {
      context.print(await compare(context.readConfig(), { ...options, isAdoption: false }));
    });

  group
    .command('adopt')
    .description('continue the archive of the log that this log was restored from')
    .notes(
      `
Stop the services on the former log first. If the archive has no event that this log lacks, the projectors continue it
without a restart. Otherwise nothing is changed, the first 20 of these events are listed, and the exit code is 1.`,
    )
    .examples('archive adopt')
    .action(async () => {
      context.print(await compare(context.readConfig(), { isAdoption: true }));
    });
};
