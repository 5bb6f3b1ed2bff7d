import type { Queryable } from '../../ops/platform/postgres/pool.js';

export interface ClicksOfLink {
  readonly clicks: number;
  /** `null` before the first click. */
  readonly lastAccessed: Date | null;
}

export const noClicks: ClicksOfLink = { clicks: 0, lastAccessed: null };

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
