import type { Queryable, Client } from '../../ops/platform/postgres/pool.js';
import { dailyClicksDays } from '../../schemas/http/links.js';
import type { ListCursor } from './list/link-query.js';

export interface ClickedLink {
  readonly subject: string;
  readonly clicks: number;
}

/** Up to `limit` links with clicks after a cursor, in the order of clicks. @param account `null`: of all accounts */
export const nextByClicks = async (
  tx: Client,
  account: string | null,
  after: Pick<ListCursor, 'clicks' | 'subject'> | null,
  limit: number,
): Promise<readonly (ClickedLink & Pick<ListCursor, 'account'>)[]> => {
  const { clicks, subject } = after ?? { clicks: Number.MAX_SAFE_INTEGER, subject: '' };
  const [name, ofAccount] =
    account === null ? ['all-links-by-clicks', ''] : ['links-by-clicks', 'account = $4 AND'];
  const ofLinks = `SELECT account, subject, clicks FROM projection_stats.links_by_clicks WHERE ${ofAccount}`;
  const { rows } = await tx.query<ClickedLink & Pick<ListCursor, 'account'>>({
    name,
    text: `(${ofLinks} clicks = $1 AND subject > $2 ORDER BY subject LIMIT $3)
           UNION ALL
           (${ofLinks} clicks < $1 ORDER BY clicks DESC, subject LIMIT $3)
           ORDER BY clicks DESC, subject LIMIT $3`,
    values: [clicks, subject, limit, ...(account === null ? [] : [account])],
  });
  return rows;
};

export interface ClicksOfLink {
  readonly clicks: number;
  /** `null` before the first click. */
  readonly lastAccessed: Date | null;
}

export const noClicks: ClicksOfLink = { clicks: 0, lastAccessed: null };
export const noDailyClicks = (): number[] => Array<number>(dailyClicksDays).fill(0);

/** The total clicks of links, from the statistics projection. Links without visits are absent. */
export const readClicks = async (
  postgres: Queryable,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, ClicksOfLink>> => {
  if (subjects.length === 0) return new Map();
  const { rows } = await postgres.query<ClicksOfLink & { readonly subject: string }>({
    name: 'link-clicks',
    text: `SELECT subject, clicks, last_accessed AS "lastAccessed" FROM projection_stats.links
           WHERE subject = ANY ($1::text[])`,
    values: [subjects],
  });
  return new Map(
    rows.map(({ subject, clicks, lastAccessed }) => [subject, { clicks, lastAccessed }]),
  );
};

/** SQL: the clicks of the newest quarter of a link, which is not yet added to its day. */
export const newestClicks = `split_part(series, ',', 2)`;

/** The clicks of each of the last days in UTC, today last. Links without any are absent. */
export const readDailyClicks = async (
  postgres: Queryable,
  subjects: readonly string[],
  now: Date,
): Promise<ReadonlyMap<string, readonly number[]>> => {
  const first = Math.floor(now.getTime() / 86_400_000) - dailyClicksDays + 1;
  const { rows } = await postgres.query<{ subject: string; day: number; clicks: number }>({
    name: 'link-daily-clicks',
    text: `SELECT subject, day - $2 AS day, clicks FROM projection_stats.days
           WHERE subject = ANY ($1::text[]) AND day >= $2 AND day < $3
           UNION ALL
           SELECT subject, day - $2, ${newestClicks}::integer FROM projection_stats.links
           WHERE subject = ANY ($1::text[]) AND day >= $2 AND day < $3 AND ${newestClicks} > '0'`,
    values: [subjects, first, first + dailyClicksDays],
  });
  const daily = new Map<string, number[]>();
  for (const { subject, day, clicks } of rows) {
    const days = daily.get(subject) ?? noDailyClicks();
    days[day] = (days[day] ?? 0) + clicks;
    daily.set(subject, days);
  }
  return daily;
};

/** The exact clicks that count against a limit, from the ledger. */
export const readClicksTaken = async (
  postgres: Queryable,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  if (subjects.length === 0) return new Map();
  const { rows } = await postgres.query<{ readonly subject: string; readonly clicks: number }>({
    name: 'link-clicks-taken',
    text: 'SELECT subject, clicks FROM ledger.links WHERE subject = ANY ($1::text[])',
    values: [subjects],
  });
  return new Map(rows.map(({ subject, clicks }) => [subject, clicks]));
};
