import type { Context } from 'koa';
import { csvRow } from '../../schemas/csv.js';
import {
  isTable,
  tables,
  type AccountStatsResponse,
  type StatisticsRequest,
  type StatisticsTable,
  type StatsResponse,
} from '../../schemas/http/statistics.js';
import { subjectOf } from '../../schemas/link-subject.js';
import { failure, prefers, type Reply } from '../http/reply.js';
import { refusedWith, type Read } from '../http/requests.js';

const includeMessage = `include must name exactly one of ${tables.join(', ')} for text/csv`;

/** The statistics that the response has as CSV; `null`: the response is JSON. */
export const requestedTable = (
  ctx: Context,
  request: StatisticsRequest | null,
): Read<StatisticsTable | null> => {
  if (!prefers(ctx, 'text/csv', 'application/json')) return { type: 'read', value: null };
  const [name, ...others] = request?.include ?? [];
  return name !== undefined && others.length === 0 && isTable(name)
    ? { type: 'read', value: name }
    : refusedWith(failure(400, includeMessage));
};

type Stats = StatsResponse | AccountStatsResponse;

/** The head and the rows of a table. A value that was not recorded is empty. */
const rowsOf = (stats: Stats, name: StatisticsTable): readonly (readonly string[])[] => {
  if (name === 'timeseries') {
    const rows = stats.timeseries ?? [];
    return [['start', 'clicks'], ...rows.map(({ start, clicks }) => [start, String(clicks)])];
  }
  const head = ['value', 'clicks'];
  if (name === 'links') {
    const links = 'links' in stats ? (stats.links ?? []) : [];
    return [
      head,
      ...links.map(({ domain = null, shortCode: code, clicks }) => [
        ...[subjectOf({ domain, code }), String(clicks)],
      ]),
    ];
  }
  const rows = stats[name] ?? [];
  return [head, ...rows.map(({ value, clicks }) => [value ?? '', String(clicks)])];
};

export const csvOf = (stats: Stats, name: StatisticsTable): Reply => ({
  type: 'raw',
  status: 200,
  contentType: 'text/csv; charset=utf-8',
  body: rowsOf(stats, name)
    .map((row) => csvRow(row))
    .join(''),
});
