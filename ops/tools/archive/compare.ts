import { hash } from 'node:crypto';
import type { PoolClient } from 'pg';
import { archivedEvent, isArchived, streamOf } from '../../../projectors/log/archive/archiver.js';
import type { ArchiveStore, StoredEvent } from '../../../projectors/log/archive/store.js';
import { checkpointOf, readCheckpoints } from '../../../projectors/runtime/checkpoints.js';
import { archiveSchema } from '../../../projectors/runtime/projection.js';
import { readRecord } from '../../../projectors/runtime/read-record.js';
import { inCurrentVersion } from '../../../schemas/events/codec.js';
import { topicNames } from '../../../schemas/events/topics.js';
import { concurrently } from '../../platform/concurrency/deferred.js';
import { unnest, valuesByField } from '../../platform/postgres/pool.js';
import { partsOf, readRange } from '../audit/as-of/read.js';
import { repeatsOfPartition } from '../audit/replay/repeats.js';
import type { UnreadableRecord } from '../audit/replay/replay.js';
import type { LongWork } from '../cli/database.js';
import { compareTables, createTables } from './tables.js';

/** Events of a read, some megabytes. */
const pageSize = 500;
/** Reads of streams at the same time. */
const concurrentReads = 32;

/** An event of the log or of the archive. */
interface Row {
  readonly stream: string;
  /** In the archive its revision, in the log a number that ascends. */
  readonly position: number;
  readonly id: string;
  /** Hashes of its type, data and metadata, 8 bytes each, as a literal of `bytea`. */
  readonly content: string;
  /** Whether the archiver has not handled it yet. */
  readonly waiting: boolean;
}

const noEvents = { equal: 0, removed: 0, waiting: 0, missing: 0, foreign: 0, different: 0 };
type Outcome = keyof typeof noEvents;

export interface ArchiveDifference {
  /**
   * `missing`: the archive lacks an event of the log. `foreign`: the log lacks an event of the archive. `different`: the
   * archive has the event in another stream, in another order, or with other content.
   */
  readonly kind: Extract<Outcome, 'missing' | 'foreign' | 'different'>;
  readonly id: string;
  /** By the log; of a foreign event, by the archive. */
  readonly stream: string;
  readonly revision: number;
  readonly fields: readonly ('stream' | 'order' | 'type' | 'data' | 'metadata')[];
}

/** Writes equal objects equally, because an upcast may change the order of fields. */
const inOrder = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

const rowOf = (
  { id, type, data, metadata }: Pick<StoredEvent, 'id' | 'type' | 'data' | 'metadata'>,
  position: Omit<Row, 'id' | 'content'>,
): Row => {
  const parts = [type, data, metadata].map((part) => JSON.stringify(part, inOrder));
  const hashes = parts.map((part) => hash('sha256', part).slice(0, 16));
  return { ...position, id, content: `\\x${hashes.join('')}` };
};

/** Reads the stored events of all streams, or the visible ones of a stream. */
async function* pagesOf(
  store: ArchiveStore,
  stream?: string,
): AsyncGenerator<readonly StoredEvent[]> {
  for (let last: StoredEvent | undefined, size = pageSize; size === pageSize;) {
    const page =
      stream === undefined
        ? await store.readAll(last, pageSize)
        : ((await store.read(stream, (last?.revision ?? -1) + 1, pageSize)) ?? []);
    yield page;
    last = page.at(-1);
    size = page.length;
  }
}

/** Inserts portions of rows. While one is written, the next is read. */
const load = async (
  client: PoolClient,
  table: 'expected' | 'found',
  portions: AsyncIterable<readonly Row[]>,
): Promise<void> => {
  let written: Promise<unknown> = Promise.resolve();
  for await (const rows of portions) {
    await written;
    written = client.query({
      name: `load-${table}`,
      text: `INSERT INTO ${table} SELECT * FROM ${unnest(['text', 'bigint', 'uuid', 'bytea', 'boolean'])}`,
      values: valuesByField(rows, 'stream', 'position', 'id', 'content', 'waiting'),
    });
    // A failed read is thrown before it.
    written.catch(() => undefined);
  }
  await written;
};

/**
 * Compares each event of the log with the archive. The service may run meanwhile: the archive is read after the archiver's
 * checkpoints and before the log, so it has the events before the checkpoints, and the log has all events of the archive.
 *
 * @throws ArchiveUnavailable, LogIncomplete, the signal's reason
 */
export const compareArchive = async (
  options: Pick<LongWork, 'pool' | 'log' | 'progress' | 'signal'> & {
    readonly store: ArchiveStore;
    /** Only this stream. */
    readonly stream?: string | undefined;
    /** Whether to report only what the archive has and the log lacks. */
    readonly isAdoption?: boolean;
    /** Receives each record of the log that is omitted. */
    readonly onUnreadable: (record: UnreadableRecord) => void;
  },
) => {
  const { pool, log, store, stream: only, signal } = options;
  const checkpoints = await readCheckpoints(pool, archiveSchema);
  const subject = only?.slice(only.indexOf('-') + 1);
  const readParts = async () =>
    (await Promise.all(topicNames.map((topic) => partsOf(log, topic, subject)))).flat();
  const records = (await readParts()).reduce((sum, { first, next }) => sum + next - first, 0);
  let done = 0;
  const advance = (events: number): void => {
    signal.throwIfAborted();
    done += events;
    // Both sides. The log may grow meanwhile.
    options.progress(done, Math.max(done, 2 * records));
  };

  /** Streams that may lack events: those with metadata or a tombstone. */
  const limited = new Set<string>(only === undefined ? [] : [only]);
  async function* found(): AsyncGenerator<readonly Row[]> {
    for await (const events of pagesOf(store, only)) {
      const rows: Row[] = [];
      for (const event of events) {
        const { stream, revision } = event;
        const name = stream.replace(/^\$\$/, '');
        if (!isArchived(name)) continue;
        if (stream !== name || event.type === '$streamDeleted') limited.add(name);
        else {
          const row = { stream, position: revision, waiting: false };
          rows.push(rowOf(inCurrentVersion(event), row));
        }
      }
      advance(rows.length);
      yield rows;
    }
  }

  async function* expected(): AsyncGenerator<readonly Row[]> {
    let position = 0;
    for (const { only: isSelected = () => true, ...part } of await readParts()) {
      const { topic, partition } = part;
      const isRepeat = repeatsOfPartition();
      const handled = checkpointOf(checkpoints, topic, partition)?.offset ?? 0;
      for await (const batch of readRange(log, topic, part)) {
        const rows: Row[] = [];
        for (const record of batch.records.filter(({ key }) => isSelected(key))) {
          const reading = readRecord(topic, record);
          const { offset } = record;
          if ('error' in reading) {
            options.onUnreadable({ topic, partition, offset, reason: reading.error.message });
          } else if (!isRepeat(reading.event)) {
            const stream = streamOf(reading.event);
            if ((only ?? stream) !== stream) continue;
            const waiting = offset >= handled;
            rows.push(rowOf(archivedEvent(reading.event), { stream, position, waiting }));
            position += 1;
          }
        }
        advance(batch.records.length);
        yield rows;
      }
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
    const { rows } = await client.query<{ readonly outcome: Outcome; readonly count: number }>(
      `SELECT outcome, count(*) FROM compared WHERE outcome IS NOT NULL GROUP BY 1
       UNION ALL SELECT kind, count(*) FROM differences GROUP BY 1`,
    );
    const differences = await client.query<ArchiveDifference>(
      `SELECT * FROM differences WHERE kind <> 'missing' OR NOT $1
       ORDER BY stream, revision, kind LIMIT 20`,
      [options.isAdoption === true],
    );
    const counts = {
      ...noEvents,
      ...Object.fromEntries(rows.map((row) => [row.outcome, row.count])),
    };
    const events =
      counts.equal + counts.removed + counts.waiting + counts.missing + counts.different;
    return { events, ...counts, differences: differences.rows };
  } finally {
    // Drops the tables.
    client.release(true);
  }
};
