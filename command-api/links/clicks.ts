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
  codes: readonly string[],
): Promise<ReadonlyMap<string, ClicksOfLink>> => {
  if (codes.length === 0) return new Map();
  const { rows } = await postgres.query<ClicksOfLink & { readonly code: string }>({
    name: 'link-clicks',
    text: `SELECT code, clicks, last_accessed AS "lastAccessed" FROM projection_stats.codes
           WHERE code = ANY ($1::text[])`,
    values: [codes],
  });
  return new Map(rows.map(({ code, clicks, lastAccessed }) => [code, { clicks, lastAccessed }]));
};

/** The exact clicks that count against a limit, from the ledger. */
export const readClicksTaken = async (
  postgres: Queryable,
  codes: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  if (codes.length === 0) return new Map();
  const { rows } = await postgres.query<{ readonly code: string; readonly clicks: number }>({
    name: 'link-clicks-taken',
    text: 'SELECT code, clicks FROM ledger.links WHERE code = ANY ($1::text[])',
    values: [codes],
  });
  return new Map(rows.map(({ code, clicks }) => [code, clicks]));
};
