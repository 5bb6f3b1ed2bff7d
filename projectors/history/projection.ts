import { unnest, valuesByField } from '../../ops/platform/postgres/pool.js';
import { topics } from '../../schemas/events/topics.js';
import { rowOfEvent, type HistoryRow } from '../../schemas/read-models/history.js';
import type { Projection } from '../runtime/projection.js';

/** The columns, with their SQL types. */
const types = {
  code: 'text',
  sequence: 'bigint',
  time: 'timestamptz',
  id: 'uuid',
  type: 'text',
  account: 'text',
  actor: 'text',
  correlationid: 'text',
  causationid: 'text',
  data: 'text',
} as const satisfies Record<keyof HistoryRow, string>;

const columns = Object.keys(types) as (keyof HistoryRow)[];

/** What was done to each link, oldest first, for operators. Visits are no part of it. */
export const history: Projection = {
  name: 'history',
  topics: [topics.links.name],
  async apply(tx, schema, events) {
    await tx.query(
      `INSERT INTO ${schema}.events (${columns.join()})
       SELECT * FROM ${unnest(Object.values(types))}`,
      valuesByField(events.map(rowOfEvent), ...columns),
    );
  },
  sequences: {
    async [topics.links.name](tx, schema, codes) {
      const { rows } = await tx.query<{ code: string; sequence: number }>(
        `SELECT code, max(sequence) AS sequence FROM ${schema}.events
         WHERE code = ANY ($1::text[]) GROUP BY code`,
        [codes],
      );
      return new Map(rows.map(({ code, sequence }) => [code, sequence]));
    },
  },
};
