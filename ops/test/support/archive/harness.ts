import type { LogRecord, NewRecord } from '../../../event-log/port.js';
import { createLogger } from '../../../platform/logging.js';
import type { Pool } from '../../../platform/postgres/pool.js';
import type { Streams } from '../eventstore/streams.js';
import type { TopicName } from '../../../../schemas/events/topics.js';
import { namedLog } from '../../../../projectors/testing/harness.js';
import { createArchiver } from '../../../../projectors/log/archive/archiver.js';
import type { StreamStore } from '../../../../projectors/log/archive/stream.js';

/**
 * A function that passes batches of partition 0 of a topic to an archiver, like a subscription. `end` is the end of the
 * partition when the archiver starts.
 */
export const archiver = (pool: Pool, store: StreamStore, end = 0) => {
  const logger = createLogger('silent');
  const ranges = () => Promise.resolve([{ partition: 0, first: 0, next: end }]);
  const stopped = new AbortController().signal;
  const handle = createArchiver({ pool, log: { ...namedLog(), ranges }, store, logger, stopped });
  return (topic: TopicName, from: number, records: readonly NewRecord[]): Promise<void> =>
    handle({
      topic,
      partition: 0,
      records: records.map((record, index): LogRecord => ({ ...record, offset: from + index })),
    });
};

/** The ids of the events of a stream, in order. */
export const idsIn = (streams: Streams, stream: string): readonly string[] =>
  (streams.events(stream) ?? []).map(({ id }) => id);
