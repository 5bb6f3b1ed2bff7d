/**
 * The event log as the rest of Linklog sees it. Terms:
 *
 * - record: one event's bytes at an offset of a partition of a topic, with its key (the subject).
 * - position: which log, and the next offset to read there; a reader keeps it as its checkpoint.
 * - repeat: the same event once more at a later offset, after a sender's crash. Readers drop
 *   repeats by `sequence` (see projectors/runtime/deduplicator.ts).
 */
import type { TopicName } from '../../schemas/events/topics.js';

export interface NewRecord {
  /** The event's subject; it decides the partition. */
  readonly key: string;
  /** One CloudEvent, see `writeEvent`. */
  readonly value: string;
}

/**
 * Records of one partition as bytes, which cost less than an object and two texts for each: one a line, as
 * `isLine` wants them, within `lineLimits`, with a line feed between two (see lines.ts). Nobody changes the
 * bytes until the append has settled.
 */
export interface NewLines {
  readonly partition: number;
  readonly records: number;
  readonly lines: Buffer;
}

/** A record of a log that was filled before, on its way into another one. */
export interface RestoredRecord extends NewRecord {
  /** The sequence of an event that the ledger decided; `null` for any other record. */
  readonly ledgerSequence: number | null;
}

export interface LogRecord extends NewRecord {
  readonly offset: number;
}

export interface TopicPartition {
  readonly topic: TopicName;
  readonly partition: number;
}

/** Consecutive records of one partition, at least one. */
export interface Batch extends TopicPartition {
  readonly records: readonly LogRecord[];
}

/** What readers of a batch use of an array, so that a log may unpack records when they are asked for. */
export type Records = Pick<Batch['records'], 'length' | 'at' | 'slice'>;

/** A batch that a subscription hands over. */
export interface Delivery extends Omit<Batch, 'records'> {
  readonly records: Records;
}

export interface Position {
  /** The identity of the topic that the offset belongs to. */
  readonly logId: string;
  /** The next offset to read. */
  readonly offset: number;
}

/** The offsets of a partition: from `first` up to, not including, `next`. */
export interface PartitionRange {
  readonly partition: number;
  readonly first: number;
  readonly next: number;
}

/** An offset that the log is known to have reached: a reader or the relay has seen the records before it. */
export interface KnownEnd extends TopicPartition {
  readonly next: number;
}

export interface SubscribeOptions {
  /** Readers of one group share the partitions; each group sees every record. */
  readonly group: string;
  readonly topics: readonly TopicName[];
  /** The reader's checkpoint; `null` begins at the start of the partition. */
  readonly position: (topic: TopicName, partition: number) => Promise<Position | null>;
  /**
   * Takes a batch; the next one of its partition comes when it has resolved. Its failure is logged,
   * and the partition goes on from `position`, after a pause that grows to 5 s.
   */
  readonly handle: (batch: Delivery) => Promise<void>;
  /**
   * Takes batches of several partitions, all of them or none: less work than each alone. A log that has several at hand
   * tries this first; where it fails, each comes to `handle`.
   */
  readonly handleTogether?: (batches: readonly Batch[]) => Promise<void>;
  /** Records in a batch at most; 1,000 unless told. More come only where the partition has a backlog. */
  readonly maxBatch?: number;
  /**
   * For how long records may wait to be handled together with later ones, in milliseconds; 300 unless
   * told. A log that hands them over in larger pieces of its own accord need not wait.
   */
  readonly mayWaitMs?: number;
}

export interface Subscription {
  /** Rejects with a failure that no retry can mend (`ForeignPosition`); resolves after `stop`. */
  readonly done: Promise<void>;
  /** Resolves when no `handle` is running and none will. */
  stop(): Promise<void>;
}

/**
 * Thrown by a reader's `handle` when its checkpoint is not where the batch begins: another reader moved
 * it. No failure: the subscription goes on from `position`.
 */
export class PositionMoved extends Error {
  readonly code: string = 'POSITION_MOVED';
}

/** A checkpoint that names another log, or an offset that this log does not have. */
export class ForeignPosition extends Error {
  readonly code = 'FOREIGN_POSITION';
}

/** The log does not hold all records that were appended to it, and the caller needs all of them. */
export class LogIncomplete extends Error {
  readonly code = 'LOG_INCOMPLETE';

  constructor(fault: string) {
    super(`${fault}; this needs the whole log`);
  }
}

/** Records whose offsets cannot be told: somebody has altered the log's table. */
export class DamagedRecords extends Error {
  readonly code = 'DAMAGED_RECORDS';

  constructor(
    offset: number,
    /** As they stand there, for those who look for what was altered. */
    readonly records: readonly LogRecord[],
  ) {
    super(
      `The log does not hold as many records from offset ${offset} on as it says: it was altered`,
    );
  }
}

/**
 * Refuses a checkpoint of another log, or outside the partition's range. Read the checkpoint before the
 * range: another reader of the group may move it past an end that was read earlier.
 *
 * @throws ForeignPosition
 */
export const checkPosition = (
  topic: TopicName,
  range: PartitionRange,
  logId: string,
  position: Position,
): void => {
  const { partition, first, next } = range;
  const checkpoint = `The checkpoint of ${topic}/${partition}`;
  if (position.logId !== logId) {
    throw new ForeignPosition(
      `${checkpoint} belongs to log ${position.logId}, this is log ${logId}: was the database moved ` +
        'without its log?',
    );
  }
  if (position.offset < first || position.offset > next) {
    throw new ForeignPosition(
      `${checkpoint} is at offset ${position.offset}, but the log holds ${first} to ${next}: was the ` +
        'log cut or restored from an older copy?',
    );
  }
};

export interface EventLog {
  /** The identity of a topic, for checkpoints. */
  logId(topic: TopicName): string;
  /**
   * Whether it may have an event of the ledger twice: who sends it may be ended before that is noted. What spools
   * send may be twice in any log.
   */
  readonly mayRepeatLedger: boolean;
  /**
   * Resolves when the log has the records for good; those of one key keep their order. A log that may not repeat events
   * of the ledger leaves out those that it has, where their sequences are told.
   */
  append(
    topic: TopicName,
    records: readonly (NewRecord | RestoredRecord | NewLines)[],
  ): Promise<void>;
  subscribe(options: SubscribeOptions): Subscription;
  /**
   * The records from offset `from` up to, not including, `to`, in pieces of bounded size.
   *
   * @throws DamagedRecords
   */
  read(topic: TopicName, partition: number, from: number, to: number): AsyncIterable<Batch>;
  ranges(topic: TopicName): Promise<readonly PartitionRange[]>;
  close(): Promise<void>;
}

/** Refuses a partition whose first records were deleted. @throws LogIncomplete */
export const requireFromStart = (topic: TopicName, { partition, first }: PartitionRange): void => {
  if (first === 0) return;
  throw new LogIncomplete(
    `${topic}/${partition} begins at offset ${first}: the records before it were deleted`,
  );
};

/** The ranges of a topic of which nothing was deleted. @throws LogIncomplete */
export const wholeRanges = async (
  log: Pick<EventLog, 'ranges'>,
  topic: TopicName,
): Promise<readonly PartitionRange[]> => {
  const ranges = await log.ranges(topic);
  for (const range of ranges) requireFromStart(topic, range);
  return ranges;
};
