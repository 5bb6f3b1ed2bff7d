import {
  checkPosition,
  type EventLog,
  type PartitionRange,
} from '../../platform/event-log/port.js';
import type { Pool } from '../../platform/postgres/pool.js';
import { projections } from '../../../projectors/projections.js';
import {
  requireKnownCheckpoints,
  type Checkpoint,
} from '../../../projectors/runtime/checkpoints.js';
import { transactionOn } from '../../../projectors/runtime/rebuild-lock.js';
import type { TopicName } from '../../../schemas/events/topics.js';
import { ledgerTopics } from '../../ledger-rebuild/rebuild.js';
import { compareTables, identityOf } from './compare.js';
import { Explanation, show } from './explain.js';
import { foldLedger, foldProjection, type Fold, type ProjectionFold } from './folds.js';
import { readLog, readTable, tableEnds, type TableEnd } from './records.js';
import type { Gap, Model, SetAside, Verification } from './report.js';
import { beginTogether, withSessions } from './sessions.js';

export interface VerifyOptions {
  /** Patient; one of its connections is used for each model, and one more. */
  readonly pool: Pool;
  readonly log: EventLog;
  /** Differences that are told of each table at most; 10 unless told. */
  readonly limit?: number;
  readonly progress?: (done: number, total: number) => void;
  /** Ends it; nothing is left of it. */
  readonly signal?: AbortSignal;
}

/** A fold, and which part of a partition is news to it. */
interface Reader {
  readonly fold: Fold;
  readonly from: number;
  readonly to: number;
}

/** In which transaction a fold takes a batch. */
type Step = (fold: Fold, work: () => Promise<void>) => Promise<void>;

const inItsOwn: Step = ({ client }, work) => transactionOn(client, work);
const inTheOpenOne: Step = (_fold, work) => work();

/** A rebuild may take the place of live tables in the middle of a comparison: then another one is due. */
const comparisonsAtMost = 5;

const offsetIn = (
  checkpoints: readonly Checkpoint[],
  topic: TopicName,
  partition: number,
): number =>
  checkpoints.find((known) => known.topic === topic && known.partition === partition)?.offset ?? 0;

/** One run: what it reads of the log, and what it has to say of that. */
class Verifier {
  readonly #options: VerifyOptions;
  readonly #gaps = new Map<string, Gap>();
  #done = 0;
  #total = 0;

  constructor(options: VerifyOptions) {
    this.#options = options;
  }

  get gaps(): readonly Gap[] {
    return [...this.#gaps.values()];
  }

  get done(): number {
    return this.#done;
  }

  /** More is to be read. */
  expect(records: number): void {
    this.#total += records;
    this.#tell();
  }

  /** Gives readers what is news to them of a partition of the log, which is read once. */
  async feed(
    { topic, partition }: { readonly topic: TopicName; readonly partition: number },
    readers: readonly Reader[],
    step: Step,
  ): Promise<void> {
    const from = Math.min(...readers.map((reader) => reader.from));
    const to = Math.max(...readers.map((reader) => reader.to));
    const stretch = { topic, partition, from, to };
    const batches = readLog(this.#options.log, stretch, async (gap) => {
      this.#note(gap);
      for (const { fold, ...news } of readers) {
        const offset = Math.min(Math.max(gap.to, news.from), news.to);
        await step(fold, () => fold.skipTo(topic, partition, offset));
      }
    });
    for await (const { records } of batches) {
      await Promise.all(
        readers.map(async ({ fold, ...news }) => {
          const due = records.filter(({ offset }) => offset >= news.from && offset < news.to);
          const batch = { topic, partition, records: due };
          if (due.length > 0) await step(fold, () => fold.apply(batch));
        }),
      );
      this.#advance(records.length);
    }
  }

  /** Gives a fold a part of the table that is the log, or the outbox before it. */
  async feedTable(fold: Fold, end: TableEnd, from: number, step: Step): Promise<void> {
    const stretch = { ...end, from, to: end.next };
    const batches = readTable(fold.client, stretch, (gap) => {
      this.#note(gap);
    });
    for await (const batch of batches) {
      await step(fold, () => fold.apply(batch));
      this.#advance(batch.records.length);
    }
  }

  #note(gap: Gap): void {
    this.#gaps.set(`${gap.in} ${gap.topic}/${gap.partition} ${gap.from}`, gap);
  }

  #advance(records: number): void {
    this.#options.signal?.throwIfAborted();
    this.#done += records;
    this.#tell();
  }

  #tell(): void {
    this.#options.progress?.(this.#done, Math.max(this.#done, this.#total));
  }
}

type Ends = ReadonlyMap<TopicName, readonly PartitionRange[]>;

/** @throws ForeignPosition when the log does not begin with its first record any more */
const endsOf = async (log: EventLog): Promise<Ends> => {
  const ends = new Map<TopicName, readonly PartitionRange[]>();
  for (const topic of ledgerTopics) {
    const ranges = await log.ranges(topic);
    const logId = log.logId(topic);
    for (const range of ranges) checkPosition(topic, range, logId, { logId, offset: 0 });
    ends.set(topic, ranges);
  }
  return ends;
};

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
  const { pool, log, limit = 10, signal } = options;
  const verifier = new Verifier(options);
  for (const projection of projections) await requireKnownCheckpoints(pool, log, projection);

  return withSessions(pool, async (open) => {
    const readModels: ProjectionFold[] = [];
    for (const projection of projections) {
      readModels.push(await foldProjection(await open(), projection, log));
    }
    const ledger = await foldLedger(await open());
    const folds: readonly Fold[] = [...readModels, ledger];

    // In this order: what the table had logged is below the log's ends, and whatever an event below
    // those refers to stands in the table.
    const logged = await tableEnds(pool);
    const ends = await endsOf(log);
    const soFar = await tableEnds(pool);
    const first = await Promise.all(readModels.map((fold) => fold.liveCheckpoints()));
    /** From where on the ledger needs the table: on Kafka, the log tells not how far it has its rows. */
    const tableFrom = new Map(
      logged.map(({ partitionId, logged: sent }) => [partitionId, sent] as const),
    );
    const soFarIn = new Map(soFar.map(({ partitionId, next }) => [partitionId, next] as const));
    for (const [topic, ranges] of ends) {
      for (const { partition, next } of ranges) {
        const known = first.map((checkpoints) => offsetIn(checkpoints, topic, partition));
        verifier.expect(Math.max(next, ...known));
      }
    }

    /** The ledger's topics one after the other, for they refer to those before them. */
    const feedTables = async (
      all: readonly TableEnd[],
      topic: TopicName,
      from: ReadonlyMap<number, number>,
      step: Step,
    ): Promise<void> => {
      for (const end of all.filter((known) => known.topic === topic)) {
        await verifier.feedTable(ledger, end, from.get(end.partitionId) ?? 0, step);
      }
    };

    for (const topic of ledgerTopics) {
      for (const { partition, next } of ends.get(topic) ?? []) {
        const readers = [
          { fold: ledger, from: 0, to: next },
          ...readModels
            .map((fold, index) => ({
              fold,
              from: 0,
              to: offsetIn(first[index] ?? [], topic, partition),
            }))
            .filter(({ fold }) => fold.topics.includes(topic)),
        ];
        await verifier.feed({ topic, partition }, readers, inItsOwn);
      }
      await feedTables(soFar, topic, tableFrom, inItsOwn);
    }

    /** `null` when live tables were replaced in the middle of it. */
    const compare = async () => {
      await beginTogether(folds.map(({ client }) => client));
      const identities = await Promise.all(folds.map(identityOf));
      const checkpoints = new Map<Model, readonly Checkpoint[]>();
      for (const fold of readModels) {
        const live = await fold.liveCheckpoints();
        const own = await fold.ownCheckpoints();
        checkpoints.set(fold.model, live);
        if (own.some(({ topic, partition, offset }) => offset > offsetIn(live, topic, partition))) {
          return null;
        }
        for (const { topic, partition, offset } of live) {
          const readers = [{ fold, from: offsetIn(own, topic, partition), to: offset }];
          await verifier.feed({ topic, partition }, readers, inTheOpenOne);
        }
      }
      const now = await tableEnds(ledger.client);
      for (const topic of ledgerTopics) await feedTables(now, topic, soFarIn, inTheOpenOne);
      await ledger.addOpenMinutes();
      const tables = await Promise.all(folds.map((fold) => compareTables(fold, limit)));
      const setAside = await Promise.all(readModels.map(setAsideBy));
      const isSame = (await Promise.all(folds.map(identityOf))).every(
        (identity, index) => identity === identities[index],
      );
      return isSame ? { tables: tables.flat(), setAside, checkpoints, now } : null;
    };

    let compared = null;
    for (let attempt = 0; attempt < comparisonsAtMost && compared === null; attempt += 1) {
      compared = await compare();
      signal?.throwIfAborted();
      await Promise.all(folds.map(({ client }) => client.query('ROLLBACK')));
    }
    if (compared === null) {
      throw new Error(
        'Projections were rebuilt again and again meanwhile: verify when that is done',
      );
    }
    const { tables, checkpoints, now } = compared;

    const explanations = tables.flatMap(({ told }) => told.map((each) => new Explanation(each)));
    for (const topic of ledgerTopics) {
      for (const { partition, next } of ends.get(topic) ?? []) {
        const shown = explanations
          .filter((explanation) => explanation.cares(topic, partition))
          .map((explanation) => {
            const known = checkpoints.get(explanation.difference.model);
            return { explanation, to: known ? offsetIn(known, topic, partition) : next };
          });
        const stretch = {
          topic,
          partition,
          from: 0,
          to: Math.max(0, ...shown.map(({ to }) => to)),
        };
        for await (const { records } of readLog(log, stretch, () => undefined)) {
          signal?.throwIfAborted();
          show(shown, { in: 'log', topic, partition }, records);
        }
      }
      for (const end of now.filter((known) => known.topic === topic)) {
        const shown = explanations
          .filter(
            (explanation) =>
              explanation.difference.model === 'ledger' && explanation.cares(topic, end.partition),
          )
          .map((explanation) => ({ explanation, to: end.next }));
        if (shown.length === 0) continue;
        const from = tableFrom.get(end.partitionId) ?? 0;
        const stretch = { ...end, from, to: end.next };
        for await (const { records } of readTable(pool, stretch, () => undefined)) {
          show(shown, { in: end.in, topic, partition: end.partition }, records);
        }
      }
    }

    return {
      events: verifier.done,
      tables: tables.map(({ told: _told, ...table }) => table),
      differences: explanations.map((explanation) => explanation.result()),
      gaps: verifier.gaps,
      setAside: compared.setAside.filter(({ deadLetters, parked }) => deadLetters + parked > 0),
    };
  });
};
