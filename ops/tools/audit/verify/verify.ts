import { projections } from '../../../../projectors/projections.js';
import {
  requireKnownCheckpoints,
  type Checkpoint,
} from '../../../../projectors/runtime/checkpoints.js';
import { topics } from '../../../../schemas/events/topics.js';
import { concurrently } from '../../../platform/concurrency/deferred.js';
import type { EventLog } from '../../../event-log/port.js';
import { transactionOn, type Pool } from '../../../platform/postgres/pool.js';
import type { ProgressOptions } from '../../cli/long-work.js';
import { compareTables, identityOf } from './compare.js';
import { explain } from './explain.js';
import {
  beginTogether,
  foldLedger,
  foldProjection,
  withSessions,
  type Fold,
  type FoldOptions,
  type ProjectionFold,
} from './folds.js';
import {
  batchSize,
  offsetIn,
  tableEnds,
  wholeLog,
  type FoldPositions,
  type OffsetRange,
  type TableRange,
} from './reading.js';
import type { Gap, Model, SetAside, Verification } from './report.js';

export interface VerifyOptions extends ProgressOptions {
  /** With patient deadlines; one connection for each model is used, and one more. */
  readonly pool: Pool;
  readonly log: EventLog;
  /** The maximum number of reported differences for each table; 10 by default. */
  readonly limit?: number;
}

/** If events arrive as fast as they are folded, the comparing transaction folds the rest. */
const maxRounds = 10;
/** A rebuild that replaces the live tables during a comparison makes another one necessary. */
const maxComparisons = 5;

/** Each fold reads two partitions: nine connections, including the sessions. */
const concurrentFolds = 2;

const recordsBelow = (checkpoints: readonly Checkpoint[]): number =>
  checkpoints.reduce((sum, { offset }) => sum + offset, 0);

/** Removes gaps that are part of another gap, because the round of a fold ended within it. */
const withoutSubgaps = (gaps: readonly Gap[]): readonly Gap[] =>
  gaps.filter(
    (gap) =>
      !gaps.some(
        ({ in: where, topic, partition, from, to }) =>
          where === gap.in &&
          topic === gap.topic &&
          partition === gap.partition &&
          from < gap.from &&
          to >= gap.to,
      ),
  );

const setAsideBy = async ({ client, live, model }: Fold): Promise<SetAside> => {
  const { rows } = await client.query<Omit<SetAside, 'model'>>(
    `SELECT count(error) AS "deadLetters", count(*) - count(error) AS parked
     FROM ${live}.dead_letters`,
  );
  return { model, ...(rows[0] ?? { deadLetters: 0, parked: 0 }) };
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
  const gaps = new Map<string, Gap>();
  /** Each fold reads a gap up to its own checkpoint, so the longest one is reported. */
  const onGap = (gap: Gap): void => {
    const start = `${gap.in} ${gap.topic}/${gap.partition} ${gap.from}`;
    if ((gaps.get(start)?.to ?? 0) < gap.to) gaps.set(start, gap);
  };
  let [done, total, events] = [0, 0, 0];
  const advance = (records: number): void => {
    done += records;
    progress?.(done, Math.max(done, total));
  };
  for (const projection of projections) await requireKnownCheckpoints(pool, log, projection);

  return withSessions(pool, async (open) => {
    const readModels: ProjectionFold[] = [];
    for (const projection of projections) {
      readModels.push(await foldProjection(await open(), projection, log));
    }
    const ledger = await foldLedger(await open(), log);
    const folds: readonly Fold[] = [...readModels, ledger];

    // Read before the ends of the log, so that all records up to `published` are in the log.
    const published = new Map(
      (await tableEnds(pool)).map(({ partitionId, published: end }) => [partitionId, end] as const),
    );
    const partitions = await wholeLog(log);

    /**
     * Folds up to the live tables, as their sessions see them. The ledger folds the log up to the initial ends and the
     * table from there on, because only the table has a snapshot. Returns `null` if a fold is ahead of its live tables,
     * which were replaced.
     */
    const catchUp = async (
      step: FoldOptions['step'],
      before: FoldPositions | null,
    ): Promise<FoldPositions | null> => {
      // Read after the ends of the log, so that the table has all events that those in the log refer to.
      const table = await tableEnds(ledger.client);
      const checkpoints = new Map<Model, readonly Checkpoint[]>();
      for (const fold of readModels) {
        const live = await fold.liveCheckpoints();
        const own = await fold.ownCheckpoints();
        if (own.some(({ topic, partition, offset }) => offset > offsetIn(live, topic, partition))) {
          return null;
        }
        checkpoints.set(fold.model, live);
        total += recordsBelow(live) - recordsBelow(own);
      }
      const ranges = {
        log: before ? [] : partitions,
        table: table.map((end): TableRange => {
          const known = before?.table.find(({ partitionId }) => partitionId === end.partitionId);
          return { ...end, from: known?.next ?? published.get(end.partitionId) ?? 0, to: end.next };
        }),
      };
      for (const { from, to } of [...ranges.log, ...ranges.table]) total += to - from;
      advance(0);

      const onLedgerRecords = (records: number): void => {
        events += records;
        advance(records);
      };
      const work = [
        (ending: AbortSignal) =>
          ledger.foldAll(ranges, { step, onGap, onRecords: onLedgerRecords, signal: ending }),
        ...readModels.map((fold) => (ending: AbortSignal) => {
          const live = checkpoints.get(fold.model) ?? [];
          return fold.foldTo(live, { step, onGap, onRecords: advance, signal: ending });
        }),
      ];
      await concurrently(work, { concurrency: concurrentFolds, signal }, (fold, ending) =>
        fold(ending),
      );
      return { table, checkpoints };
    };

    let positions: FoldPositions | null = null;
    for (let round = 0; round < maxRounds; round += 1) {
      const before = done;
      positions = (await catchUp(transactionOn, positions)) ?? positions;
      if (done - before <= batchSize) break;
    }

    /** Returns `null` if live tables were replaced meanwhile. */
    const compare = async () => {
      await beginTogether(folds.map(({ client }) => client));
      const identities = await Promise.all(folds.map(identityOf));
      const end = await catchUp((_client, work) => work(), positions);
      if (end === null) return null;
      await ledger.addOpenMinutes();
      const tables = await Promise.all(folds.map((fold) => compareTables(fold, limit)));
      const setAside = await Promise.all(readModels.map(setAsideBy));
      const isSame = (await Promise.all(folds.map(identityOf))).every(
        (identity, index) => identity === identities[index],
      );
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
    await ledger.sequences.awaitPortions(
      log,
      (partition) => {
        const isPartition = (range: Pick<OffsetRange, 'topic' | 'partition'>): boolean =>
          range.topic === topics.visits.name && range.partition === partition;
        // The embedded log is the table, whose end is newer. The outbox of Kafka has other offsets.
        const inTable = end.table.find((known) => known.in === 'log' && isPartition(known))?.next;
        return inTable ?? partitions.find(isPartition)?.to ?? 0;
      },
      signal,
    );
    const missingOfSpools = ledger.sequences.missingOfSpools(limit);
    const differences = await explain(
      { pool, log, partitions, published, positions: end, signal },
      tables.flatMap(({ reported }) => reported),
    );
    return {
      events,
      tables: tables.map(({ model, table, rows, differences: count }) => {
        return { model, table, rows, differences: count };
      }),
      differences,
      gaps: withoutSubgaps([...gaps.values()]),
      missing: {
        events: missingOfSubjects.events + missingOfSpools.events,
        origins: missingOfSubjects.origins + missingOfSpools.origins,
        reported: [...missingOfSubjects.reported, ...missingOfSpools.reported],
      },
      setAside: setAside.filter(({ deadLetters, parked }) => deadLetters + parked > 0),
    };
  });
};
