import type { EventLog, PartitionRange } from '../../ops/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { advisoryLocks } from '../../ops/advisory-locks.js';
import { withAdvisoryLock } from '../../ops/platform/postgres/own-connection.js';
import { transactionOn, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import { maxPortion } from '../../schemas/events/spooled-visit.js';
import { topics } from '../../schemas/events/topics.js';
import { readCheckpoints, shareSchema, type Checkpoint } from './checkpoints.js';
import { liveSchema } from './projection.js';
import { blockOf, blockSize, type SpoolBlock } from './spool-blocks.js';

const topic = topics.visits.name;
const name = 'stats';
const schema = liveSchema(name);

/**
 * How long a spool must have no new visits before the rest of its last portion counts as missing (ms). A failed portion is
 * retried after seconds.
 */
const quietMs = 60_000;

export interface SpoolCount {
  /** Visits up to this sequence are either applied or counted in `missingBefore`. */
  readonly accountedThrough: number;
  readonly missingBefore: number;
  readonly missingAfter: number;
}

/** A spool with the blocks of visits that are not accounted for, summed over partitions, in order. */
export interface Spool extends SpoolCount {
  readonly source: string;
  readonly blocks: readonly Omit<SpoolBlock, 'source'>[];
}

export const highestOf = ({ blocks }: Pick<Spool, 'blocks'>): number =>
  Math.max(0, ...blocks.map(({ highest }) => highest));

/** Counts unapplied visits after `after` up to `through`, which ends a block or is the highest sequence. */
const absent = ({ blocks }: Spool, after: number, through: number): number => {
  let applied = 0;
  for (const { block, visits } of blocks) {
    const from = Math.max(block * blockSize, after);
    const to = Math.min((block + 1) * blockSize, through);
    if (from < to) applied += Math.min(visits, to - from);
  }
  return Math.max(through - after, 0) - applied;
};

/** Returns the end of the contiguous complete blocks after `accountedThrough`. */
const completeThrough = (spool: Spool): number => {
  let through = spool.accountedThrough;
  for (const { block, visits } of spool.blocks) {
    if (block !== blockOf(through + 1)) continue;
    const end = (block + 1) * blockSize;
    if (visits < end - through) break;
    through = end;
  }
  return through;
};

/** Returns the end of the last block after which the spool has shipped a whole portion. */
export const closedThrough = (spool: Spool): number =>
  Math.floor(Math.max(highestOf(spool) - maxPortion, 0) / blockSize) * blockSize;

/**
 * Updates the count. Absent visits up to `finalThrough`, the end of a block, are missing; if the spool `isQuiet`, up to its
 * highest sequence. Later visits may be in flight.
 */
export const recount = (
  spool: Spool,
  { finalThrough, isQuiet }: { readonly finalThrough: number; readonly isQuiet: boolean },
): SpoolCount => {
  const highest = highestOf(spool);
  let accountedThrough = completeThrough(spool);
  let { missingBefore, missingAfter } = spool;
  if (finalThrough > accountedThrough) {
    missingBefore += absent(spool, accountedThrough, finalThrough);
    accountedThrough = finalThrough;
    missingAfter = 0;
  }
  const remaining = absent(spool, accountedThrough, highest);
  missingAfter = isQuiet ? remaining : Math.min(missingAfter, remaining);
  return { accountedThrough, missingBefore, missingAfter };
};

type Ends = readonly Pick<PartitionRange, 'partition' | 'next'>[];
type Offsets = readonly Pick<Checkpoint, 'partition' | 'offset'>[];

/** A sequence of a spool, with the ends of the log that were read after it. */
interface Observation {
  readonly through: number;
  readonly ends: Ends;
  readonly at: number;
}

const hasReached = (offsets: Offsets, { ends }: Observation): boolean =>
  ends.every(({ partition, next }) => {
    const offset = offsets.find((known) => known.partition === partition)?.offset ?? 0;
    return offset >= next;
  });

interface Counted {
  readonly spool: Spool;
  readonly count: SpoolCount;
  /** Whether no visits are in flight. */
  readonly isQuiet: boolean;
}

/**
 * Distinguishes missing visits from those in flight. Partitions are read at different speeds, and a portion of a spool is
 * appended to them in sequence. A visit is missing if all partitions were read up to the ends of the log after the spool
 * had shipped a later portion, or after it had shipped nothing for a minute.
 */
export class SpoolWatch {
  readonly #closed = new Map<string, Observation>();
  readonly #highest = new Map<string, Observation>();

  /** @param offsets read before the spools */
  count(now: number, offsets: Offsets, spools: readonly Spool[]): readonly Counted[] {
    const sources = new Set(spools.map(({ source }) => source));
    for (const known of [this.#closed, this.#highest]) {
      for (const source of known.keys()) if (!sources.has(source)) known.delete(source);
    }
    return spools.map((spool) => {
      const { source } = spool;
      const highest = highestOf(spool);
      const closed = this.#closed.get(source);
      const isFinal = closed !== undefined && hasReached(offsets, closed);
      if (isFinal) this.#closed.delete(source);
      const last = this.#highest.get(source);
      if (last?.through !== highest) this.#highest.delete(source);
      const isQuiet =
        last?.through === highest && now - last.at >= quietMs && hasReached(offsets, last);
      const finalThrough = isFinal ? closed.through : 0;
      return { spool, isQuiet, count: recount(spool, { finalThrough, isQuiet }) };
    });
  }

  /** Stores the counted sequences with the ends of the log, which are read afterwards. */
  async observe(
    now: number,
    counted: readonly Counted[],
    readEnds: () => Promise<Ends>,
  ): Promise<void> {
    const isNew = ({ spool }: Counted): boolean => !this.#highest.has(spool.source);
    const isClosing = ({ spool, count }: Counted): boolean =>
      closedThrough(spool) > count.accountedThrough && !this.#closed.has(spool.source);
    const due = counted.filter((item) => isNew(item) || isClosing(item));
    if (due.length === 0) return;
    const ends = await readEnds();
    for (const item of due) {
      const { spool } = item;
      if (isClosing(item)) {
        this.#closed.set(spool.source, { through: closedThrough(spool), ends, at: now });
      }
      if (isNew(item)) {
        this.#highest.set(spool.source, { through: highestOf(spool), ends, at: now });
      }
    }
  }
}

const readSpools = async (tx: Client): Promise<readonly Spool[]> => {
  const { rows } = await tx.query<SpoolCount & SpoolBlock>(
    `SELECT b.source, b.block, sum(b.visits) AS visits, max(b.highest) AS highest,
            coalesce(s.accounted_through, 0) AS "accountedThrough",
            coalesce(s.missing_before, 0) AS "missingBefore",
            coalesce(s.missing_after, 0) AS "missingAfter"
     FROM ${schema}.spool_blocks b LEFT JOIN ${schema}.spools s USING (source)
     GROUP BY b.source, b.block, s.source ORDER BY b.source, b.block`,
  );
  const spools = new Map<string, Spool & { readonly blocks: Omit<SpoolBlock, 'source'>[] }>();
  for (const { source, block, visits, highest, ...count } of rows) {
    const spool = spools.get(source) ?? { source, ...count, blocks: [] };
    spool.blocks.push({ block, visits, highest });
    spools.set(source, spool);
  }
  return [...spools.values()];
};

/** Saves a count and deletes the blocks that are accounted for. */
const saveCount = async (tx: Client, { source }: Spool, count: SpoolCount): Promise<void> => {
  const { accountedThrough, missingBefore, missingAfter } = count;
  await tx.query(
    `INSERT INTO ${schema}.spools VALUES ($1, $2, $3, $4)
     ON CONFLICT (source) DO UPDATE SET accounted_through = excluded.accounted_through,
       missing_before = excluded.missing_before, missing_after = excluded.missing_after`,
    [source, accountedThrough, missingBefore, missingAfter],
  );
  await tx.query(
    `DELETE FROM ${schema}.spool_blocks WHERE source = $1 AND block < $2::bigint / ${blockSize}`,
    [source, accountedThrough],
  );
};

/** Deletes the open blocks of a complete spool, unless a batch has added a visit meanwhile. */
const deleteOpenBlocks = async (
  tx: Client,
  spool: Spool,
  accountedThrough: number,
): Promise<void> => {
  const open = spool.blocks.filter(({ block }) => block >= blockOf(accountedThrough + 1));
  const visits = open.reduce((sum, block) => sum + block.visits, 0);
  await tx.query(
    `WITH locked AS (
       SELECT block, partition, visits, highest FROM ${schema}.spool_blocks
       WHERE source = $1 AND block >= $2 ORDER BY block, partition FOR UPDATE
     ),
     unchanged AS (
       SELECT max(highest) AS highest FROM locked HAVING sum(visits) = $3 AND max(highest) = $4
     ),
     deleted AS (
       DELETE FROM ${schema}.spool_blocks b USING locked l, unchanged
       WHERE b.source = $1 AND b.block = l.block AND b.partition = l.partition
     )
     UPDATE ${schema}.spools s SET accounted_through = u.highest FROM unchanged u
     WHERE s.source = $1`,
    [spool.source, blockOf(accountedThrough + 1), visits, highestOf(spool)],
  );
};

const isSame = (a: SpoolCount, b: SpoolCount): boolean =>
  a.accountedThrough === b.accountedThrough &&
  a.missingBefore === b.missingBefore &&
  a.missingAfter === b.missingAfter;

/**
 * Counts the missing visits of spools and logs each additional loss once. One process does so at a time.
 *
 * @returns the task for `periodically`
 */
export const watchSpools = (deps: {
  readonly pool: Pool;
  readonly log: Pick<EventLog, 'ranges'>;
  readonly logger: Logger;
  readonly now?: () => number;
}): (() => Promise<number>) => {
  const { pool, log, logger, now = () => performance.now() } = deps;
  const watch = new SpoolWatch();
  const count = async (client: Client): Promise<readonly Counted[]> => {
    await client.query(shareSchema(name));
    const offsets = (await readCheckpoints(client, schema)).filter(
      (known) => known.topic === topic,
    );
    const counted = watch.count(now(), offsets, await readSpools(client));
    for (const { spool, count: next, isQuiet } of counted) {
      const isComplete = isQuiet && next.missingAfter === 0;
      if (isComplete || !isSame(spool, next)) await saveCount(client, spool, next);
      if (isComplete) await deleteOpenBlocks(client, spool, next.accountedThrough);
    }
    return counted;
  };
  const report = ({ spool, count: { missingBefore, missingAfter } }: Counted): void => {
    const missing = missingBefore + missingAfter - spool.missingBefore - spool.missingAfter;
    if (missing <= 0) return;
    const { source, accountedThrough } = spool;
    logger.error(
      { topic, source, after: accountedThrough, missing },
      'visits of a spool are missing from the log',
    );
  };
  return async () => {
    await withAdvisoryLock(pool, [advisoryLocks.spoolWatch], async (client) => {
      const counted = await transactionOn(client, () => count(client));
      counted.forEach(report);
      await watch.observe(now(), counted, () => log.ranges(topic));
    });
    return 0;
  };
};
