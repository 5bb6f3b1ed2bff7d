/** What the subscriptions of both adapters have in common. */
import type { TopicName } from '../../schemas/events/topics.js';
import { Backoff } from '../platform/concurrency/retry.js';
import type { Logger } from '../platform/logging.js';
import {
  checkPosition,
  PositionMoved,
  type Records,
  type PartitionRange,
  type Position,
  type Subscription,
} from './port.js';

/** Pauses after failures, of a partition and of the whole log. */
export const pauses = { firstMs: 50, longestMs: 5_000 };

/** Where a subscription is in a partition. */
export class PartitionCursor {
  /** The next offset to read; `null`: the reader's checkpoint is to be read first. */
  offset: number | null = null;
  readonly backoff = new Backoff(pauses);

  constructor(
    readonly topic: TopicName,
    readonly partition: number,
  ) {}

  /** Goes to the reader's checkpoint, or to the log's first record. @throws ForeignPosition */
  moveTo(position: Position | null, ranges: readonly PartitionRange[], logId: string): number {
    const range = ranges.find(({ partition }) => partition === this.partition);
    if (!range) throw new RangeError(`${this.topic} has no partition ${this.partition}`);
    if (position) checkPosition(this.topic, range, logId, position);
    this.offset = position?.offset ?? range.first;
    return this.offset;
  }

  /** Goes past records that were handled. */
  advance(records: Records): void {
    this.offset = (records.at(-1)?.offset ?? 0) + 1;
    this.backoff.reset();
  }

  /** Forgets the offset after a failure, and logs that. */
  fail(err: unknown, group: string, logger: Logger): void {
    const { topic, partition } = this;
    const details = { err, group, topic, partition };
    if (err instanceof PositionMoved) logger.debug(details, 'the checkpoint was moved');
    else logger.warn(details, 'a batch failed; trying again');
    this.offset = null;
  }
}

/**
 * Runs `follow` until `stop`. `follow` ends soon after the signal, and aborts the controller itself
 * with a failure that no retry can mend, or throws that failure.
 */
export const startFollowing = (
  group: string,
  logger: Logger,
  follow: (ended: AbortController) => Promise<unknown>,
): Subscription => {
  const ended = new AbortController();
  const stopped = new Error('The subscription was stopped');
  const run = async (): Promise<void> => {
    try {
      await follow(ended);
    } catch (error) {
      // Without effect after an earlier end.
      ended.abort(error);
    }
    if (ended.signal.reason !== stopped) throw ended.signal.reason;
  };
  const done = run();
  // Callers may await `done`, and need not.
  done.catch((err: unknown) => {
    logger.error({ err, group }, 'the subscription ended');
  });
  return {
    done,
    async stop() {
      ended.abort(stopped);
      await done.catch(() => undefined); // It is logged above.
    },
  };
};
