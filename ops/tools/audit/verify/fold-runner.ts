import type { EventLog } from '../../../platform/event-log/port.js';
import { transactionOn } from '../../../../projectors/runtime/schema-swap.js';
import type { TopicName } from '../../../../schemas/events/topics.js';
import type { Fold } from './folds.js';
import { readLog, readTable, type TableEnd } from './records.js';
import type { Gap } from './report.js';

/** A fold, and which part of a partition is news to it. */
export interface Reader {
  readonly fold: Fold;
  readonly from: number;
  readonly to: number;
}

/** In which transaction a fold takes a batch. */
export type Step = (fold: Fold, work: () => Promise<void>) => Promise<void>;

export const inItsOwn: Step = ({ client }, work) => transactionOn(client, work);
export const inTheOpenOne: Step = (_fold, work) => work();

/** Partitions that are read at once: while PostgreSQL works on a batch of one, another's is parsed. */
const concurrency = 3;
export interface FoldRunnerOptions {
  readonly log: EventLog;
  readonly progress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal;
}

/** Feeds folds, and knows how far that is and which places of the log were empty. */
export class FoldRunner {
  readonly #options: FoldRunnerOptions;
  readonly #gaps = new Map<string, Gap>();
  readonly #turns = new Map<Fold, Promise<unknown>>();
  #failure: { readonly error: unknown } | undefined;
  #done = 0;
  #total = 0;

  constructor(options: FoldRunnerOptions) {
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

  /** Does something for each of the items, some at once; a failure ends them all. */
  async each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
    const waiting = [...items];
    const goOn = async (): Promise<void> => {
      for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
        try {
          await work(item);
        } catch (error) {
          this.#failure ??= { error };
          return;
        }
      }
    };
    await Promise.all(Array.from({ length: concurrency }, goOn));
    this.#options.signal?.throwIfAborted();
    if (this.#failure) throw this.#failure.error;
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
        await this.#exclusively(fold, step, () => fold.skipTo(topic, partition, offset));
      }
    });
    for await (const { records } of batches) {
      await Promise.all(
        readers.map(async ({ fold, ...news }) => {
          const due = records.filter(({ offset }) => offset >= news.from && offset < news.to);
          if (due.length === 0) return;
          const batch = { topic, partition, records: due };
          await this.#exclusively(fold, step, () => fold.apply(batch));
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
      await this.#exclusively(fold, step, () => fold.apply(batch));
      this.#advance(batch.records.length);
    }
  }

  /** A fold has one connection, and a transaction on it is of one batch at a time. */
  #exclusively(fold: Fold, step: Step, work: () => Promise<void>): Promise<void> {
    const turn = (this.#turns.get(fold) ?? Promise.resolve()).then(() => step(fold, work));
    // Its failure is told to who waits for this turn; the next one fails by itself, or need not.
    this.#turns.set(
      fold,
      turn.catch(() => undefined),
    );
    return turn;
  }

  #note(gap: Gap): void {
    this.#gaps.set(`${gap.in} ${gap.topic}/${gap.partition} ${gap.from}`, gap);
  }

  #advance(records: number): void {
    this.#options.signal?.throwIfAborted();
    if (this.#failure) throw this.#failure.error;
    this.#done += records;
    this.#tell();
  }

  #tell(): void {
    this.#options.progress?.(this.#done, Math.max(this.#done, this.#total));
  }
}
