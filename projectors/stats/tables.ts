import { groupBy } from '../../ops/platform/group-by.js';
import { arrayLiteral } from '../../ops/platform/postgres/array-literal.js';
import { unnest, valuesByField, type Client } from '../../ops/platform/postgres/pool.js';
import { textArray } from '../../ops/platform/postgres/text-array.js';
import { firstDayOf, monthOf, type Quarter } from '../../schemas/statistics/calendar.js';
import {
  emptyDocument,
  mergeDocument,
  readDocument,
  writeDocument,
} from '../../schemas/statistics/document.js';
import { readSeries, sumOfSeries, writeSeries } from '../../schemas/statistics/series.js';
import type { ProjectionSchema } from '../runtime/projection.js';
import { StoredDocument, type Portion, type Statistics, type Totals } from './statistics.js';

const types = {
  code: 'text',
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

type Column = keyof typeof types;

/** The tables of links, or those of accounts in one partition. */
export interface Owners {
  readonly newest: string;
  readonly days: string;
  readonly quarters: string;
  readonly months: string;
  readonly name: 'code' | 'account';
  readonly partition: number | null;
}

export const links: Owners = {
  newest: 'codes',
  days: 'days',
  quarters: 'quarters',
  months: 'months',
  name: 'code',
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

const keyColumns = ({ name, partition }: Owners): readonly Column[] =>
  partition === null ? [name] : [name, 'partition'];

const keyOf = ({ partition }: Owners, owner: string): Row =>
  partition === null ? [owner] : [owner, partition];

/** The condition that a table's rows are of these owners' partition. */
const inPartition = ({ partition }: Owners, table: string): string =>
  partition === null ? '' : `AND ${table}.partition = ${partition}`;

interface PortionRow {
  readonly day: number;
  readonly uniques: number;
  readonly series: string;
  readonly document: string;
}

const portionOf = ({ uniques, series, document }: Omit<PortionRow, 'day'>): Portion => ({
  uniques,
  series: readSeries(series),
  document: new StoredDocument(document),
});

const portionColumns = ['uniques', 'series', 'document'] as const;

const valuesOf = ({ uniques, series, document }: Portion): readonly unknown[] => [
  uniques,
  writeSeries(series),
  document.text,
];

/** What the tables have of an owner, with the day of its newest quarter. */
export interface OwnerRow extends PortionRow {
  readonly owner: string;
  readonly clicks: number;
  readonly bots: number;
  /** `null` where the newest quarter is the first one of its day. */
  readonly day_series: string | null;
  readonly day_uniques: number;
  readonly day_document: string;
  /** Of links. */
  readonly visitors?: string | null;
  readonly visitors_before?: string | null;
}

const totalsOf = ({ clicks, bots, day, ...row }: OwnerRow): Totals => {
  const portion = portionOf(row);
  // A row of before there were documents has none.
  return { clicks, bots, newest: portion.series.length === 0 ? null : { day, ...portion } };
};

/**
 * Reads the statistics of owners as far as visits of these quarters change them. `make` gives them of what
 * their row has; `extra` are further columns of it.
 */
export const readStatistics = async <Owner extends Statistics>(
  tx: Client,
  schema: ProjectionSchema,
  owners: Owners,
  visits: ReadonlyMap<string, readonly Quarter[]>,
  make: (totals?: Totals, row?: Partial<OwnerRow>) => Owner,
  extra: readonly Column[] = [],
): Promise<ReadonlyMap<string, Owner>> => {
  const { name } = owners;
  const columns = ['clicks', 'bots', 'day', 'uniques', 'series', 'document', ...extra];
  // Planned anew each time, like all reads here: a plan from when the tables were small would read all of them.
  const { rows } = await tx.query<OwnerRow>(
    `SELECT t.${name} AS owner, ${columns.map((column) => `t.${column}`).join()},
       d.uniques AS day_uniques, d.series AS day_series, d.document AS day_document
     FROM ${schema}.${owners.newest} t
     LEFT JOIN ${schema}.${owners.days} d
       ON d.${name} = t.${name} AND d.day = t.day ${inPartition(owners, 'd')}
     WHERE t.${name} = ANY ($1::text[]) ${inPartition(owners, 't')}`,
    [arrayLiteral([...visits.keys()])],
  );
  const known = new Map(rows.map((row) => [row.owner, row]));
  const all = new Map<string, Owner>();
  for (const owner of visits.keys()) {
    const row = known.get(owner);
    const statistics = make(row && totalsOf(row), row);
    if (row && row.day_series !== null) {
      const { day_series: series, day_uniques: uniques, day_document: document } = row;
      statistics.knowDay(row.day, portionOf({ uniques, series, document }));
    }
    all.set(owner, statistics);
  }
  await readLate(tx, schema, owners, all, visits);
  return all;
};

/** Reads the days and quarters that late visits change. */
const readLate = async (
  tx: Client,
  schema: ProjectionSchema,
  owners: Owners,
  all: ReadonlyMap<string, Statistics>,
  visits: ReadonlyMap<string, readonly Quarter[]>,
): Promise<void> => {
  const late = [...all].flatMap(([owner, statistics]) =>
    (visits.get(owner) ?? [])
      .filter((visit) => statistics.isLate(visit))
      .map(({ day, quarter }) => ({ owner, day, quarter })),
  );
  if (late.length === 0) return;
  const { name } = owners;
  const [{ rows: days }, { rows: quarters }] = await Promise.all([
    tx.query<PortionRow & { owner: string }>(
      `SELECT t.${name} AS owner, t.day, t.uniques, t.series, t.document
       FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::integer[])) AS late (owner, day)
       JOIN ${schema}.${owners.days} t
         ON t.${name} = late.owner AND t.day = late.day ${inPartition(owners, 't')}`,
      valuesByField(late, 'owner', 'day'),
    ),
    tx.query<Quarter & { owner: string; document: string }>(
      `SELECT t.${name} AS owner, t.day, t.quarter, t.document
       FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::integer[], $3::smallint[]))
         AS late (owner, day, quarter)
       JOIN ${schema}.${owners.quarters} t ON t.${name} = late.owner AND t.day = late.day
         AND t.quarter = late.quarter ${inPartition(owners, 't')}`,
      valuesByField(late, 'owner', 'day', 'quarter'),
    ),
  ]);
  for (const { owner, day, ...row } of days) all.get(owner)?.knowDay(day, portionOf(row));
  for (const { owner, document, ...quarter } of quarters) {
    all.get(owner)?.knowQuarter(quarter, new StoredDocument(document));
  }
};

/** A value for each column of a table, those of the key first. */
type Row = readonly unknown[];

/** What a column becomes. Visits come in any order: the last click is the latest one. */
const newValue = (column: Column): string =>
  column === 'last_accessed'
    ? `${column} = greatest(t.${column}, excluded.${column})`
    : `${column} = excluded.${column}`;

/** Inserts rows, or replaces those that exist. */
const upsert = async (
  tx: Client,
  schema: ProjectionSchema,
  table: string,
  key: readonly Column[],
  others: readonly Column[],
  rows: readonly Row[],
): Promise<void> => {
  if (rows.length === 0) return;
  const columns = [...key, ...others];
  await tx.query({
    name: `stats-${table}-${schema}`,
    text: `INSERT INTO ${schema}.${table} AS t (${columns.join()})
           SELECT * FROM ${unnest(columns.map((column) => types[column]))}
           ON CONFLICT (${key.join()}) DO UPDATE SET ${others.map(newValue).join()}`,
    values: columns.map((column, index) => {
      const values = rows.map((row) => row[index]);
      return column === 'document' ? textArray(values as string[]) : arrayLiteral(values);
    }),
  });
};

/** Adds up the days of past months that have changed, where there are several. */
const writeMonths = async (
  tx: Client,
  schema: ProjectionSchema,
  owners: Owners,
  statistics: ReadonlyMap<string, Statistics>,
): Promise<void> => {
  const changed = [...statistics].flatMap(([owner, each]) =>
    [...each.changedMonths()].map((month) => ({
      owner,
      from: firstDayOf(month),
      to: firstDayOf(month + 1),
    })),
  );
  if (changed.length === 0) return;
  const { name } = owners;
  const { rows } = await tx.query<
    Omit<PortionRow, 'series'> & { owner: string; clicks: number; bots: number }
  >(
    `SELECT t.${name} AS owner, t.day, t.clicks, t.bots, t.uniques, t.document
     FROM unnest($1::text[], $2::integer[], $3::integer[]) AS m (owner, first, next)
     JOIN ${schema}.${owners.days} t ON t.${name} = m.owner AND t.day >= m.first AND t.day < m.next
       ${inPartition(owners, 't')}`,
    valuesByField(changed, 'owner', 'from', 'to'),
  );
  const months = groupBy(rows, ({ owner, day }) => `${monthOf(day)} ${owner}`);
  const sums = [...months.values()].flatMap((days) => {
    const [first] = days;
    if (!first || days.length === 1) return [];
    const sum = { clicks: 0, bots: 0, uniques: 0 };
    const document = emptyDocument();
    for (const day of days) {
      sum.clicks += day.clicks;
      sum.bots += day.bots;
      sum.uniques += day.uniques;
      mergeDocument(document, readDocument(day.document));
    }
    const { clicks, bots, uniques } = sum;
    const numbers = [monthOf(first.day), clicks, bots, uniques];
    return [[...keyOf(owners, first.owner), ...numbers, writeDocument(document)]];
  });
  const columns = ['clicks', 'bots', 'uniques', 'document'] as const;
  await upsert(tx, schema, owners.months, [...keyColumns(owners), 'month'], columns, sums);
};

/** Further columns of a table, and their values. */
export type Extra<Owner> = readonly [readonly Column[], (owner: Owner) => readonly unknown[]];

/** Writes what visits have changed. `ofOwner` and `ofDay`: further columns of an owner's rows. */
export const writeStatistics = async <Owner extends Statistics>(
  tx: Client,
  schema: ProjectionSchema,
  owners: Owners,
  statistics: ReadonlyMap<string, Owner>,
  ofOwner: Extra<Owner> = [[], () => []],
  ofDay: Extra<Owner> = [[], () => []],
): Promise<void> => {
  const key = keyColumns(owners);
  const newest: Row[] = [];
  const days: Row[] = [];
  const quarters: Row[] = [];
  for (const [name, owner] of statistics) {
    const keys = keyOf(owners, name);
    if (owner.newest) {
      const { clicks, bots, newest: portion } = owner;
      const values = [clicks, bots, portion.day, ...valuesOf(portion), ...ofOwner[1](owner)];
      newest.push([...keys, ...values]);
    }
    for (const [day, portion] of owner.changedDays()) {
      const { clicks, bots } = sumOfSeries(portion.series);
      days.push([...keys, day, clicks, bots, ...valuesOf(portion), ...ofDay[1](owner)]);
    }
    for (const { day, quarter, document } of owner.changedQuarters()) {
      quarters.push([...keys, day, quarter, document.text]);
    }
  }
  const write = (
    table: string,
    of: readonly Column[],
    others: readonly Column[],
    rows: readonly Row[],
  ) => upsert(tx, schema, table, [...key, ...of], others, rows);
  const counts = ['clicks', 'bots'] as const;
  await Promise.all([
    write(owners.newest, [], [...counts, 'day', ...portionColumns, ...ofOwner[0]], newest),
    write(owners.days, ['day'], [...counts, ...portionColumns, ...ofDay[0]], days),
    write(owners.quarters, ['day', 'quarter'], ['document'], quarters),
    writeMonths(tx, schema, owners, statistics),
  ]);
};
