import { arrayLiteral } from '../../ops/platform/postgres/array-literal.js';
import { unnest, valuesByField } from '../../ops/platform/postgres/pool.js';
import { textArray } from '../../ops/platform/postgres/text-array.js';
import { isLinkEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import { rowOfEvent, type HistoryRow } from '../../schemas/read-models/history.js';
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
  data: 'text',
} as const satisfies Record<keyof HistoryRow, string>;

const columns = Object.keys(types) as (keyof HistoryRow)[];
const columnsButData = columns.filter((column) => column !== 'data');

export const history: Projection<HistoryRow> = {
  name: 'history',
  // Accounts and switches are read only to check their sequences: no other projection reads these topics.
  topics: [topics.links.name, topics.accounts.name, topics.platform.name],
  checksSequencesOf: [topics.links.name, topics.accounts.name, topics.platform.name],
  mayWaitMs: 900,
  toChange: (event) => (isLinkEvent(event) ? rowOfEvent(event) : null),
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
                 (SELECT max(sequence) AS sequence FROM ${schema}.events e WHERE e.subject = c.subject) newest
               WHERE sequence IS NOT NULL`,
        values: [arrayLiteral(subjects)],
      });
      return new Map(rows.map(({ subject, sequence }) => [subject, sequence]));
    },
  },
};
