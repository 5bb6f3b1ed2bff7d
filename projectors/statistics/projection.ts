import { groupBy } from '../../ops/platform/collections.js';
import { valuesByField, type Client } from '../../ops/platform/postgres/pool.js';
import { isVisit } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import { summedUnder } from '../../schemas/statistics/summed-visits.js';
import type { Projection, ProjectionSchema } from '../runtime/projection.js';
import { LinkStatistics, visitOf, type Visit } from './link-statistics.js';
import {
  addOpeningBalances,
  openingBalanceOf,
  readOpened,
  type OpeningBalance,
} from './opening-balances.js';
import { Statistics } from './statistics.js';
import { accountsIn, links } from './rows.js';
import { readStatistics, writeStatistics } from './tables.js';

type Links = ReadonlyMap<string, LinkStatistics>;
type VisitsOfLink = readonly [subject: string, visits: readonly Visit[]];

/** Determines the new visitors of days whose visitors are stored in rows. */
const readNewVisitors = async (
  tx: Client,
  schema: ProjectionSchema,
  statistics: Links,
  visitsOf: readonly VisitsOfLink[],
): Promise<void> => {
  const candidates: Visit[] = [];
  for (const [subject, visits] of visitsOf) {
    const link = statistics.get(subject);
    for (const visit of visits) {
      const { day, visitor } = visit;
      if (visitor !== null && link?.visitorsOf(day)?.isInRows === true) candidates.push(visit);
    }
  }
  const rows = await insertVisitors(tx, schema, candidates);
  for (const { subject, day, visitor } of rows) {
    statistics.get(subject)?.visitorsOf(day)?.expect(visitor);
  }
};

interface VisitorRow {
  readonly subject: string;
  readonly day: number;
  readonly visitor: string;
}

/** Returns the visitors that had no row. */
const insertVisitors = async (
  tx: Client,
  schema: ProjectionSchema,
  visitors: readonly { readonly [Field in keyof VisitorRow]: unknown }[],
): Promise<readonly VisitorRow[]> => {
  if (visitors.length === 0) return [];
  const { rows } = await tx.query<VisitorRow>({
    name: `stats-visitors-${schema}`,
    text: `INSERT INTO ${schema}.visitors (subject, day, visitor)
           SELECT DISTINCT * FROM unnest($1::text[], $2::integer[], $3::text[])
           ON CONFLICT DO NOTHING RETURNING *`,
    values: valuesByField(visitors, 'subject', 'day', 'visitor'),
  });
  return rows;
};

const writeVisitors = async (
  tx: Client,
  schema: ProjectionSchema,
  statistics: Links,
): Promise<void> => {
  const added: VisitorRow[] = [];
  const expired: { readonly subject: string; readonly day: number }[] = [];
  for (const [subject, link] of statistics) {
    for (const row of link.newVisitorRows()) added.push({ subject, ...row });
    if (link.hasExpiredRows && link.newest) expired.push({ subject, day: link.newest.day - 1 });
  }
  await insertVisitors(tx, schema, added);
  if (expired.length === 0) return;
  await tx.query(
    `DELETE FROM ${schema}.visitors v USING unnest($1::text[], $2::integer[]) AS oldest (subject, day)
     WHERE v.subject = oldest.subject AND v.day < oldest.day`,
    valuesByField(expired, 'subject', 'day'),
  );
};

/** Updates the index of links by account and clicks, which omits links without clicks. */
const writeLinksByClicks = async (
  tx: Client,
  schema: ProjectionSchema,
  links: Iterable<LinkStatistics>,
): Promise<void> => {
  const added: LinkStatistics[] = [];
  const moved: LinkStatistics[] = [];
  for (const link of links) {
    const { before, clicks, account } = link;
    if (before.clicks === 0) {
      if (clicks > 0) added.push(link);
    } else if (before.clicks !== clicks || before.account !== account) moved.push(link);
  }
  await Promise.all([insertByClicks(tx, schema, added), updateByClicks(tx, schema, moved)]);
};

const insertByClicks = async (
  tx: Client,
  schema: ProjectionSchema,
  links: readonly LinkStatistics[],
): Promise<void> => {
  if (links.length === 0) return;
  await tx.query({
    name: `stats-by-clicks-${schema}`,
    text: `INSERT INTO ${schema}.links_by_clicks (account, clicks, subject)
           SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])`,
    values: keysOf(links),
  });
};

const updateByClicks = async (
  tx: Client,
  schema: ProjectionSchema,
  links: readonly LinkStatistics[],
): Promise<void> => {
  if (links.length === 0) return;
  const { rowCount } = await tx.query({
    name: `stats-by-clicks-update-${schema}`,
    text: `UPDATE ${schema}.links_by_clicks AS t SET account = m.account, clicks = m.clicks
           FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[])
             AS m (account, clicks, subject, account_before, clicks_before)
           WHERE t.account = m.account_before AND t.clicks = m.clicks_before AND t.subject = m.subject`,
    values: [
      ...keysOf(links),
      links.map(({ before }) => before.account),
      links.map(({ before }) => before.clicks),
    ],
  });
  if (rowCount !== links.length)
    throw new Error(
      `${schema}.links_by_clicks has ${rowCount ?? 0} of ${links.length} rows of ${schema}.links: rebuild it`,
    );
};

const keysOf = (links: readonly LinkStatistics[]) => [
  links.map(({ account }) => account),
  links.map(({ clicks }) => clicks),
  links.map(({ owner }) => owner),
];

/** Links whose statistics are in memory together; more would outlive V8's young generation. */
const linksPerPortion = 1_000;

/** Counts visits for their links and sets their `isFirst`. */
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
    (subject, totals, { account, visitors = '', visitors_before = '' } = {}) =>
      new LinkStatistics(subject, totals, account, [visitors, visitors_before]),
    ['account', 'visitors', 'visitors_before'],
  );
  await readNewVisitors(tx, schema, statistics, visitsOf);
  for (const [subject, visits] of visitsOf) {
    const link = statistics.get(subject);
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
        last_accessed: ({ lastAccessed: at }) => (at === null ? null : new Date(at)),
        visitors: ({ visitors: [newest] }) => newest,
        visitors_before: ({ visitors: [, before] }) => before,
      },
      { account: ({ owner }) => owner.account },
    ),
    writeVisitors(tx, schema, statistics),
    writeLinksByClicks(tx, schema, statistics.values()),
  ]);
};

const visitsByKey = (visits: readonly Visit[]): ReadonlyMap<string, readonly Visit[]> => {
  const visitsOf = new Map<string, Visit[]>();
  for (const visit of visits) {
    for (const key of summedUnder(visit.account, visit.subject)) {
      const known = visitsOf.get(key);
      if (known) known.push(visit);
      else visitsOf.set(key, [visit]);
    }
  }
  return visitsOf;
};

/**
 * Counts visits for their accounts and domains, in the order of the log, because these keep the first values of a day.
 */
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
    visitsByKey(visits),
    (key, totals) => new Statistics(key, totals),
  );
  for (const visit of visits) {
    for (const key of summedUnder(visit.account, visit.subject)) {
      statistics.get(key)?.add(visit, visit.isFirst);
    }
  }
  await writeStatistics(tx, schema, accounts, statistics.values());
};

const addVisits = async (
  tx: Client,
  schema: ProjectionSchema,
  visits: readonly Visit[],
  partition: number,
): Promise<void> => {
  // The order is that of the indexes, for locality.
  const visitsOf = [...groupBy(visits, ({ subject }) => subject)].sort(([a], [b]) =>
    a < b ? -1 : 1,
  );
  for (let from = 0; from < visitsOf.length; from += linksPerPortion) {
    await addToLinks(tx, schema, visitsOf.slice(from, from + linksPerPortion));
  }
  await addToAccounts(tx, schema, partition, visits);
};

type Change = Visit | OpeningBalance;

const isOpening = (change: Change): change is OpeningBalance => 'type' in change;

/** The changes of a batch are of one topic. */
const areOpenings = (changes: readonly Change[]): changes is readonly OpeningBalance[] =>
  changes[0] !== undefined && isOpening(changes[0]);

/** Visits of links and accounts by time, origin and client, and the clicks that imported links bring along. */
export const stats: Projection<Change> = {
  name: 'stats',
  topics: [topics.visits.name, topics.links.name],
  checksSequencesOf: [topics.visits.name],
  toChange(event) {
    if (isVisit(event)) return visitOf(event);
    return event.type === 'linklog.LinkImported.v1' ? openingBalanceOf(event) : null;
  },
  apply: (tx, schema, changes, partition) =>
    areOpenings(changes)
      ? addOpeningBalances(tx, schema, partition, changes)
      : addVisits(tx, schema, changes as readonly Visit[], partition),
  sequences: { [topics.links.name]: readOpened },
  /** An account keeps the first values of a day, so a rebuild may keep other values of these days. */
  async redriven(tx, schema, changes, partition) {
    const visits = changes.filter((change): change is Visit => !isOpening(change));
    const days = visits.flatMap(({ account, subject, day }) =>
      summedUnder(account, subject).map((key) => ({ account: key, day })),
    );
    await tx.query(
      `INSERT INTO ${schema}.redriven_days (account, partition, day)
       SELECT DISTINCT account, $3::smallint, day FROM unnest($1::text[], $2::integer[]) AS r (account, day)
       ON CONFLICT DO NOTHING`,
      [...valuesByField(days, 'account', 'day'), partition],
    );
  },
};
