import { hash } from 'node:crypto';
import type { PoolClient } from 'pg';
import { archivedEvent, isArchived, streamOf } from '../../../projectors/log/archive/archiver.js';
import type { ArchiveStore, StoredEvent } from '../../../projectors/log/archive/store.js';
import { checkpointOf, readCheckpoints } from '../../../projectors/runtime/checkpoints.js';
import { archiveSchema } from '../../../projectors/runtime/projection.js';
import { inCurrentVersion } from '../../../schemas/events/codec.js';
import { topicNames, topics } from '../../../schemas/events/topics.js';
import { concurrently } from '../../platform/concurrency/deferred.js';
import { unnest, valuesByField } from '../../platform/postgres/pool.js';
import { replay, type ReplayOptions } from '../audit/replay/replay.js';
import type { LongWork } from '../cli/database.js';
import { compareTables, createTables } from './tables.js';

/** Events of a read, some megabytes. */
const pageSize = 500;
/** Reads of streams at the same time. */
const concurrentReads = 32;

const noEvents = {
  events: 0,
  equal: 0,
  removed: 0,
  waiting: 0,
  missing: 0,
  foreign: 0,
  different: 0,
};

export interface ArchiveDifference {
  readonly kind: 'missing' | 'foreign' | 'different';
  /** By the log; of a foreign event, by the archive. */
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  /** Which of stream, order, type, data and metadata differ. */
  readonly fields: readonly string[];
}

/** Sorts the fields, because an upcast may change their order. */
const textOf = (value: unknown): string =>
  value?.constructor === Object
    ? JSON.stringify(
        Object.keys(value)
          .sort()
          .map((name) => [name, value[name as never]]),
      )
    : JSON.stringify(value ?? null);

/**
 * An event of the log or of the archive. In the log, its `position` is a number that ascends; in the archive, the revision.
 * The content has 8 bytes for each of type, data and metadata.
 */
const rowOf = (
  { id, type, data, metadata }: Pick<StoredEvent, 'id' | 'type' | 'data' | 'metadata'>,
  row: { readonly stream: string; readonly position: number; readonly waiting: boolean },
) => {
  const hashes = [type, textOf(data), textOf(metadata)].map((text) => hash('sha256', text));
  return { ...row, id, content: `\\x${hashes.map((hex) => hex.slice(0, 16)).join('')}` };
};

type Rows = readonly ReturnType<typeof rowOf>[];

const load = async (
  client: PoolClient,
  table: 'expected' | 'found',
  portions: AsyncIterable<Rows>,
): Promise<void> => {
  const types = unnest(['text', 'bigint', 'uuid', 'bytea', 'boolean']);
  for await (const rows of portions) {
    const values = valuesByField(rows, 'stream', 'position', 'id', 'content', 'waiting');
    await client.query(`INSERT INTO ${table} SELECT * FROM ${types}`, values);
  }
};

/**
 * Compares each event of the log with the archive. The service may run meanwhile: the archive is read after the archiver's
 * checkpoints and before the log, so it has the events before the checkpoints, and the log has all events of the archive.
 *
 * @throws ArchiveUnavailable, LogIncomplete, the signal's reason
 */
export const compareArchive = async (
  options: Pick<LongWork, 'pool' | 'log' | 'progress' | 'signal'> &
    Pick<ReplayOptions, 'onUnreadable'> & {
      readonly store: ArchiveStore;
      /** Only this stream. */
      readonly stream?: string | undefined;
      /** Whether missing events are no differences. */
      readonly isAdoption?: boolean;
    },
) => {
  const { pool, log, store, stream: only, isAdoption = false, progress, signal } = options;
  const checkpoints = await readCheckpoints(pool, archiveSchema);
  const ranges = (await Promise.all(topicNames.map((topic) => log.ranges(topic)))).flat();
  const records = ranges.reduce((sum, { next }) => sum + next, 0);
  let archived = 0;
  /** Streams that may lack events: those with metadata or a tombstone. */
  const limited = new Set<string>(only === undefined ? [] : [only]);

  async function* found(): AsyncGenerator<Rows> {
    for (let page: readonly StoredEvent[] | null | undefined; page?.length !== 0;) {
      signal.throwIfAborted();
      const last: StoredEvent | undefined = page?.at(-1);
      page =
        only === undefined
          ? await store.readAll(last, pageSize)
          : ((await store.read(only, (last?.revision ?? -1) + 1, pageSize)) ?? []);
      const rows = [];
      for (const event of page) {
        const { stream, revision: position, type } = event;
        const name = stream.replace(/^\$\$/, '');
        if (!isArchived(name)) continue;
        if (stream !== name || type === '$streamDeleted') limited.add(name);
        else rows.push(rowOf(inCurrentVersion(event), { stream, position, waiting: false }));
      }
      archived += rows.length;
      progress(archived, Math.max(archived, records * 2));
      yield rows;
    }
  }

  async function* expected(): AsyncGenerator<Rows> {
    const [, subject] = /^(?:link|visits)-(.*)$/.exec(only ?? '') ?? [];
    const { accounts, usage, platform } = topics;
    const isOther = only !== undefined && subject === undefined;
    const named = isOther ? [accounts.name, usage.name, platform.name] : undefined;
    let position = 0;
    for await (const events of replay({
      ...options,
      filter: { subject, topics: named },
      progress: (done, total) => {
        progress(archived + done, archived + total);
      },
    })) {
      const due = events.filter(({ event }) => (only ?? streamOf(event)) === streamOf(event));
      yield due.map(({ topic, partition, offset, event }) => {
        const waiting = offset >= (checkpointOf(checkpoints, topic, partition)?.offset ?? 0);
        position += 1;
        return rowOf(archivedEvent(event), { stream: streamOf(event), position, waiting });
      });
    }
  }

  const client = await pool.connect();
  try {
    await client.query(createTables);
    await load(client, 'found', found());
    await load(client, 'expected', expected());
    await concurrently(limited, { concurrency: concurrentReads, signal }, async (stream) => {
      const visible = await store.read(stream, 0, 1);
      const { $maxAge, $maxCount, $tb } = visible?.length === 0 ? await store.metadata(stream) : {};
      const first = visible?.[0]?.revision ?? null;
      if (visible === null || first !== null || ($maxAge ?? $maxCount ?? $tb) !== undefined) {
        await client.query('INSERT INTO removed VALUES ($1, $2)', [stream, first]);
      }
    });
    await client.query(compareTables);
    const { rows } = await client.query<{ outcome: keyof typeof noEvents; count: number }>(
      `SELECT outcome, count(*) FROM compared WHERE outcome IS NOT NULL GROUP BY 1
       UNION ALL SELECT kind, count(*) FROM differences GROUP BY 1
       UNION ALL SELECT 'events', count(*) FROM expected`,
    );
    const differences = await client.query<ArchiveDifference>(
      `SELECT * FROM differences WHERE kind <> 'missing' OR NOT $1
       ORDER BY stream, revision, kind LIMIT 20`,
      [isAdoption],
    );
    const counts = Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]));
    return { ...noEvents, ...counts, differences: differences.rows };
  } finally {
    // Drops the tables.
    client.release(true);
  }
};
