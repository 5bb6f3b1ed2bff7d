import { periodically } from '../../../ops/platform/concurrency/periodic.js';
import { DutyCycle } from '../../../ops/platform/concurrency/duty-cycle.js';
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
import { withAdvisoryLock } from '../../../ops/platform/postgres/advisory-lock.js';
import type { Pool, Queryable } from '../../../ops/platform/postgres/pool.js';
import { topics, type TopicName } from '../../../schemas/events/topics.js';
import { appliedThrough, subjectsSetAside } from '../../main.js';
import { extendChain, genesisOf } from '../seals/chain.js';
import { ChainBroken } from '../seals/recomputed-chain.js';
import { sealStore } from '../seals/seal-store.js';
import type { SignedCheckpoint, Signer } from '../seals/signed-checkpoint.js';

/** The others have few events. */
const compacted: readonly TopicName[] = [topics.visits.name, topics.links.name];

const usualPace = {
  /** Milliseconds between two looks for records to compact. */
  everyMs: 60_000,
  /** Of a partition, fewer new records than this wait: the last segment is written again with them. */
  recordsAtLeast: 50,
  /** Milliseconds that the row of a link's event stays for reads that began before it was projected. */
  soughtMs: 60_000,
};

/** Of a partition, in one go: the others are to have their turns. */
const recordsAtMost = 20_000;
/** In one go where the next checkpoint is further away than that; bounds what is in memory. */
const rowsAtMost = 200_000;
const pageSize = 1_000;
/**
 * A row of so many records stays as it is: of 1,000, a visit would take 78 bytes instead of 88, and to read it,
 * compute the chain and compress it again costs as much as half a redirect.
 */
const largeRow = 100;
/** Of such rows, in one transaction: some megabytes. */
const movedAtOnce = 50;

interface NewSegment {
  readonly first: number;
  next: number;
  rows: number;
  bytes: number;
  /** Whether another row may be put into it. */
  readonly isBatch: boolean;
}

/** Neighbouring rows that are all moved as they are, or put together. */
interface Stretch {
  readonly first: number;
  readonly next: number;
  readonly isMoved: boolean;
}

/** `movedFrom`: records of a row that is moved. @throws ChainBroken where a row is missing */
const stretchesOf = (
  place: CompactedPartition,
  rows: readonly RowSize[],
  movedFrom: number,
): readonly Stretch[] => {
  const { topic, partition, lastSegment, compactedTo } = place;
  const stretches: { first: number; next: number; rows: number; isMoved: boolean }[] = [];
  let next = lastSegment;
  for (const { firstOffset, records, isBatch } of rows) {
    if (firstOffset !== next) {
      throw new ChainBroken(`${topic}/${partition} has lost records from ${next} on`);
    }
    next += records;
    const mayGrow = firstOffset === lastSegment && compactedTo > 0 && records < lineLimits.records;
    const isMoved = isBatch && records >= movedFrom && !mayGrow;
    const last = stretches.at(-1);
    const isFull = last?.isMoved === true && last.rows === movedAtOnce;
    if (last?.isMoved === isMoved && !isFull) {
      last.next = next;
      last.rows += 1;
    } else stretches.push({ first: firstOffset, next, rows: 1, isMoved });
  }
  // A small one between large ones has nothing to be put together with.
  return stretches.map(({ first, next: end, rows: count, isMoved }) => ({
    ...{ first, next: end },
    isMoved: isMoved || (count === 1 && movedFrom < Infinity),
  }));
};

/** Adds a row to the last segment, or begins one where there is no room for it. */
const plan = (segments: NewSegment[], { firstOffset, records, key, value }: LogRow): void => {
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
 * Puts old events of the embedded log together, up to 1,000 a row: an event in a row of its own takes
 * seven times as much. Only what a signed checkpoint covers is touched. Rows that are large already are moved as they
 * are; others only after the chain of their hashes was computed once more, between the checkpoints around them: what
 * somebody has altered stays as it is, and an alarm is given.
 *
 * Any number of processes may run it; one at a time works.
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
  /** By topic and partition; they are left alone until the next start. */
  const broken = new Map<string, ChainBroken>();
  let waiting: number | null = null;
  /** By partition of links: how far the projections were at some moment, and at the one before. */
  const applied = new Map<number, { at: number; offset: number; before: number }>();

  /** Up to which signed checkpoint to go; `null`: there is too little to do. */
  const targetOf = async (place: CompactedPartition): Promise<SignedCheckpoint | null> => {
    const { topic, partition, compactedTo } = place;
    const isFar = (seal: SignedCheckpoint | null): seal is SignedCheckpoint =>
      seal !== null && seal.nextOffset >= compactedTo + pace.recordsAtLeast;
    const near = await store.newest({ topic, partition }, keys, compactedTo + recordsAtMost);
    if (isFar(near)) return near;
    // A new key has signed nothing yet of what is old.
    const newest = await store.newest({ topic, partition }, keys);
    return isFar(newest) ? newest : null;
  };

  /**
   * The offset below which nobody looks for events by their subject. Of visits nobody ever does. Of links
   * whoever reads a projection does, for those that it has not applied, and may have begun a while ago.
   */
  const unsoughtBelow = async ({
    id,
    topic,
    partition,
    next,
  }: CompactedPartition): Promise<number> => {
    if (topic !== topics.links.name) return next;
    let known = applied.get(id);
    const at = performance.now();
    if (!known || at - known.at >= pace.soughtMs) {
      const offset = await appliedThrough(pool, topic, partition);
      known = { at, offset, before: known?.offset ?? 0 };
      applied.set(id, known);
    }
    return (await subjectsSetAside(pool, topic)).length > 0 ? 0 : known.before;
  };

  /**
   * Reads the rows of a stretch, with those around it up to the next checkpoints, and says how to put them
   * together; `null` when it is to stop, or the checkpoint behind it is being replaced.
   *
   * @throws ChainBroken where the log is not what was sealed
   */
  const planOf = async (
    client: Queryable,
    place: CompactedPartition,
    { first, next }: Stretch,
    dutyCycle: DutyCycle,
  ): Promise<readonly NewSegment[] | null> => {
    const { id: partitionId, topic, partition, compactedTo } = place;
    const [base, target] = await Promise.all([
      store.newest({ topic, partition }, keys, first),
      store.oldest({ topic, partition }, keys, next),
    ]);
    if (!target) return null;
    let hash = base ? Buffer.from(base.hash, 'hex') : genesisOf(log.logId(topic), place);
    const segments: NewSegment[] = [];
    for (let from = base?.nextOffset ?? 0; from < target.nextOffset;) {
      if (stopping.signal.aborted) return null;
      const page = { partitionId, from, to: Math.min(from + pageSize, target.nextOffset) };
      const rows = (await readRows(client, [page])).get(partitionId) ?? [];
      const { records, damaged } = unpack(rows, from, target.nextOffset);
      if (damaged || records.length === 0) {
        throw new ChainBroken(`${topic}/${partition} has lost records from ${from} on`);
      }
      hash = extendChain(place, hash, records).hash;
      from += records.length;
      for (const row of rows) {
        const isDue = row.firstOffset >= first && row.firstOffset + row.records <= next;
        if (isDue) plan(segments, row);
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

  /** Returns how many records were put into segments. */
  const compact = async (
    client: Queryable,
    place: CompactedPartition,
    dutyCycle: DutyCycle,
  ): Promise<number> => {
    const { id, topic, partition, lastSegment, compactedTo } = place;
    const name = `${topic}/${partition}`;
    const end = await unsoughtBelow(place);
    if (broken.has(name) || end - compactedTo < pace.recordsAtLeast) return 0;
    const target = await targetOf(place);
    if (target === null) return 0;
    const to = Math.min(target.nextOffset, end);
    const rows = await rowSizes(client, id, { from: lastSegment, to, atMost: rowsAtMost });
    // Where the last checkpoint is far away, as after a new key, its chain is to be computed once, not for each
    // stretch.
    const base = await store.newest({ topic, partition }, keys, lastSegment);
    const isNear = lastSegment - (base?.nextOffset ?? 0) <= recordsAtMost;
    let done = 0;
    try {
      for (const stretch of stretchesOf(place, rows, isNear ? largeRow : Infinity)) {
        if (stretch.isMoved) await moveRows(client, id, stretch);
        else {
          const segments = await planOf(client, place, stretch, dutyCycle);
          if (!segments) break;
          for (const segment of segments) {
            if (stopping.signal.aborted) return done;
            await makeSegment(client, id, segment);
            done = segment.next - compactedTo;
            await dutyCycle.pause();
          }
        }
        done = stretch.next - compactedTo;
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
    for (const place of await compactedPartitions(client, compacted)) {
      done += await compact(client, place, dutyCycle);
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
    /** Visits and events of links that are not in segments yet; `null` until the first look. */
    progress: () => (waiting === null ? null : { waiting }),
    /** By topic and partition: those that are left alone, as far as this process has seen it. */
    brokenChains: (): ReadonlyMap<string, ChainBroken> => broken,
    /** Resolves when nothing is being compacted and nothing will be. */
    async stop(): Promise<void> {
      stopping.abort();
      await task.stop();
    },
  };
};

export type Compactor = ReturnType<typeof startCompactor>;
