import pLimit from 'p-limit';
import type { PoolClient } from 'pg';
import { projections } from '../../../../projectors/projections.js';
import { catchUpBatchSize, joined } from '../../../../projectors/runtime/catch-up.js';
import { requireKnownCheckpoints } from '../../../../projectors/runtime/checkpoints.js';
import { topics, type TopicName } from '../../../../schemas/events/topics.js';
import { ledgerTopics } from '../../../ledger/rebuild/rebuild.js';
import { groupBy } from '../../../platform/collections.js';
import { concurrently } from '../../../platform/concurrency/deferred.js';
import type { EventLog } from '../../../event-log/port.js';
import { transactionOn, type Pool } from '../../../platform/postgres/pool.js';
import type { ProgressOptions } from '../../cli/long-work.js';
import { compareTables } from './compare.js';
import { explain } from './explain.js';
import { foldLedger, foldProjection, type Fold, type FoldedRange } from './folds.js';
import type { Gap, Model, RowPosition, SetAside, Verification } from './report.js';

interface VerifyOptions extends ProgressOptions {
  /** A pool with patient deadlines. Each model uses a connection, and the readers two. */
  readonly pool: Pool;
  readonly log: EventLog;
  /** The maximum number of reported differences for each table; 10 by default. */
  readonly limit?: number;
}

/** Fewer records end the rounds. */
const smallRound = 2_000;
/** If events arrive as fast as they are folded, the comparing transaction folds the rest. */
const maxRounds = 10;
/** A rebuild that replaces the live tables during a comparison makes another one necessary. */
const maxComparisons = 5;

/** One batch is parsed while PostgreSQL applies another. With the sessions, seven connections. */
const concurrentRanges = 2;

/**
 * Records of a batch. The batches of two partitions fit into the cache of recent events, which has no visits: a large
 * batch folds more visits of the same link with the same number of statements.
 */
const batchSizeOf = (topic: TopicName): number =>
  topic === topics.visits.name ? catchUpBatchSize : 2_000;

/**
 * Comparisons of large tables exceed the services' timeouts, and sessions wait for each other. Cached plans
 * would be those of empty tables.
 */
const settings = `
  SET statement_timeout = 0;
  SET idle_in_transaction_session_timeout = 0;
  SET temp_buffers = '32MB';
  SET plan_cache_mode = force_custom_plan;
  SET timezone = 'UTC'`;

/** Runs `work` with connections that are closed afterwards, which drops their temporary tables and open transactions. */
const withSessions = async <Result>(
  pool: Pool,
  work: (open: () => Promise<PoolClient>) => Promise<Result>,
): Promise<Result> => {
  const clients: PoolClient[] = [];
  const open = async (): Promise<PoolClient> => {
    const client = await pool.connect();
    clients.push(client);
    await client.query(settings);
    return client;
  };
  try {
    return await work(open);
  } finally {
    for (const client of clients) client.release(true);
  }
};

/** Begins a transaction with the same snapshot in each session. */
const beginTogether = async (clients: readonly PoolClient[]): Promise<void> => {
  let snapshot: string | undefined;
  for (const client of clients) {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    if (snapshot === undefined) {
      const { rows } = await client.query<{ id: string }>('SELECT pg_export_snapshot() AS id');
      snapshot = rows[0]?.id ?? '';
    } else {
      await client.query(`SET TRANSACTION SNAPSHOT '${snapshot}'`);
    }
  }
};

/** Returns the oids of live schemas, which rebuilds replace. */
const identitiesOf = async (client: PoolClient, folds: readonly Fold[]): Promise<string | null> => {
  const { rows } = await client.query<{ oids: string }>(
    `SELECT string_agg(name::regnamespace::oid::text, ',') AS oids FROM unnest($1::text[]) AS name`,
    [folds.map(({ live }) => live)],
  );
  return rows[0]?.oids ?? null;
};

const setAsideBy = async ({ client, live, model }: Fold): Promise<SetAside> => {
  const { rows } = await client.query<Omit<SetAside, 'model'>>(
    `SELECT count(error) AS "deadLetters", count(*) - count(error) AS parked
     FROM ${live}.dead_letters`,
  );
  return { model, ...(rows[0] ?? { deadLetters: 0, parked: 0 }) };
};

type Folded = ReadonlyMap<Fold, readonly FoldedRange[]>;

/** What a fold lacks of a range. */
interface Part {
  readonly fold: Fold;
  readonly range: FoldedRange;
  readonly from: number;
}

const isSameRange = (a: Omit<RowPosition, 'offset'>, b: typeof a): boolean =>
  a.in === b.in && a.topic === b.topic && a.partition === b.partition;

const endIn = (ranges: readonly FoldedRange[], range: FoldedRange): number | undefined =>
  ranges.find((known) => isSameRange(known, range))?.next;

const sumOf = (numbers: readonly number[]): number =>
  numbers.reduce((sum, number) => sum + number, 0);

/** Runs the work on one batch, in a new transaction or in the open one. */
type Step = (client: PoolClient, work: () => Promise<void>) => Promise<void>;

/** Merges overlapping and adjacent gaps, because several folds read a partition, each in several rounds. */
const merged = (gaps: readonly Gap[]): readonly Gap[] => {
  const disjoint: { -readonly [Field in keyof Gap]: Gap[Field] }[] = [];
  for (const gap of gaps.toSorted((a, b) => a.from - b.from)) {
    const before = disjoint.findLast((known) => isSameRange(known, gap));
    if (before && gap.from <= before.to) before.to = Math.max(before.to, gap.to);
    else disjoint.push({ ...gap });
  }
  return disjoint;
};

/**
 * Folds the whole log from its first record, each read model up to its checkpoint and the ledger with the outbox, and
 * compares every row with one snapshot of the live tables. The service may run meanwhile. PostgreSQL needs space for
 * temporary tables as large as the live ones.
 *
 * Most events are folded in short transactions, because a long transaction would block VACUUM. The comparing transaction
 * folds the events that arrived meanwhile.
 *
 * @throws ForeignPosition if a projection is of another log, or the log is truncated
 * @throws the signal's reason
 */
export const verify = async (options: VerifyOptions): Promise<Verification> => {
  const { pool, log, limit = 10, progress, signal } = options;
  const gaps: Gap[] = [];
  let [done, total] = [0, 0];
  for (const projection of projections) await requireKnownCheckpoints(pool, log, projection);

  return withSessions(pool, async (open) => {
    const readModels: Fold[] = [];
    for (const projection of projections) {
      readModels.push(await foldProjection(await open(), projection, log));
    }
    const ledger = await foldLedger(await open(), log);
    const folds = [...readModels, ledger.fold];
    /** A session runs one transaction at a time. */
    const limits = new Map(folds.map((fold) => [fold, pLimit(1)]));
    const oneAtATime = (fold: Fold, work: () => Promise<void>): Promise<void> =>
      limits.get(fold)?.(work) ?? work();

    /** Reads a range once, folds it into each model from an offset on, and records its gaps. */
    const foldRange = async (
      step: Step,
      parts: readonly Part[],
      ending: AbortSignal,
    ): Promise<void> => {
      const end = Math.max(...parts.map(({ range }) => range.next));
      const longest = parts.find(({ range }) => range.next === end)?.range;
      if (!longest) return;
      const { in: where, topic, partition } = longest;
      let next = Math.min(...parts.map(({ from }) => from));
      const expectNext = (offset: number): void => {
        if (offset > next) gaps.push({ in: where, topic, partition, from: next, to: offset });
      };
      for await (const batch of joined(longest.read(next), batchSizeOf(topic))) {
        for (const { offset } of batch.records) {
          expectNext(offset);
          next = offset + 1;
        }
        await concurrently(parts, { concurrency: parts.length, signal: ending }, async (part) => {
          const { fold, from, range: own } = part;
          const records = batch.records.filter(({ offset: at }) => at >= from && at < own.next);
          if (records.length === 0) return;
          await oneAtATime(fold, () => step(fold.client, () => fold.add({ ...batch, records })));
          done += records.length;
        });
        progress?.(done, Math.max(done, total));
      }
      expectNext(end);
    };

    /**
     * Folds up to the live tables, as their sessions see them. Returns `null` if a fold is ahead of its live tables, which
     * were replaced.
     */
    const catchUp = async (step: Step, before: Folded): Promise<Folded | null> => {
      const folded = new Map<Fold, readonly FoldedRange[]>();
      const parts: Part[] = [];
      for (const fold of folds) {
        const [known, ranges] = [before.get(fold) ?? [], await fold.ranges()];
        if (known.some((range) => range.next > (endIn(ranges, range) ?? 0))) return null;
        folded.set(fold, ranges);
        for (const range of ranges) {
          const from = endIn(known, range) ?? range.first;
          total += range.next - from;
          if (from < range.next) parts.push({ fold, range, from });
        }
      }
      progress?.(done, Math.max(done, total));
      // Events refer only to earlier topics, and records of the outbox only to those of the log.
      for (const topic of ledgerTopics) {
        for (const where of ['log', 'outbox'] as const) {
          const ofTopic = parts.filter(({ range }) => range.topic === topic && range.in === where);
          const byPartition = groupBy(ofTopic, ({ range }) => range.partition);
          await concurrently(
            byPartition.values(),
            { concurrency: concurrentRanges, signal },
            (ofRange, ending) => foldRange(step, ofRange, ending),
          );
        }
      }
      return folded;
    };

    let folded: Folded = new Map();
    for (let round = 0; round < maxRounds; round += 1) {
      const before = done;
      folded = (await catchUp(transactionOn, folded)) ?? folded;
      if (done - before <= smallRound) break;
    }

    /** Returns `null` if live tables were replaced meanwhile. */
    const compare = async () => {
      await beginTogether(folds.map(({ client }) => client));
      const identities = await identitiesOf(ledger.fold.client, folds);
      const end = await catchUp((_client, work) => work(), folded);
      if (end === null) return null;
      await ledger.addOpenMinutes();
      const tables = await Promise.all(folds.map((fold) => compareTables(fold, limit)));
      const setAside = await Promise.all(readModels.map(setAsideBy));
      const isSame = (await identitiesOf(ledger.fold.client, folds)) === identities;
      const missingOfSubjects = await ledger.sequences.missingOfSubjects(limit);
      return isSame ? { tables: tables.flat(), setAside, missingOfSubjects, end } : null;
    };

    let compared = null;
    for (let attempt = 0; attempt < maxComparisons && compared === null; attempt += 1) {
      compared = await compare();
      signal?.throwIfAborted();
      await Promise.all(folds.map(({ client }) => client.query('ROLLBACK')));
    }
    if (compared === null) {
      throw new Error(
        `rebuilds replaced the live tables in ${maxComparisons} comparisons; verify when no rebuild runs`,
      );
    }
    const { tables, setAside, missingOfSubjects, end } = compared;
    const rangesOf = (model: Model): readonly FoldedRange[] =>
      folds.flatMap((fold) => (fold.model === model ? (end.get(fold) ?? []) : []));
    await ledger.sequences.awaitPortions(
      log,
      (partition) => {
        const inLog = { in: 'log', topic: topics.visits.name, partition } as const;
        return rangesOf('ledger').find((range) => isSameRange(range, inLog))?.next ?? 0;
      },
      signal,
    );
    const missingOfSpools = ledger.sequences.missingOfSpools(limit);
    const differences = await explain(
      tables.flatMap(({ reported }) => reported),
      rangesOf,
      signal,
    );
    const foundGaps = merged(gaps);
    return {
      events:
        sumOf(rangesOf('ledger').map(({ first, next }) => next - first)) -
        sumOf(foundGaps.map(({ from, to }) => to - from)),
      tables: tables.map(({ counts }) => counts),
      differences,
      gaps: foundGaps,
      missing: {
        events: missingOfSubjects.events + missingOfSpools.events,
        origins: missingOfSubjects.origins + missingOfSpools.origins,
        reported: [...missingOfSubjects.reported, ...missingOfSpools.reported],
      },
      setAside: setAside.filter(({ deadLetters, parked }) => deadLetters + parked > 0),
    };
  });
};
