/** The clicks that imported links bring along. They are part of the total clicks, but of no period. */
import { valuesByField, type Client } from '../../ops/platform/postgres/pool.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { summedUnder } from '../../schemas/statistics/summed-visits.js';
import type { ProjectionSchema, ReadSequences } from '../runtime/projection.js';

export interface OpeningBalance {
  readonly type: 'opening';
  readonly subject: string;
  readonly account: string;
  readonly clicks: number;
}

/** `null`: the link brings no clicks along. */
export const openingBalanceOf = ({
  subject,
  account = '',
  data: { clicks },
}: EventNamed<'LinkImported'>): OpeningBalance | null =>
  clicks === 0 ? null : { type: 'opening', subject, account, clicks };

/**
 * The partition of an account's opening balances in its statistics. Partitions of visits are from 0 on, and a negative
 * one has only opening balances.
 *
 * @param partition of the topic of links
 */
export const openingsPartition = (partition: number): number => -1 - partition;

/** The values of an owner without visits: the newest quarter hour is empty. */
const withoutVisits = `0 AS bots, 0 AS day, 0 AS uniques, '[]' AS series, '' AS document`;

/**
 * Adds opening balances of links, which may have visits already: another topic has no order. A link has one.
 *
 * Accounts have a row for them in a partition of its own, so that no batch of visits waits for an import.
 */
export const addOpeningBalances = async (
  tx: Client,
  schema: ProjectionSchema,
  partition: number,
  openings: readonly OpeningBalance[],
): Promise<void> => {
  const sums = new Map<string, number>();
  for (const { account, subject, clicks } of openings) {
    for (const key of summedUnder(account, subject)) sums.set(key, (sums.get(key) ?? 0) + clicks);
  }
  await Promise.all([
    tx.query({
      name: `stats-openings-${schema}`,
      text: `WITH given AS (
               SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]) AS o (subject, account, clicks)
             ), opened AS (
               INSERT INTO ${schema}.links AS t
                 (subject, account, clicks, opening, visitors, visitors_before,
                  bots, day, uniques, series, document)
               SELECT subject, account, clicks, clicks, '', '', ${withoutVisits}
               FROM given ORDER BY subject
               ON CONFLICT (subject) DO UPDATE
                 SET clicks = t.clicks + excluded.clicks, opening = excluded.opening
               RETURNING subject, account, clicks, opening
             ), moved AS (
               DELETE FROM ${schema}.links_by_clicks b USING opened
               WHERE b.subject = opened.subject AND b.account = opened.account
                 AND b.clicks = opened.clicks - opened.opening
             )
             INSERT INTO ${schema}.links_by_clicks (account, clicks, subject)
             SELECT account, clicks, subject FROM opened`,
      values: valuesByField(openings, 'subject', 'account', 'clicks'),
    }),
    tx.query({
      name: `stats-account-openings-${schema}`,
      text: `INSERT INTO ${schema}.accounts AS t
               (account, partition, clicks, bots, day, uniques, series, document)
             SELECT account, $3::smallint, clicks, ${withoutVisits}
             FROM unnest($1::text[], $2::bigint[]) AS o (account, clicks)
             ON CONFLICT (account, partition) DO UPDATE SET clicks = t.clicks + excluded.clicks`,
      values: [[...sums.keys()], [...sums.values()], openingsPartition(partition)],
    }),
  ]);
};

/** A link has a row with its opening balance once its first event was applied; its other events change nothing here. */
export const readOpened: ReadSequences = async (tx, schema, subjects) => {
  const { rows } = await tx.query<{ subject: string }>({
    name: `stats-opened-${schema}`,
    text: `SELECT subject FROM ${schema}.links WHERE subject = ANY ($1::text[]) AND opening IS NOT NULL`,
    values: [subjects],
  });
  return new Map(rows.map(({ subject }) => [subject, 1]));
};
