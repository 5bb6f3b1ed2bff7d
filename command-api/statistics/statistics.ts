import type { Queryable, Pool } from '../../ops/platform/postgres/pool.js';
import { dimensionNames } from '../../schemas/statistics/document.js';
import type { StatisticsRequest, StatsResponse } from '../../schemas/http/statistics.js';
import { rebuildDue } from '../../ops/platform/postgres/generation.js';
import { coverageOf, createPeriodSum, type StatisticsRow } from './breakdowns.js';
import { readLinkStates } from '../../ops/ledger/link-states.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { linkOfSubject } from '../../schemas/link-subject.js';
import { noClicks, readClicks } from '../links/clicks.js';

const withoutPeriod = async (pool: Pool, subject: string) => ({
  ...((await readClicks(pool, [subject])).get(subject) ?? noClicks),
  ofPeriod: {},
});

/**
 * The statistics of a link, with its account. The link is found as soon as its creation was acknowledged. `null` if the
 * link does not exist; `incomplete` if a period is requested while the tables are being built.
 */
export const findLinkStats = async (
  pool: Pool,
  outbox: Outbox,
  subject: string,
  request: StatisticsRequest | null,
): Promise<{ readonly account: string; readonly stats: StatsResponse } | 'incomplete' | null> => {
  const isOfPeriod = request !== null && request.include.size > 0;
  if (isOfPeriod && (await areIncomplete(pool))) return 'incomplete';
  const { clicks, lastAccessed, ofPeriod } = await (isOfPeriod
    ? readLinkStatistics(pool, subject, request)
    : withoutPeriod(pool, subject));
  const { state } = (await readLinkStates(pool, outbox, [subject])).get(subject) ?? {};
  if (!state || state.status === 'none') return null;
  const { url, account, createdAt, expiresAt, maxClicks } = state.link;
  return {
    account,
    stats: {
      shortCode: linkOfSubject(subject).code,
      url,
      clickCount: clicks,
      createdAt,
      lastAccessed: lastAccessed?.toISOString() ?? null,
      expiresAt,
      maxClicks,
      ...ofPeriod,
    },
  };
};

/**
 * Whether the tables lack visits, because projectors are rebuilding them after an upgrade. Check before reading them: a
 * rebuild may end meanwhile, but none starts.
 */
export const areIncomplete = async (postgres: Queryable): Promise<boolean> => {
  const { rows } = await postgres.query({
    name: 'statistics-are-incomplete',
    text: `SELECT FROM pg_namespace WHERE nspname = 'projection_stats'
             AND obj_description(oid, 'pg_namespace') = $1`,
    values: [rebuildDue],
  });
  return rows.length > 0;
};

const ofLink = {
  subject: 'subject',
  /** The comparison of the subject with $1. */
  isRequested: '= $1',
  newest: 'links',
  prefix: '',
  lastAccessed: 'last_accessed',
  /** Accounts have separate rows for each partition of the log. */
  samePart: '',
  /** The opening balance of a row: see `openingsPartition`. */
  imported: 'opening',
};

type Tables = typeof ofLink;

const ofLinks = { ...ofLink, isRequested: '= ANY ($1::text[])' };
const ofAccount: Tables = {
  subject: 'account',
  isRequested: '= $1',
  newest: 'accounts',
  prefix: 'account_',
  lastAccessed: 'NULL::timestamptz',
  samePart: 'AND months.partition = days.partition',
  imported: 'CASE WHEN partition < 0 THEN clicks END',
};

/** SQL for the month of a day, both counted since 1970. */
const monthOf = (day: string): string => {
  const date = `date '1970-01-01' + ${day}`;
  return `((extract(year FROM ${date}) - 1970) * 12 + extract(month FROM ${date}) - 1)::integer`;
};

/**
 * One statement, for a consistent snapshot of the rows of a `Coverage`. $1: subject or subjects; $2: whether documents are needed.
 */
const rowsOf = ({ subject, isRequested, newest, prefix, ...ofTables }: Tables) => `
  SELECT ${subject} AS owner, day, 0 AS clicks, 0 AS bots, uniques, series,
    CASE WHEN $2 AND day >= $3 AND day < $4 THEN document END AS document,
    clicks AS "allClicks", ${ofTables.imported} AS imported, ${ofTables.lastAccessed} AS "lastAccessed"
  FROM projection_stats.${newest} WHERE ${subject} ${isRequested}
  UNION ALL
  SELECT days.${subject}, day, days.clicks, days.bots, days.uniques,
    CASE WHEN day = ANY ($5::integer[]) THEN series END,
    CASE WHEN $2 AND months.month IS NULL AND (day >= $6 AND day < $7 OR day = ANY ($8::integer[]))
      THEN days.document END,
    NULL, NULL, NULL
  FROM projection_stats.${prefix}days days LEFT JOIN projection_stats.${prefix}months months
    ON months.${subject} = days.${subject} AND months.month = ${monthOf('days.day')} ${ofTables.samePart}
    AND months.month >= $9 AND months.month < $10
  WHERE days.${subject} ${isRequested} AND day >= $3 AND day < $4
  UNION ALL
  SELECT ${subject}, NULL, 0, 0, 0, NULL, document, NULL, NULL, NULL
  FROM projection_stats.${prefix}quarters
  WHERE $2 AND ${subject} ${isRequested} AND day = ANY ($8::integer[])
    AND day * 96 + quarter >= $11 AND day * 96 + quarter < $12
  UNION ALL
  SELECT ${subject}, NULL, 0, 0, 0, NULL, document, NULL, NULL, NULL
  FROM projection_stats.${prefix}months
  WHERE $2 AND ${subject} ${isRequested} AND month >= $9 AND month < $10`;

type Row = StatisticsRow & {
  readonly owner: string;
  /** `null` except in rows of newest quarters. */
  readonly allClicks: number | null;
  readonly imported: number | null;
  readonly lastAccessed: Date | null;
};

const rowReaderOf = (name: string, tables: Tables) => {
  const text = rowsOf(tables);

  return async (
    postgres: Queryable,
    subject: string | readonly string[],
    { period, include }: StatisticsRequest,
  ): Promise<readonly Row[]> => {
    const { days, cutDays, wholeDays, endDays, wholeMonths, quarters } = coverageOf(period);
    const { rows } = await postgres.query<Row>({
      name,
      text,
      values: [
        subject,
        dimensionNames.some((dimension) => include.has(dimension)),
        ...days,
        cutDays,
        ...wholeDays,
        endDays,
        ...wholeMonths,
        ...quarters,
      ],
    });
    return rows;
  };
};

export const readRowsOfLinks = rowReaderOf('statistics-of-links', ofLinks);

const readerOf = (tables: Tables) => {
  const readRows = rowReaderOf(`statistics-of-${tables.subject}`, tables);

  return async (postgres: Queryable, subject: string, request: StatisticsRequest) => {
    const { period, include, limit } = request;
    const rows = await readRows(postgres, subject, request);
    const sum = createPeriodSum(period);
    for (const row of rows) sum.add(row);
    const importedClicks = rows.reduce((sum, { imported }) => sum + (imported ?? 0), 0);
    return {
      clicks: rows.reduce((sum, { allClicks }) => sum + (allClicks ?? 0), 0),
      lastAccessed: rows.find(({ lastAccessed }) => lastAccessed)?.lastAccessed ?? null,
      ofPeriod: {
        ...sum.statsOf(include, limit, subject),
        ...(importedClicks > 0 && { importedClicks }),
      },
    };
  };
};

export const readLinkStatistics = readerOf(ofLink);
export const readAccountStatistics = readerOf(ofAccount);
