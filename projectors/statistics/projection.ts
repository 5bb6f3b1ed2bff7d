import { groupBy } from '../../ops/platform/group-by.js';
import { valuesByField, type Client } from '../../ops/platform/postgres/pool.js';
import type { EventNamed, LinklogEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import type { Projection, ProjectionSchema } from '../runtime/projection.js';
import { LinkStatistics, visitOf, type Visit } from './link-statistics.js';
import { writeLinksByClicks } from './links-by-clicks.js';
import { Statistics } from './statistics.js';
import { accountsIn, links, readStatistics, writeStatistics } from './tables.js';

type Links = ReadonlyMap<string, LinkStatistics>;
type VisitsOfLink = readonly [code: string, visits: readonly Visit[]];

/** Finds out which visitors are new where the visitors of a link's day are in rows of their own. */
const expectVisitors = async (
  tx: Client,
  schema: ProjectionSchema,
  statistics: Links,
  visitsOf: readonly VisitsOfLink[],
): Promise<void> => {
  const asked: Visit[] = [];
  for (const [code, visits] of visitsOf) {
    const link = statistics.get(code);
    for (const visit of visits) {
      const { day, visitor } = visit;
      if (visitor !== null && link?.visitorsOf(day)?.isInRows === true) asked.push(visit);
    }
  }
  const rows = await insertVisitors(tx, schema, asked);
  for (const { code, day, visitor } of rows) {
    statistics.get(code)?.visitorsOf(day)?.expect(visitor);
  }
};

interface VisitorRow {
  readonly code: string;
  readonly day: number;
  readonly visitor: string;
}

/** Returns those that had no row. */
const insertVisitors = async (
  tx: Client,
  schema: ProjectionSchema,
  visitors: readonly { readonly [Field in keyof VisitorRow]: unknown }[],
): Promise<readonly VisitorRow[]> => {
  if (visitors.length === 0) return [];
  const { rows } = await tx.query<VisitorRow>({
    name: `stats-visitors-${schema}`,
    text: `INSERT INTO ${schema}.visitors (code, day, visitor)
           SELECT DISTINCT * FROM unnest($1::text[], $2::integer[], $3::text[])
           ON CONFLICT DO NOTHING RETURNING *`,
    values: valuesByField(visitors, 'code', 'day', 'visitor'),
  });
  return rows;
};

const writeVisitors = async (
  tx: Client,
  schema: ProjectionSchema,
  statistics: Links,
): Promise<void> => {
  const added: VisitorRow[] = [];
  const left: { readonly code: string; readonly day: number }[] = [];
  for (const [code, link] of statistics) {
    for (const row of link.newVisitorRows()) added.push({ code, ...row });
    if (link.hasLeftRows && link.newest) left.push({ code, day: link.newest.day - 1 });
  }
  await insertVisitors(tx, schema, added);
  if (left.length === 0) return;
  await tx.query(
    `DELETE FROM ${schema}.visitors v USING unnest($1::text[], $2::integer[]) AS kept (code, day)
     WHERE v.code = kept.code AND v.day < kept.day`,
    valuesByField(left, 'code', 'day'),
  );
};

/** Links whose statistics are in memory together. More of them outlive the collector's young generation. */
const linksAtOnce = 1_000;

/** Counts visits for their links, and finds out which are the first ones of their visitors. */
const addToLinks = async (
  tx: Client,
  schema: ProjectionSchema,
  visitsOf: readonly VisitsOfLink[],
): Promise<void> => {
  const statistics = await readStatistics(
    tx,
    schema,
    links,
    new Map(visitsOf),
    (code, totals, { account, visitors = '', visitors_before = '' } = {}) =>
      new LinkStatistics(code, totals, account, [visitors, visitors_before]),
    ['account', 'visitors', 'visitors_before'],
  );
  await expectVisitors(tx, schema, statistics, visitsOf);
  for (const [code, visits] of visitsOf) {
    const link = statistics.get(code);
    for (const visit of visits) link?.count(visit);
  }
  await Promise.all([
    writeStatistics(
      tx,
      schema,
      links,
      statistics.values(),
      {
        account: ({ account }) => account,
        last_accessed: ({ lastAccessed }) => lastAccessed,
        visitors: ({ visitors: [newest] }) => newest,
        visitors_before: ({ visitors: [, before] }) => before,
      },
      { account: ({ of }) => of.account },
    ),
    writeVisitors(tx, schema, statistics),
    writeLinksByClicks(tx, schema, statistics.values()),
  ]);
};

/** Counts visits for their accounts, in the log's order: an account keeps the first values of a day. */
const addToAccounts = async (
  tx: Client,
  schema: ProjectionSchema,
  partition: number,
  visits: readonly Visit[],
): Promise<void> => {
  const accounts = accountsIn(partition);
  const statistics = await readStatistics(
    tx,
    schema,
    accounts,
    groupBy(visits, ({ account }) => account),
    (account, totals) => new Statistics(account, totals),
  );
  for (const visit of visits) statistics.get(visit.account)?.add(visit, visit.isFirst);
  await writeStatistics(tx, schema, accounts, statistics.values());
};

const addVisits = async (
  tx: Client,
  schema: ProjectionSchema,
  visits: readonly Visit[],
  partition: number,
): Promise<void> => {
  // In the order of the indexes: the next link's place in them is mostly near the one before.
  const visitsOf = [...groupBy(visits, ({ code }) => code)].sort(([a], [b]) => (a < b ? -1 : 1));
  for (let from = 0; from < visitsOf.length; from += linksAtOnce) {
    await addToLinks(tx, schema, visitsOf.slice(from, from + linksAtOnce));
  }
  await addToAccounts(tx, schema, partition, visits);
};

const isVisit = (event: LinklogEvent): event is EventNamed<'LinkVisited'> =>
  event.type === 'linklog.LinkVisited.v2';

/** When each link, and each account's links, were visited, from where and through what. */
export const stats: Projection<Visit> = {
  name: 'stats',
  topics: [topics.visits.name],
  checksSequencesOf: [topics.visits.name],
  isPartitioned: true,
  factOf: (event) => (isVisit(event) ? visitOf(event) : null),
  apply: addVisits,
  /** An account keeps the first values of a day: of these days, a rebuild may keep others. */
  async redriven(tx, schema, visits, partition) {
    await tx.query(
      `INSERT INTO ${schema}.redriven_days (account, partition, day)
       SELECT DISTINCT account, $3::smallint, day FROM unnest($1::text[], $2::integer[]) AS r (account, day)
       ON CONFLICT DO NOTHING`,
      [...valuesByField(visits, 'account', 'day'), partition],
    );
  },
};
