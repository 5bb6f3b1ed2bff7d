import { DutyCycle, periodically } from '../../../ops/platform/concurrency/periodic.js';
import { isLine, lineLimits } from '../../../ops/event-log/lines.js';
import type { EventLog } from '../../../ops/event-log/port.js';
import { readRows, unpack, type LogRow } from '../../../ops/event-log/postgres-batches.js';
import {
  compactedPartitions,
  makeSegment,
  moveRows,
  rowSizes,
  type CompactedPartition,
  type RowSize,
} from '../../../ops/event-log/postgres-segments.js';
import type { Logger } from '../../../ops/platform/logging.js';
import { advisoryLocks } from '../../../ops/advisory-locks.js';
import { withAdvisoryLock } from '../../../ops/platform/postgres/own-connection.js';
import type { Pool, Queryable } from '../../../ops/platform/postgres/pool.js';
import { topics, type TopicName } from '../../../schemas/events/topics.js';
import { appliedThrough, subjectsSetAside } from '../../main.js';
import { extendChain, genesisOf } from '../seals/chain.js';
import { ChainBroken } from '../seals/recomputed-chain.js';
import { sealStore } from '../seals/seal-store.js';
import type { SignedCheckpoint, Signer } from '../seals/signed-checkpoint.js';

/** Other topics have few events. */
const compacted: readonly TopicName[] = [topics.visits.name, topics.links.name];

const usualPace = {
  /** Interval between runs (ms). */
  everyMs: 60_000,
  /** The minimum number of new records of a partition, because the last segment is rewritten with them. */
  minRecords: 50,
  /** How long to keep the row of a projected event of a link, for readers that started before (ms). */
  keepMs: 60_000,
};

/** Records of a partition in one run, so that other partitions are not delayed. */
const maxRecords = 20_000;
/** Rows in memory, if the next checkpoint is further away than `maxRecords`. */
const maxRows = 200_000;
const pageSize = 1_000;
/**
 * A row of this many records is not repacked: rows of 1,000 would save 10 of 88 bytes for each visit, and take as much CPU
 * time as half a redirect.
 */
const largeRow = 100;
/** Large rows that are moved in one transaction, which are some megabytes. */
const rowsPerMove = 50;

interface NewSegment {
  readonly first: number;
  next: number;
  rows: number;
  bytes: number;
  readonly isBatch: boolean;
}

/** A range of adjacent rows that are either all moved unchanged or all repacked. */
interface OffsetRange {
  readonly first: number;
  readonly next: number;
  readonly isMoved: boolean;
}

/** @param minMoved the minimum number of records of a row that is moved. @throws ChainBroken if a row is missing */
const splitRows = (
  { topic, partition, lastSegment, compactedTo }: CompactedPartition,
  rows: readonly RowSize[],
  minMoved: number,
): readonly OffsetRange[] => {
  const ranges: { first: number; next: number; rows: number; isMoved: boolean }[] = [];
  let next = lastSegment;
  for (const { firstOffset, records, isBatch } of rows) {
    if (firstOffset !== next) {
      throw new ChainBroken(`${topic}/${partition} has lost records from ${next} on`);
    }
    next += records;
    const mayGrow = firstOffset === lastSegment && compactedTo > 0 && records < lineLimits.records;
    const isMoved = isBatch && records >= minMoved && !mayGrow;
    const last = ranges.at(-1);
    const isFull = last?.isMoved === true && last.rows === rowsPerMove;
    if (last?.isMoved === isMoved && !isFull) {
      last.next = next;
      last.rows += 1;
    } else ranges.push({ first: firstOffset, next, rows: 1, isMoved });
  }
  // A single small row between large rows has no row to be packed with.
  return ranges.map(({ rows: count, isMoved, ...range }) => ({
    ...range,
    isMoved: isMoved || (count === 1 && minMoved < Infinity),
  }));
};

/** Adds a row to the last segment, or to a new one if the last is full. */
const addToSegments = (
  segments: NewSegment[],
  { firstOffset, records, key, value }: LogRow,
): void => {
  const next = firstOffset + records;
  const bytes = Buffer.byteLength(value);
  const isBatch = key === null || isLine({ key, value });
  const last = segments.at(-1);
  const hasRoom =
    last?.isBatch === true &&
    next - last.first <= lineLimits.records &&
    last.bytes + bytes <= lineLimits.bytes;
  if (isBatch && hasRoom) {
    last.next = next;
    last.rows += 1;
    last.bytes += bytes;
  } else segments.push({ first: firstOffset, next, rows: 1, bytes, isBatch });
};

/**
 * Packs old events of the embedded log, up to 1,000 in a row, because an event in its own row takes seven times the space.
 * Only records that a signed checkpoint covers are compacted. Large rows are moved unchanged. Others are repacked after
 * their hash chain was verified between the surrounding checkpoints; altered records are left unchanged and reported.
 *
 * Several processes may run it; a lock makes one at a time work.
 */
export const startCompactor = (deps: {
  readonly pool: Pool;
  readonly log: Pick<EventLog, 'logId'>;
  readonly signer: Signer;
  readonly logger: Logger;
  readonly pace?: typeof usualPace;
}) => {
  const { pool, log, signer, logger, pace = usualPace } = deps;
  const store = sealStore(pool, log);
  const keys = new Map([[signer.keyId, signer.publicKey]]);
  const stopping = new AbortController();
  /** By partition, which is not compacted until the next start. */
  const broken = new Map<string, ChainBroken>();
  let waiting: number | null = null;
  /** By partition id: the offsets that all projections had applied at the last two checks. */
  const applied = new Map<number, { at: number; offset: number; before: number }>();

  /** Returns the signed checkpoint to compact to; `null` if there are too few records. */
  const targetOf = async (topicPartition: CompactedPartition): Promise<SignedCheckpoint | null> => {
    const { topic, partition, compactedTo } = topicPartition;
    const hasEnough = (seal: SignedCheckpoint | null): seal is SignedCheckpoint =>
      seal !== null && seal.nextOffset >= compactedTo + pace.minRecords;
    const near = await store.newest({ topic, partition }, keys, compactedTo + maxRecords);
    if (hasEnough(near)) return near;
    // A new key has signed no old records yet, so its first checkpoint may be far away.
    const newest = await store.newest({ topic, partition }, keys);
    return hasEnough(newest) ? newest : null;
  };

  /**
   * Returns the offset below which no event is read by its subject. Visits are never read so. Events of links are, by
   * readers of a projection, for those that it had not applied when the reader started.
   */
  const compactableBelow = async ({
    id,
    topic,
    partition,
    next,
  }: CompactedPartition): Promise<number> => {
    if (topic !== topics.links.name) return next;
    let known = applied.get(id);
    const at = performance.now();
    if (!known || at - known.at >= pace.keepMs) {
      const offset = await appliedThrough(pool, topic, partition);
      known = { at, offset, before: known?.offset ?? 0 };
      applied.set(id, known);
    }
    return (await subjectsSetAside(pool, topic)).length > 0 ? 0 : known.before;
  };

  /**
   * Verifies the rows of a range up to the surrounding checkpoints, and returns the segments to create. Returns `null` if
   * it is stopped, or if the checkpoint after the range is being replaced.
   *
   * @throws ChainBroken if the log differs from its seals
   */
  const verifyAndPack = async (
    client: Queryable,
    topicPartition: CompactedPartition,
    { first, next }: OffsetRange,
    dutyCycle: DutyCycle,
  ): Promise<readonly NewSegment[] | null> => {
    const { id: partitionId, topic, partition, compactedTo } = topicPartition;
    const [base, target] = await Promise.all([
      store.newest({ topic, partition }, keys, first),
      store.oldest({ topic, partition }, keys, next),
    ]);
    if (!target) return null;
    let hash = base ? Buffer.from(base.hash, 'hex') : genesisOf(log.logId(topic), topicPartition);
    const segments: NewSegment[] = [];
    for (let from = base?.nextOffset ?? 0; from < target.nextOffset;) {
      if (stopping.signal.aborted) return null;
      const page = { partitionId, from, to: Math.min(from + pageSize, target.nextOffset) };
      const rows = (await readRows(client, [page])).get(partitionId) ?? [];
      const { records, damaged } = unpack(rows, from, target.nextOffset);
      if (damaged || records.length === 0) {
        throw new ChainBroken(`${topic}/${partition} has lost records from ${from} on`);
      }
      hash = extendChain(topicPartition, hash, records).hash;
      from += records.length;
      for (const row of rows) {
        const isInRange = row.firstOffset >= first && row.firstOffset + row.records <= next;
        if (isInRange) addToSegments(segments, row);
      }
      await dutyCycle.pause();
    }
    if (hash.toString('hex') !== target.hash) {
      throw new ChainBroken(
        `${topic}/${partition} is not what it was when it was sealed up to ${target.nextOffset}`,
      );
    }
    return segments.filter((segment) => segment.rows > 1 || segment.first >= compactedTo);
  };

  const compact = async (
    client: Queryable,
    topicPartition: CompactedPartition,
    dutyCycle: DutyCycle,
  ): Promise<number> => {
    const { id, topic, partition, lastSegment, compactedTo } = topicPartition;
    const name = `${topic}/${partition}`;
    const end = await compactableBelow(topicPartition);
    if (broken.has(name) || end - compactedTo < pace.minRecords) return 0;
    const target = await targetOf(topicPartition);
    if (target === null) return 0;
    const to = Math.min(target.nextOffset, end);
    const rows = await rowSizes(client, id, { from: lastSegment, to, atMost: maxRows });
    // If the last checkpoint is far away, as after a change of the key, the chain is computed once for all rows.
    const base = await store.newest({ topic, partition }, keys, lastSegment);
    const isNear = lastSegment - (base?.nextOffset ?? 0) <= maxRecords;
    let done = 0;
    try {
      for (const range of splitRows(topicPartition, rows, isNear ? largeRow : Infinity)) {
        if (range.isMoved) await moveRows(client, id, range);
        else {
          const segments = await verifyAndPack(client, topicPartition, range, dutyCycle);
          if (!segments) break;
          for (const segment of segments) {
            if (stopping.signal.aborted) return done;
            await makeSegment(client, id, segment);
            done = segment.next - compactedTo;
            await dutyCycle.pause();
          }
        }
        done = range.next - compactedTo;
        if (stopping.signal.aborted) break;
        await dutyCycle.pause();
      }
    } catch (err) {
      if (!(err instanceof ChainBroken)) throw err;
      broken.set(name, err);
      const message = 'old records are not what was sealed: their partition is not compacted';
      logger.error({ err, topic, partition }, message);
    }
    return done;
  };

  const compactAll = async (client: Queryable): Promise<number> => {
    const dutyCycle = new DutyCycle(stopping.signal);
    let done = 0;
    for (const topicPartition of await compactedPartitions(client, compacted)) {
      done += await compact(client, topicPartition, dutyCycle);
    }
    return done;
  };

  const task = periodically({
    name: 'compact the log',
    everyMs: pace.everyMs,
    task: async () => {
      const done = await withAdvisoryLock(pool, [advisoryLocks.compaction], compactAll);
      waiting = (await compactedPartitions(pool, compacted)).reduce(
        (sum, { next, compactedTo }) => sum + next - compactedTo,
        0,
      );
      return done ?? 0;
    },
    logger,
  });

  return {
    /** The number of records that are not compacted yet; `null` before the first run. */
    progress: () => (waiting === null ? null : { waiting }),
    /** By partition, as far as this process has detected them. */
    brokenChains: (): ReadonlyMap<string, ChainBroken> => broken,
    async stop(): Promise<void> {
      stopping.abort();
      await task.stop();
    },
  };
};

export type Compactor = ReturnType<typeof startCompactor>;
