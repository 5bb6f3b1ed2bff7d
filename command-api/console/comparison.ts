/** The lists of a breakdown, and their comparison in two periods. */
import type { PeriodStats } from '../../schemas/http/statistics.js';
import type { Dimension } from '../../schemas/statistics/document.js';

export interface Row {
  /** `null`: not recorded. `(other)`: the values beyond the limit of the API. */
  readonly value: string | null;
  readonly clicks: number;
}

export interface ComparedRow extends Row {
  /** The clicks in the compared period; `null`: not known, or not compared. */
  readonly before: number | null;
}

export const others = '(other)';

/** The values of a campaign as one text, in which each has its place: `spring / – / email`. */
const campaignText = (values: readonly (string | null)[]): string | null => {
  const last = values.findLastIndex((value) => value !== null);
  const text = values.slice(0, last + 1).map((value) => value ?? '–');
  return text.length === 0 ? null : text.join(' / ');
};

/** The list of a dimension. The three values of a campaign are one text. */
export const listOf = (
  stats: Omit<PeriodStats, 'period'> | undefined,
  name: Dimension,
): readonly Row[] =>
  name === 'campaigns'
    ? (stats?.campaigns ?? []).map(({ campaign, source, medium, clicks }) => ({
        value: campaignText([campaign, source, medium]),
        clicks,
      }))
    : (stats?.[name] ?? []);

/**
 * The values of a period with their clicks in an earlier one. Values that only the earlier period has follow with 0
 * clicks.
 *
 * @param earlier absent: not compared
 * @param limit the maximum of rows of both lists
 */
export const compareRows = (
  rows: readonly Row[],
  earlier: readonly Row[] | undefined,
  limit = Infinity,
): readonly ComparedRow[] => {
  if (!earlier) return rows.map((row) => ({ ...row, before: null }));
  const clicksOf = new Map(earlier.map(({ value, clicks }) => [value, clicks]));
  /** Whether values that the list does not have may have clicks. */
  const isPartial = (list: readonly Row[]): boolean =>
    list.length >= limit || list.some(({ value }) => value === others);
  const missing = isPartial(earlier) ? null : 0;
  const known = new Set(rows.map(({ value }) => value));
  const gone = isPartial(rows) ? [] : earlier.filter(({ value }) => !known.has(value));
  return [
    ...rows.map((row) => ({ ...row, before: clicksOf.get(row.value) ?? missing })),
    ...gone.map(({ value, clicks }) => ({ value, clicks: 0, before: clicks })),
  ];
};
