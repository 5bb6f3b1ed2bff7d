import { projections } from '../../../../projectors/projections.js';
import {
  requireKnownCheckpoints,
  type Checkpoint,
} from '../../../../projectors/runtime/checkpoints.js';
import { topics } from '../../../../schemas/events/topics.js';
import { concurrently } from '../../../platform/concurrency/concurrently.js';
import type { EventLog } from '../../../event-log/port.js';
import { transactionOn, type Pool } from '../../../platform/postgres/pool.js';
import type { Watch } from '../../cli/long-work.js';
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
  type Stretch,
  type TableStretch,
} from './reading.js';
import type { Gap, Model, SetAside, Verification } from './report.js';

export interface VerifyOptions extends Watch {
  /** Patient; one of its connections is used for each model, and one more. */
  readonly pool: Pool;
  readonly log: EventLog;
  /** Differences that are told of each table at most; 10 unless told. */
  readonly limit?: number;
}

/** Where events come as fast as they are folded, the rest is left to the transaction that compares. */
const roundsAtMost = 10;
/** A rebuild may take the place of live tables in the middle of a comparison: then another one is due. */
const comparisonsAtMost = 5;

/** Read at once. Each fold reads two partitions: with the sessions that makes nine connections. */
const foldsAtOnce = 2;

const recordsBelow = (checkpoints: readonly Checkpoint[]): number =>
  checkpoints.reduce((sum, { offset }) => sum + offset, 0);

/** Leaves out gaps that are a part of another one: of a fold whose round ended in the middle of it. */
const withoutParts = (gaps: readonly Gap[]): readonly Gap[] =>
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
 * Folds the whole log from its first record, each read model up to its checkpoint and the ledger with
 * the outbox, and compares every row with the live tables as they were at one moment. The service may
 * run meanwhile: nothing of it is written or waited for. It takes room in PostgreSQL for temporary
 * tables as large as the live ones, and little memory here.
 *
 * Most of it is folded in short transactions, for a long one would keep PostgreSQL from cleaning up
 * behind the service. What came in the meantime is folded in the transaction that compares.
 *
 * @throws ForeignPosition when a projection was made from another log, or the log is cut
 * @throws the signal's reason
 */
export const verify = async (options: VerifyOptions): Promise<Verification> => {
  const { pool, log, limit = 10, progress, signal } = options;
  const gaps = new Map<string, Gap>();
  /** Every fold reads a gap up to where its own live tables are: the longest one is told. */
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

    // In this order: what the table has logged by now is below the log's ends.
    const logged = new Map(
      (await tableEnds(pool)).map(({ partitionId, logged: end }) => [partitionId, end] as const),
    );
    const partitions = await wholeLog(log);

    /**
     * Brings the folds to where the live tables are, as their sessions see them. The ledger needs of
     * the log what was logged in the beginning; the rest it takes from the table, which alone tells
     * what was there at a moment. `null` when a fold is past its live tables: these were replaced.
     */
    const catchUp = async (
      step: FoldOptions['step'],
      before: FoldPositions | null,
    ): Promise<FoldPositions | null> => {
      // After the log's ends: whatever an event below those refers to stands in the table.
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
      const stretches = {
        log: before ? [] : partitions,
        table: table.map((end): TableStretch => {
          const known = before?.table.find(({ partitionId }) => partitionId === end.partitionId);
          return { ...end, from: known?.next ?? logged.get(end.partitionId) ?? 0, to: end.next };
        }),
      };
      for (const { from, to } of [...stretches.log, ...stretches.table]) total += to - from;
      advance(0);

      const onLedgerRecords = (records: number): void => {
        events += records;
        advance(records);
      };
      const work = [
        (ending: AbortSignal) =>
          ledger.foldAll(stretches, { step, onGap, onRecords: onLedgerRecords, signal: ending }),
        ...readModels.map((fold) => (ending: AbortSignal) => {
          const live = checkpoints.get(fold.model) ?? [];
          return fold.foldTo(live, { step, onGap, onRecords: advance, signal: ending });
        }),
      ];
      await concurrently(work, { atOnce: foldsAtOnce, signal }, (fold, ending) => fold(ending));
      return { table, checkpoints };
    };

    let positions: FoldPositions | null = null;
    for (let round = 0; round < roundsAtMost; round += 1) {
      const before = done;
      positions = (await catchUp(transactionOn, positions)) ?? positions;
      if (done - before <= batchSize) break;
    }

    /** `null` when live tables were replaced in the middle of it. */
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
      const ofSubjects = await ledger.sequences.missingOfSubjects(limit);
      return isSame ? { tables: tables.flat(), setAside, ofSubjects, end } : null;
    };

    let compared = null;
    for (let attempt = 0; attempt < comparisonsAtMost && compared === null; attempt += 1) {
      compared = await compare();
      signal?.throwIfAborted();
      await Promise.all(folds.map(({ client }) => client.query('ROLLBACK')));
    }
    if (compared === null) {
      throw new Error(
        'The live tables were replaced again and again meanwhile: verify when no rebuild runs',
      );
    }
    const { tables, setAside, ofSubjects, end } = compared;
    await ledger.sequences.awaitPortions(
      log,
      (partition) => {
        const isThere = (place: Pick<Stretch, 'topic' | 'partition'>): boolean =>
          place.topic === topics.visits.name && place.partition === partition;
        // The table ends beyond the log where it is the log; before Kafka, its offsets are others.
        const inTable = end.table.find((known) => known.in === 'log' && isThere(known))?.next;
        return inTable ?? partitions.find(isThere)?.to ?? 0;
      },
      signal,
    );
    const ofSpools = ledger.sequences.missingOfSpools(limit);
    const differences = await explain(
      { pool, log, partitions, logged, positions: end, signal },
      tables.flatMap(({ told }) => told),
    );
    return {
      events,
      tables: tables.map(({ model, table, rows, differences: count }) => {
        return { model, table, rows, differences: count };
      }),
      differences,
      gaps: withoutParts([...gaps.values()]),
      missing: {
        events: ofSubjects.events + ofSpools.events,
        origins: ofSubjects.origins + ofSpools.origins,
        reported: [...ofSubjects.reported, ...ofSpools.reported],
      },
      setAside: setAside.filter(({ deadLetters, parked }) => deadLetters + parked > 0),
    };
  });
};
