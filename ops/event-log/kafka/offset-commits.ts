import type { Consumer, TopicPartitionOffset } from 'kafkajs';
import { endsWithin } from '../../platform/concurrency/deadline.js';
import { periodically } from '../../platform/concurrency/periodic.js';
import type { Logger } from '../../platform/logging.js';

const everyMs = 5_000;
/** Time for the commit of a member that leaves its group (ms). */
const lastCommitMs = 1_000;

/**
 * Commits the offsets of a member to Kafka, for tools that show the lag of consumer groups. Linklog never reads them: the
 * checkpoints are in PostgreSQL. A failed commit is logged and has no other effect.
 */
export const commitPeriodically = (options: {
  readonly consumer: Pick<Consumer, 'commitOffsets'>;
  /** Returns the next offset of each assigned partition. */
  readonly offsets: () => readonly TopicPartitionOffset[];
  readonly group: string;
  readonly logger: Logger;
}) => {
  const { consumer, offsets, group, logger } = options;
  let committed = '';

  const commit = async (): Promise<number> => {
    const current = offsets();
    const text = JSON.stringify(current);
    // All partitions, because a member that had one before may have committed a lower offset of it in a rebalance.
    if (current.length > 0 && text !== committed) await consumer.commitOffsets([...current]);
    committed = text;
    return 0;
  };

  const commits = periodically({
    name: `commit the offsets of ${group} to kafka`,
    everyMs,
    task: commit,
    logger,
  });
  return {
    /** Commits once more, but does not wait for an unresponsive cluster. */
    async stop(): Promise<void> {
      const last = async (): Promise<void> => {
        await commits.stop();
        await commit();
      };
      const ended = last().catch((err: unknown) => {
        logger.debug({ err, group }, 'the last offsets could not be committed to kafka');
      });
      await endsWithin(ended, lastCommitMs);
    },
  };
};
