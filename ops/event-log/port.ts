/**
 * The port of the event log. Terms:
 *
 * - record: an event at an offset of a partition, with its key (the subject).
 * - position: the id of a log and the next offset to read. A reader stores it as its checkpoint.
 * - repeat: the same event at a later offset, after a sender's crash. Readers drop repeats by `sequence`
 *   (projectors/runtime/deduplicator.ts).
 */
import type { TopicName } from '../../schemas/events/topics.js';
import type { OutageLog } from '../platform/logging.js';

export interface NewRecord {
  /** The event's subject, which determines the partition. */
  readonly key: string;
  /** A CloudEvent (`writeEvent`). */
  readonly value: string;
}

/**
 * Records of one partition as lines (lines.ts) within `lineLimits`, which are cheaper than an object for each record. The
 * bytes must not change until the append has ended.
 */
export interface NewLines {
  readonly partition: number;
  readonly records: number;
  readonly lines: Buffer;
}

/** A record that is copied from another log. */
export interface RestoredRecord extends NewRecord {
  /** The sequence of an event of the ledger; `null` for other records. */
  readonly ledgerSequence: number | null;
}

export interface LogRecord extends NewRecord {
  readonly offset: number;
}

export interface TopicPartition {
  readonly topic: TopicName;
  readonly partition: number;
}

/** The offset of a record. */
export interface RecordOffset extends TopicPartition {
  readonly offset: number;
}

/** Consecutive records of one partition, at least one. */
export interface Batch extends TopicPartition {
  readonly records: readonly LogRecord[];
}

/** The part of an array that readers of a batch use, so that a log may unpack records lazily. */
export type Records = Pick<Batch['records'], 'length' | 'at' | 'slice'>;

/** A batch of a subscription. */
export interface Delivery extends Omit<Batch, 'records'> {
  readonly records: Records;
}

export interface Position {
  /** The id of the topic (`EventLog.logId`). */
  readonly logId: string;
  /** The next offset to read. */
  readonly offset: number;
}

/** The offsets of a partition from `first` to `next` (exclusive). */
export interface PartitionRange {
  readonly partition: number;
  readonly first: number;
  readonly next: number;
}

/** An end of a partition that a reader or the relay has observed. */
export interface KnownEnd extends TopicPartition {
  readonly next: number;
}

export interface SubscribeOptions {
  /** Readers of a group share the partitions; each group gets every record. */
  readonly group: string;
  readonly topics: readonly TopicName[];
  /** Returns the reader's checkpoint; `null` for the start of the partition. */
  readonly position: (topic: TopicName, partition: number) => Promise<Position | null>;
  /**
   * Handles a batch, before the next one of its partition. After a failure, which is logged, the partition resumes from
   * `position` after a pause of up to 5 s.
   */
  readonly handle: (batch: Delivery) => Promise<void>;
  /** Records of a batch, by default 1,000. Only a backlog has more. */
  readonly maxBatch?: number;
  /** How long records may wait for a larger batch (ms, by default 300). */
  readonly mayWaitMs?: number;
  /** Whether to read the log itself, and not rows that other readers of the process have read. */
  readonly isUnshared?: boolean;
  /** Receives the failures; by default, their lines name the group. */
  readonly outage?: OutageLog;
}

export interface Subscription {
  /** Resolves after `stop`. Rejects with a permanent failure (`ForeignPosition`). */
  readonly done: Promise<void>;
  /** Waits for running handlers. */
  stop(): Promise<void>;
}

/** The batch does not begin at the checkpoint, which another reader has moved. The subscription resumes from `position`. */
export class PositionMoved extends Error {
  readonly code: string = 'POSITION_MOVED';
}

/** A checkpoint is of another log, or out of the range of this one. */
export class ForeignPosition extends Error {
  readonly code = 'FOREIGN_POSITION';
}

/** The log lacks records, and the caller needs all of them. */
export class LogIncomplete extends Error {
  readonly code = 'LOG_INCOMPLETE';

  constructor(fault: string) {
    super(`${fault}; this needs the whole log`);
  }
}

/** The table of the log was altered, so the offsets of these records are unknown. */
export class DamagedRecords extends Error {
  readonly code = 'DAMAGED_RECORDS';

  constructor(
    offset: number,
    readonly records: readonly LogRecord[],
  ) {
    super(
      `the row of the log at offset ${offset} was altered: its number of records does not match`,
    );
  }
}

/**
 * Checks that a checkpoint is of this log and within the range, which must be read after the checkpoint, because another
 * reader may move it.
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
  /** Returns the id of a topic. */
  logId(topic: TopicName): string;
  /** Whether the log may repeat events of the ledger. Any log may repeat events of spools. */
  readonly mayRepeatLedger: boolean;
  /**
   * Resolves when the records are durable. The order of a key is preserved. A log that does not repeat events of the ledger
   * skips records with a known `ledgerSequence`.
   */
  append(
    topic: TopicName,
    records: readonly (NewRecord | RestoredRecord | NewLines)[],
  ): Promise<void>;
  subscribe(options: SubscribeOptions): Subscription;
  /**
   * Reads the records from offset `from` to `to` (exclusive) in batches of bounded size. Batches without the text
   * `containing` may be omitted.
   *
   * @throws DamagedRecords
   */
  read(
    topic: TopicName,
    partition: number,
    from: number,
    to: number,
    containing?: string,
  ): AsyncIterable<Batch>;
  ranges(topic: TopicName): Promise<readonly PartitionRange[]>;
  close(): Promise<void>;
}

/** Checks that the first records were not deleted. @throws LogIncomplete */
export const requireFromStart = (topic: TopicName, { partition, first }: PartitionRange): void => {
  if (first === 0) return;
  throw new LogIncomplete(
    `${topic}/${partition} begins at offset ${first}: the records before it were deleted`,
  );
};

/** Returns the ranges of a topic. @throws LogIncomplete if its first records were deleted */
export const wholeRanges = async (
  log: Pick<EventLog, 'ranges'>,
  topic: TopicName,
): Promise<readonly PartitionRange[]> => {
  const ranges = await log.ranges(topic);
  for (const range of ranges) requireFromStart(topic, range);
  return ranges;
};
