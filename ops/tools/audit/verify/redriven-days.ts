/**
 * An account keeps the first 100 values of a day in the order of the log. Redriven visits are applied out of order, so
 * their days may keep other values than a fold. Until a rebuild, only the clicks of each dimension of such a day are
 * compared.
 */

const monthOfDay = `(extract(year FROM date '1970-01-01' + r.day) - 1970) * 12
  + extract(month FROM date '1970-01-01' + r.day) - 1`;

/** The tables with documents of accounts: the column of the period, and its value for a redriven day. */
const periods: Readonly<Record<string, readonly [column: string, ofDay: string]>> = {
  accounts: ['day', 'r.day'],
  account_days: ['day', 'r.day'],
  account_quarters: ['day', 'r.day'],
  account_months: ['month', monthOfDay],
};

/** For each list of a document, the sum of the numbers outside its quoted values. */
const clicksOfLists = `(
  SELECT string_agg((SELECT sum(number[1]::numeric) FROM regexp_matches(list, '-?\\d+', 'g') number)::text,
    ',' ORDER BY place)
  FROM regexp_split_to_table(regexp_replace(document, '"(?:[^"\\\\]|\\\\.)*"', '', 'g'), '\\],\\[')
    WITH ORDINALITY AS lists (list, place))`;

/** See `Fold.compared`, for tables of `projection_stats`. */
export const comparedStatistics = (
  table: string,
  rows: string,
  columns: readonly string[],
): string => {
  const period = periods[table];
  if (!period) return rows;
  const [column, ofDay] = period;
  const document = `CASE WHEN EXISTS (
      SELECT FROM projection_stats.redriven_days r
      WHERE r.account = t.account AND r.partition = t.partition AND ${ofDay} = t.${column}
    ) THEN ${clicksOfLists} ELSE document END AS document`;
  const selected = columns.map((name) => (name === 'document' ? document : name));
  return `(SELECT ${selected.join(', ')} FROM ${rows} t)`;
};
