import { randomUUID } from 'node:crypto';
import { topicNames } from '../../../schemas/events/topics.js';
import type { Pool } from '../../platform/postgres/pool.js';
import { chaosClient, withAdmin } from './kafka-cluster.js';
import type { LogCopy } from './log-copy.js';
import { within } from '../support/waiting.js';

/** Reads the log up to its end into the copy; the pool is for the embedded log. */
export type CatchUp = (copy: LogCopy, pool: Pool) => Promise<void>;

const readWithinMs = 180_000;

/** Reads the log with kafkajs alone: the product's own reader is under test. */
export const catchUpFromKafka =
  (brokers: string) =>
  async (copy: LogCopy): Promise<void> => {
    const kafka = chaosClient(brokers);
    const ends = new Map<string, number>();
    await withAdmin(brokers, async (admin) => {
      for (const topic of topicNames) {
        for (const { partition, high } of await admin.fetchTopicOffsets(topic)) {
          ends.set(`${topic}/${partition}`, Number(high));
        }
      }
    });
    const isRead = (): boolean =>
      [...ends].every(([key, end]) => {
        const [topic = '', partition] = key.split('/');
        return copy.next(topic, Number(partition)) >= end;
      });
    if (isRead()) return;

    const consumer = kafka.consumer({ groupId: `chaos-${randomUUID()}`, maxWaitTimeInMs: 100 });
    await consumer.connect();
    try {
      await consumer.subscribe({ topics: [...topicNames], fromBeginning: true });
      const read = new Promise<void>((resolve, reject) => {
        consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
          // After a retriable error, kafkajs restarts the consumer.
          if (!restart) reject(error);
        });
        consumer
          .run({
            autoCommit: false,
            eachBatch({ batch: { topic, partition, messages } }) {
              for (const { offset, value } of messages) {
                copy.add({
                  topic,
                  partition,
                  offset: Number(offset),
                  value: value?.toString() ?? '',
                });
              }
              if (isRead()) resolve();
              return Promise.resolve();
            },
          })
          .catch(reject);
      });
      for (const key of ends.keys()) {
        const [topic = '', text] = key.split('/');
        const partition = Number(text);
        consumer.seek({ topic, partition, offset: String(copy.next(topic, partition)) });
      }
      await within(readWithinMs, 'the log was not read', read);
    } finally {
      await consumer.disconnect();
    }
  };

/** Reads the embedded log from its table. */
export const catchUpFromTable: CatchUp = async (copy, pool) => {
  const { rows: partitions } = await pool.query<{ id: number; topic: string; partition: number }>(
    'SELECT id, topic, partition FROM log.partitions',
  );
  for (const { id, topic, partition } of partitions) {
    const { rows } = await pool.query<{ offset: number; value: string }>(
      `SELECT record_offset AS "offset", value FROM log.events
       WHERE partition_id = $1 AND record_offset >= $2 ORDER BY record_offset`,
      [id, copy.next(topic, partition)],
    );
    for (const row of rows) copy.add({ topic, partition, ...row });
  }
};
