/** Shared by the subscriptions of both adapters. */
import type { TopicName } from '../../schemas/events/topics.js';
import { Backoff } from '../platform/concurrency/retry.js';
import { createOutageLog, type Logger, type OutageLog } from '../platform/logging.js';
import {
  checkPosition,
  PositionMoved,
  type Records,
  type PartitionRange,
  type Position,
  type SubscribeOptions,
  type Subscription,
} from './port.js';

/** Pauses after failures of a partition or of the log. */
export const pauses = { firstMs: 50, longestMs: 5_000 };

/** Returns the lines about failures of a reader. Its parts are partitions; a failure without a part concerns all of them. */
export const outageOf = ({ group, outage }: SubscribeOptions, logger: Logger): OutageLog =>
  outage ??
  createOutageLog(
    logger.child({ group }),
    'the log cannot be read; trying again',
    'the log can be read again',
  );

export class PartitionCursor {
  /** The next offset to read; `null` if the reader's checkpoint must be read first. */
  offset: number | null = null;
  readonly backoff = new Backoff(pauses);

  constructor(
    readonly topic: TopicName,
    readonly partition: number,
    private readonly outage: OutageLog,
  ) {}

  /** Moves to the reader's checkpoint or the first record. @throws ForeignPosition */
  moveTo(position: Position | null, ranges: readonly PartitionRange[], logId: string): number {
    const range = ranges.find(({ partition }) => partition === this.partition);
    if (!range) throw new RangeError(`${this.topic} has no partition ${this.partition}`);
    if (position) checkPosition(this.topic, range, logId, position);
    this.offset = position?.offset ?? range.first;
    return this.offset;
  }

  /** Moves past handled records. */
  advance(records: Records): void {
    this.offset = (records.at(-1)?.offset ?? 0) + 1;
    this.recover();
  }

  /** Called when the last records were handled, or none are due. */
  recover(): void {
    this.backoff.reset();
    this.outage.recovered(`${this.topic}/${this.partition}`);
  }

  /** Logs a failure and resets the offset. */
  fail(err: unknown): void {
    const isFailure = !(err instanceof PositionMoved);
    if (isFailure) this.outage.failed(err, `${this.topic}/${this.partition}`);
    this.offset = null;
  }
}

/** Runs `follow` until `stop`. After a permanent failure, `follow` throws it or aborts the controller with it. */
export const startFollowing = (
  group: string,
  logger: Logger,
  follow: (ended: AbortController) => Promise<unknown>,
): Subscription => {
  const ended = new AbortController();
  const stopped = new Error('the subscription was stopped');
  const run = async (): Promise<void> => {
    try {
      await follow(ended);
    } catch (error) {
      ended.abort(error);
    }
    if (ended.signal.reason !== stopped) throw ended.signal.reason;
  };
  const done = run();
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
