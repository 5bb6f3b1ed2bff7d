import { groupBy } from '../../ops/platform/collections.js';
import { valuesByField, type Client } from '../../ops/platform/postgres/pool.js';
import { firstDayOf, monthOf, type Quarter } from '../../schemas/statistics/calendar.js';
import {
  emptyDocument,
  maxValues,
  mergeDocument,
  readDocument,
  writeDocument,
} from '../../schemas/statistics/document.js';
import {
  readSeries,
  sumOfSeries,
  writeSeries,
  type VisitCounts,
} from '../../schemas/statistics/series.js';
import type { ProjectionSchema } from '../runtime/projection.js';
import {
  inPartition,
  insert,
  keyCells,
  update,
  upsert,
  type Cells,
  type Column,
  type Owners,
} from './rows.js';
import {
  StoredDocument,
  type NewestQuarter,
  type Portion,
  type Statistics,
  type Totals,
} from './statistics.js';

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

/** The stored row of an owner, with the day of its newest quarter hour. */
interface OwnerRow extends PortionRow {
  readonly owner: string;
  readonly ctid: string;
  readonly clicks: number;
  readonly bots: number;
  /** `null` if the newest quarter hour is the first one of its day, or the others cannot matter. */
  readonly day_series: string | null;
  readonly day_uniques: number;
  readonly day_document: string;
  /** Only links have it and the visitors. */
  readonly account?: string;
  readonly visitors?: string | null;
  readonly visitors_before?: string | null;
}

const totalsOf = ({ ctid, clicks, bots, day, ...row }: OwnerRow): Totals => {
  const portion = portionOf(row);
  // A row that was written before documents were introduced has none.
  return { ctid, clicks, bots, newest: portion.series.length === 0 ? null : { day, ...portion } };
};

const laterOf = (a: Quarter, b: Quarter): Quarter =>
  a.day > b.day || (a.day === b.day && a.quarter > b.quarter) ? a : b;

/** Reads the statistics that these visits affect. `create` receives the row, with its `extra` columns. */
export const readStatistics = async <Owner extends Statistics>(
  tx: Client,
  schema: ProjectionSchema,
  owners: Owners,
  visits: ReadonlyMap<string, readonly Quarter[]>,
  create: (owner: string, totals?: Totals, row?: Partial<OwnerRow>) => Owner,
  extra: readonly Column[] = [],
): Promise<ReadonlyMap<string, Owner>> => {
  const { name } = owners;
  const columns = ['ctid', 'clicks', 'bots', 'day', 'uniques', 'series', 'document', ...extra];
  let latest: Quarter = { day: 0, quarter: 0 };
  let most = 0;
  for (const quarters of visits.values()) {
    latest = quarters.reduce(laterOf, latest);
    most = Math.max(most, quarters.length);
  }
  // Not a prepared statement, like all reads here, because a plan for small tables would scan them. The rest of the newest
  // day is read only if its newest quarter hour may end, or if the day may reach its limit of values.
  const { rows } = await tx.query<OwnerRow>(
    `SELECT t.${name} AS owner, ${columns.map((column) => `t.${column}`).join()},
       d.uniques AS day_uniques, d.series AS day_series, d.document AS day_document
     FROM ${schema}.${owners.newest} t
     LEFT JOIN ${schema}.${owners.days} d ON d.day = t.day ${inPartition(owners, 'd')} AND d.${name} =
       CASE WHEN t.day <> $2 OR t.series NOT LIKE $3 OR t.clicks + $4 > $5 THEN t.${name} END
     WHERE t.${name} = ANY ($1::text[]) ${inPartition(owners, 't')}`,
    [[...visits.keys()], latest.day, `[${latest.quarter},%`, most, maxValues],
  );
  const known = new Map(rows.map((row) => [row.owner, row]));
  const statisticsOf = new Map<string, Owner>();
  for (const owner of visits.keys()) {
    const row = known.get(owner);
    const statistics = create(owner, row && totalsOf(row), row);
    if (row && row.day_series !== null) {
      const { day_series: series, day_uniques: uniques, day_document: document } = row;
      statistics.knowDay(row.day, portionOf({ uniques, series, document }));
    }
    statisticsOf.set(owner, statistics);
  }
  await readLate(tx, schema, owners, statisticsOf, visits);
  return statisticsOf;
};

const readLate = async (
  tx: Client,
  schema: ProjectionSchema,
  owners: Owners,
  statisticsOf: ReadonlyMap<string, Statistics>,
  visits: ReadonlyMap<string, readonly Quarter[]>,
): Promise<void> => {
  const late: (Quarter & { readonly owner: string })[] = [];
  for (const [owner, statistics] of statisticsOf) {
    for (const visit of visits.get(owner) ?? []) {
      if (statistics.isLate(visit)) late.push({ owner, day: visit.day, quarter: visit.quarter });
    }
  }
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
  for (const { owner, day, ...row } of days) statisticsOf.get(owner)?.knowDay(day, portionOf(row));
  for (const { owner, document, ...quarter } of quarters) {
    statisticsOf.get(owner)?.knowQuarter(quarter, new StoredDocument(document));
  }
};

const ownerOf = ({ owner }: { readonly owner: string }): string => owner;

const portionCells = <Item>(portionOf: (item: Item) => Portion): Cells<Item> => ({
  uniques: (item) => portionOf(item).uniques,
  series: (item) => writeSeries(portionOf(item).series),
  document: (item) => portionOf(item).document.text,
});

/** Sums up the days of changed past months that have several days. */
const writeMonths = async (
  tx: Client,
  schema: ProjectionSchema,
  owners: Owners,
  statistics: readonly Statistics[],
): Promise<void> => {
  const changed = statistics.flatMap((item) =>
    [...item.changedMonths()].map((month) => ({
      owner: item.owner,
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
    const { owner, day: anyDay } = first;
    const sum = { owner, month: monthOf(anyDay), clicks: 0, bots: 0, uniques: 0 };
    const document = emptyDocument();
    for (const day of days) {
      sum.clicks += day.clicks;
      sum.bots += day.bots;
      sum.uniques += day.uniques;
      mergeDocument(document, readDocument(day.document));
    }
    return [{ ...sum, document: writeDocument(document) }];
  });
  await upsert(
    tx,
    schema,
    owners.months,
    { ...keyCells(owners, ownerOf), month: ({ month }) => month },
    {
      clicks: ({ clicks }) => clicks,
      bots: ({ bots }) => bots,
      uniques: ({ uniques }) => uniques,
      document: ({ document }) => document,
    },
    sums,
  );
};

interface ChangedDay<Owner> {
  readonly owner: Owner;
  readonly day: number;
  readonly portion: Portion;
  readonly counts: VisitCounts;
}

const newestOf = ({ owner, newest }: Statistics): NewestQuarter => {
  if (!newest) throw new Error(`the statistics of ${owner} are written without visits`);
  return newest;
};

export const writeStatistics = async <Owner extends Statistics>(
  tx: Client,
  schema: ProjectionSchema,
  owners: Owners,
  statistics: Iterable<Owner>,
  ownerCells: Cells<Owner> = {},
  dayCells: Cells<ChangedDay<Owner>> = {},
): Promise<void> => {
  const items = [...statistics];
  const withDays = items.filter(({ touchesDays }) => touchesDays);
  const days = withDays.flatMap((owner) =>
    owner.changedDays().map(([day, portion]): ChangedDay<Owner> => {
      return { owner, day, portion, counts: sumOfSeries(portion.series) };
    }),
  );
  const quarters = withDays.flatMap((item) =>
    item.changedQuarters().map((changed) => ({ owner: item.owner, ...changed })),
  );
  const newest: Cells<Owner> = {
    clicks: ({ clicks }) => clicks,
    bots: ({ bots }) => bots,
    day: (item) => newestOf(item).day,
    ...portionCells(newestOf),
    ...ownerCells,
  };
  const added = items.filter(({ ctid }) => ctid === null);
  const known = items.filter(({ ctid }) => ctid !== null);
  await Promise.all([
    update(tx, schema, owners.newest, { ctid: ({ ctid }) => ctid }, newest, known),
    insert(tx, schema, owners.newest, { ...keyCells(owners, ownerOf), ...newest }, added),
    upsert(
      tx,
      schema,
      owners.days,
      { ...keyCells(owners, (item: ChangedDay<Owner>) => item.owner.owner), day: ({ day }) => day },
      {
        clicks: ({ counts }) => counts.clicks,
        bots: ({ counts }) => counts.bots,
        ...portionCells(({ portion }: ChangedDay<Owner>) => portion),
        ...dayCells,
      },
      days,
    ),
    upsert(
      tx,
      schema,
      owners.quarters,
      { ...keyCells(owners, ownerOf), day: ({ day }) => day, quarter: ({ quarter }) => quarter },
      { document: ({ document }) => document.text },
      quarters,
    ),
    writeMonths(tx, schema, owners, withDays),
  ]);
};
