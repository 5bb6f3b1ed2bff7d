import { unnest, valuesByField } from '../../ops/platform/postgres/pool.js';
import { textArray } from '../../ops/platform/postgres/statement.js';
import { topics, type TopicName } from '../../schemas/events/topics.js';
import {
  accountsPartition,
  platformPartition,
  rowOfEvent,
  type PositionedHistoryRow,
} from '../../schemas/read-models/history.js';
import type { Projection } from '../runtime/projection.js';

/** SQL types by column. */
const types = {
  subject: 'text',
  sequence: 'bigint',
  time: 'timestamptz',
  id: 'uuid',
  type: 'text',
  account: 'text',
  actor: 'text',
  correlationid: 'text',
  causationid: 'text',
  traceparent: 'text',
  client: 'text',
  partition: 'smallint',
  record_offset: 'bigint',
  data: 'text',
} as const satisfies Record<keyof PositionedHistoryRow, string>;

/** Topics with a single partition, which has another number in the history. */
const ownPartitions: ReadonlyMap<TopicName, number> = new Map([
  [topics.accounts.name, accountsPartition],
  [topics.platform.name, platformPartition],
]);

const columns = Object.keys(types) as (keyof PositionedHistoryRow)[];
const columnsButData = columns.filter((column) => column !== 'data');

/** The events of links, accounts and the platform. */
export const history: Projection<PositionedHistoryRow> = {
  name: 'history',
  topics: [topics.links.name, topics.accounts.name, topics.platform.name],
  checksSequencesOf: [topics.links.name, topics.accounts.name, topics.platform.name],
  mayWaitMs: 900,
  toChange: (event, { topic, partition, offset }) => ({
    ...rowOfEvent(event),
    partition: ownPartitions.get(topic) ?? partition,
    record_offset: offset,
  }),
  async apply(tx, schema, rows) {
    await tx.query({
      name: `history-insert-${schema}`,
      text: `INSERT INTO ${schema}.events (${columns.join()})
             SELECT * FROM ${unnest(Object.values(types))}`,
      values: [...valuesByField(rows, ...columnsButData), textArray(rows.map(({ data }) => data))],
    });
  },
  sequences: {
    async [topics.links.name](tx, schema, subjects) {
      // The LATERAL join is one index scan for each subject.
      const { rows } = await tx.query<{ subject: string; sequence: number }>({
        name: `history-sequences-${schema}`,
        text: `SELECT subject, sequence FROM unnest($1::text[]) AS c (subject) CROSS JOIN LATERAL
                 (SELECT max(sequence) AS sequence FROM ${schema}.events e
                  WHERE e.subject = c.subject AND e.partition < ${accountsPartition}) newest
               WHERE sequence IS NOT NULL`,
        values: [subjects],
      });
      return new Map(rows.map(({ subject, sequence }) => [subject, sequence]));
    },
  },
};
