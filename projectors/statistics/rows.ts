/** The tables of statistics by their owners, and statements that write rows from items. */
import { binaryArray } from '../../ops/platform/postgres/binary-array.js';
import { unnest, type Client } from '../../ops/platform/postgres/pool.js';
import { textArray } from '../../ops/platform/postgres/text-array.js';
import type { ProjectionSchema } from '../runtime/projection.js';

const types = {
  ctid: 'tid',
  subject: 'text',
  account: 'text',
  partition: 'smallint',
  day: 'integer',
  quarter: 'smallint',
  month: 'integer',
  clicks: 'bigint',
  bots: 'bigint',
  uniques: 'bigint',
  last_accessed: 'timestamptz',
  series: 'text',
  document: 'text',
  visitors: 'text',
  visitors_before: 'text',
} as const;

export type Column = keyof typeof types;

/** The tables of links, or of accounts and their domains (`summedUnder`) in one partition. */
export interface Owners {
  readonly newest: string;
  readonly days: string;
  readonly quarters: string;
  readonly months: string;
  readonly name: 'subject' | 'account';
  readonly partition: number | null;
}

export const links: Owners = {
  newest: 'links',
  days: 'days',
  quarters: 'quarters',
  months: 'months',
  name: 'subject',
  partition: null,
};

export const accountsIn = (partition: number): Owners => ({
  newest: 'accounts',
  days: 'account_days',
  quarters: 'account_quarters',
  months: 'account_months',
  name: 'account',
  partition,
});

export const inPartition = ({ partition }: Owners, table: string): string =>
  partition === null ? '' : `AND ${table}.partition = ${partition}`;

/** Getters of the column values of an item's row. */
export type Cells<Item> = Readonly<Partial<Record<Column, (item: Item) => unknown>>>;

/** The key columns; rows of links have no partition. */
export const keyCells = <Item>(
  { name, partition }: Owners,
  ownerOf: (item: Item) => string,
): Cells<Item> => ({
  [name]: ownerOf,
  ...(partition !== null && { partition: () => partition }),
});

const columnsOf = (cells: object): readonly Column[] => Object.keys(cells) as Column[];

const unnestOf = (columns: readonly Column[]): string =>
  unnest(columns.map((column) => types[column]));

const parametersOf = <Item>(cells: Cells<Item>, items: readonly Item[]): Buffer[] =>
  Object.entries(cells).map(([column, valueOf]) => {
    const type = types[column as Column];
    const values = items.map(valueOf) as never[];
    return type === 'text' ? textArray(values) : binaryArray(type, values);
  });

/** Visits are not ordered by time, so the latest click must be kept. */
const newValue = (column: Column): string =>
  column === 'last_accessed'
    ? `${column} = greatest(t.${column}, excluded.${column})`
    : `${column} = excluded.${column}`;

export const upsert = async <Item>(
  tx: Client,
  schema: ProjectionSchema,
  table: string,
  key: Cells<Item>,
  others: Cells<Item>,
  items: readonly Item[],
): Promise<void> => {
  if (items.length === 0) return;
  const columns = columnsOf({ ...key, ...others });
  await tx.query({
    name: `stats-${table}-${schema}`,
    text: `INSERT INTO ${schema}.${table} AS t (${columns.join()}) SELECT * FROM ${unnestOf(columns)}
           ON CONFLICT (${columnsOf(key).join()})
           DO UPDATE SET ${columnsOf(others).map(newValue).join()}`,
    values: parametersOf({ ...key, ...others }, items),
  });
};

/** Another transaction has changed rows since they were read: the batch is retried as after a serialization failure. */
class RowsChanged extends Error {
  readonly code = 'ROWS_CHANGED';
}

/**
 * Inserts rows of owners that had none. Another topic may have inserted one meanwhile (an opening balance), which must
 * not be replaced: the batch fails, and reads it in its next attempt.
 */
export const insert = async <Item>(
  tx: Client,
  schema: ProjectionSchema,
  table: string,
  cells: Cells<Item>,
  items: readonly Item[],
): Promise<void> => {
  if (items.length === 0) return;
  const columns = columnsOf(cells);
  const { rowCount } = await tx.query({
    name: `stats-${table}-insert-${schema}`,
    text: `INSERT INTO ${schema}.${table} (${columns.join()}) SELECT * FROM ${unnestOf(columns)}
           ON CONFLICT DO NOTHING`,
    values: parametersOf(cells, items),
  });
  if (rowCount !== items.length) {
    throw new RowsChanged(`INSERT into ${table} added ${rowCount ?? 0} of ${items.length} rows`);
  }
};

/** Updates rows that this transaction has read by their ctid, which saves the index scan and the row lock of an upsert. */
export const update = async <Item>(
  tx: Client,
  schema: ProjectionSchema,
  table: string,
  key: { readonly ctid: (item: Item) => unknown },
  others: Cells<Item>,
  items: readonly Item[],
): Promise<void> => {
  if (items.length === 0) return;
  const columns = columnsOf({ ...key, ...others });
  const { rowCount } = await tx.query({
    name: `stats-${table}-update-${schema}`,
    text: `UPDATE ${schema}.${table} AS t SET ${columnsOf(others).map(newValue).join()}
           FROM ${unnestOf(columns)} AS excluded (${columns.join()}) WHERE t.ctid = excluded.ctid`,
    values: parametersOf({ ...key, ...others }, items),
  });
  if (rowCount !== items.length) {
    throw new RowsChanged(
      `UPDATE of ${table} by ctid changed ${rowCount ?? 0} of ${items.length} rows`,
    );
  }
};
