import { setTimeout as sleep } from 'node:timers/promises';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { topicOf } from '../../../../schemas/events/codec.js';
import type { TopicName } from '../../../../schemas/events/topics.js';
import { transaction, type Pool, type Queryable } from '../../../platform/postgres/pool.js';
import { partitionOf } from '../../../event-log/partition.js';
import { toRecords } from '../../support/to-records.js';
import type { EventLog, LogRecord, NewRecord } from '../../../event-log/port.js';
import { partitionCount } from './events.js';
import { recordOf } from '../../../../schemas/testing/events.js';
import type { LogHarness } from './harness.js';

export interface SerialIdLog
  extends Pick<EventLog, 'append' | 'subscribe' | 'logId'>, Pick<LogHarness, 'decide'> {
  /** The number of generated ids, committed or not. */
  idsGiven(): Promise<number>;
}

interface Row extends LogRecord {
  readonly topic: TopicName;
  readonly partition: number;
}

/**
 * A log with a deliberate bug: serial ids, and a reader that queries ids above the last one, so that it skips a
 * transaction that commits after a later one. The checks of the suite must find this gap.
 */
export const createSerialIdLog = async (pool: Pool): Promise<SerialIdLog> => {
  await pool.query(`CREATE TABLE serial_log (
    id bigserial PRIMARY KEY, topic text NOT NULL, partition smallint NOT NULL,
    key text NOT NULL, value text NOT NULL)`);

  const insert = async (
    client: Queryable,
    records: readonly (NewRecord & { readonly topic: TopicName })[],
  ): Promise<void> => {
    await client.query(
      `INSERT INTO serial_log (topic, partition, key, value)
       SELECT * FROM unnest($1::text[], $2::smallint[], $3::text[], $4::text[])`,
      [
        records.map(({ topic }) => topic),
        records.map(({ topic, key }) => partitionOf(key, partitionCount(topic))),
        records.map(({ key }) => key),
        records.map(({ value }) => value),
      ],
    );
  };

  const inTopics = (events: readonly LinklogEvent[]) =>
    events.map((event) => ({ ...recordOf(event), topic: topicOf(event) }));

  return {
    logId: (topic) => `serial:${topic}`,

    append: (topic, records) =>
      insert(
        pool,
        toRecords(records).map((record) => ({ ...record, topic })),
      ),

    async decide(events, { hold, rollBack = false } = {}) {
      const undone = new Error('rolled back');
      await transaction(pool, async (tx) => {
        await insert(tx, inTopics(events));
        await hold;
        if (rollBack) throw undone;
      }).catch((error: unknown) => {
        if (error !== undone) throw error;
      });
    },

    subscribe({ topics, handle }) {
      let last = 0;
      let stopped = false;
      const poll = async (): Promise<void> => {
        const { rows } = await pool.query<Row>(
          `SELECT id AS offset, topic, partition, key, value FROM serial_log
           WHERE id > $1 AND topic = ANY ($2::text[]) ORDER BY id`,
          [last, topics],
        );
        for (const { topic, partition, ...record } of rows) {
          await handle({ topic, partition, records: [record] });
          last = record.offset;
        }
      };
      const run = async (): Promise<void> => {
        while (!stopped) {
          await poll();
          await sleep(1);
        }
      };
      const done = run();
      return {
        done,
        async stop() {
          stopped = true;
          await done;
        },
      };
    },

    async idsGiven() {
      const { rows } = await pool.query<{ count: number }>(
        `SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS count FROM serial_log_id_seq`,
      );
      return rows[0]?.count ?? 0;
    },
  };
};
