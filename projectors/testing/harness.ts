import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topicOf } from '../../schemas/events/codec.js';
import type { TopicName } from '../../schemas/events/topics.js';
import { createLogger } from '../../ops/platform/logging.js';
import type { NewRecord } from '../../ops/event-log/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { createBatchHandler, type BatchOutcome } from '../runtime/batch.js';
import { readCheckpoint } from '../runtime/checkpoints.js';
import { liveSchema, type Projection } from '../runtime/projection.js';
import { recordOf } from '../../schemas/testing/events.js';

export const namedLog = (name = 'log-1', mayRepeatLedger = true) => ({
  mayRepeatLedger,
  logId: (topic: TopicName): string => `${name}:${topic}`,
});

const partition = 0;

/** Feeds batches to a live projection, as a subscription to partition 0 of a topic does. */
export const feed = (pool: Pool, projection: Projection, log = namedLog()) => {
  const handle = createBatchHandler({ pool, projection, log, logger: createLogger('silent') });
  const schema = liveSchema(projection.name);

  const records = async (
    topic: TopicName,
    batch: readonly NewRecord[],
    from?: number,
  ): Promise<BatchOutcome> => {
    const offset = from ?? (await readCheckpoint(pool, schema, topic, partition))?.offset ?? 0;
    return handle({
      topic,
      partition,
      records: batch.map((record, index) => ({ ...record, offset: offset + index })),
    });
  };

  return {
    /** Feeds one batch at the checkpoint or at `from`. */
    records,
    /** Feeds events in order, consecutive ones of a topic in one batch. */
    async events(...events: readonly LinklogEvent[]): Promise<void> {
      let batch: LinklogEvent[] = [];
      for (const [index, event] of events.entries()) {
        batch.push(event);
        const next = events[index + 1];
        if (next && topicOf(next) === topicOf(event)) continue;
        await records(topicOf(event), batch.map(recordOf));
        batch = [];
      }
    },
  };
};
