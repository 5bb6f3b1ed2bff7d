import type { Context } from 'koa';
import pLimit, { type LimitFunction } from 'p-limit';
import { BoundedMap } from '../../ops/platform/collections.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Feed } from '../../ops/feed/feed.js';
import { messages } from '../../schemas/http/errors.js';
import {
  accountStatsQuery,
  readStatsQuery,
  statsQuery,
  isTable,
  tables,
  type StatisticsRequest,
  type StatisticsTable,
  type StatsResponse,
} from '../../schemas/http/statistics.js';
import { addressedLink } from '../links/addressed-link.js';
import { findAccountStats, sumsLinks } from './account-statistics.js';
import { bounds, sumVisits } from './filtered-visits.js';
import { findLinkStats } from './statistics.js';
import { tableOf, type Stats } from './tables.js';
import type { RequestState } from '../http/app.js';
import { failure, json, unavailable, type Reply, prefers } from '../http/reply.js';
import { queryOf, type Handler, refusedWith, type Read } from '../http/requests.js';
import type { V2State } from '../admission/admitted-call.js';
import { csvRow } from '../../schemas/csv.js';
import { filteredDomain } from '../../schemas/link-subject.js';

const includeMessage = `include must name exactly one of ${tables.join(', ')} for text/csv`;

/** The statistics that the response has as CSV; `null`: the response is JSON. */
const requestedTable = (
  ctx: Context,
  request: StatisticsRequest | null,
): Read<StatisticsTable | null> => {
  if (!prefers(ctx, 'text/csv', 'application/json')) return { type: 'read', value: null };
  const [name, ...others] = request?.include ?? [];
  return name !== undefined && others.length === 0 && isTable(name)
    ? { type: 'read', value: name }
    : refusedWith(failure(400, includeMessage));
};

/** The head and the rows of a table. A value that was not recorded is empty. */
const rowsOf = (stats: Stats, name: StatisticsTable): readonly (readonly string[])[] => {
  if (name === 'timeseries') {
    const rows = stats.timeseries ?? [];
    return [['start', 'clicks'], ...rows.map(({ start, clicks }) => [start, String(clicks)])];
  }
  const { columns, rows } = tableOf(stats, name);
  return [
    [...columns, 'clicks'],
    ...rows.map(({ values, clicks }) => [...values.map((value) => value ?? ''), String(clicks)]),
  ];
};

const csvOf = (stats: Stats, name: StatisticsTable): Reply => ({
  type: 'raw',
  status: 200,
  contentType: 'text/csv; charset=utf-8',
  body: rowsOf(stats, name)
    .map((row) => csvRow(row))
    .join(''),
});

/** `Retry-After` is 30 s: building new tables after an upgrade takes minutes or longer. */
export const incompleteStats = unavailable(messages.statsIncomplete, 30);

interface StatsDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly feed: Pick<Feed, 'visitsOf'>;
}

/** Sums of links or visits that run at a time: each has a connection and up to a fifth of the thread. */
const maxSums = 2;
/** Sums of an account that wait while another one of it runs. */
const maxWaiting = 10;

/** Runs at most one sum of an account at a time. */
export const createSums = (most = maxWaiting) => {
  const limit = pLimit(maxSums);
  const limitsOf = new BoundedMap<string, LimitFunction>(10_000);
  return async <Value>(
    account: string,
    sum: () => Promise<Value>,
  ): Promise<Value | 'tooManySums'> => {
    const own = limitsOf.get(account) ?? pLimit(1);
    if (own.pendingCount >= most) return 'tooManySums';
    limitsOf.set(account, own);
    return own(() => limit(sum));
  };
};

/** Of the API and of operators together. */
const sums = createSums();

/** `Retry-After` is 5 s: most sums take less. */
const tooManySums = unavailable(messages.tooManySums, 5);

/** How long a request waits for a sum of visits (ms), in which other sums may run first. */
const sumMs = 10_000;

/** The statistics of a link whose period has only visits that match. @param counted those with all visits, and bots */
const filteredStats = async (
  feed: StatsDeps['feed'],
  ctx: Context,
  subject: string,
  request: StatisticsRequest,
  counted: { readonly account: string; readonly stats: StatsResponse },
): Promise<Read<StatsResponse>> => {
  const { period, bots = 0 } = counted.stats;
  const visits = (period?.clickCount ?? 0) + bots;
  if (visits > bounds.visits) return refusedWith(failure(400, messages.tooManyVisits));
  const endsAt = performance.now() + sumMs;
  const sum = () => sumVisits(feed, subject, request, visits, endsAt);
  const stats = await (ctx.state as RequestState).uncounted(sums(counted.account, sum));
  if (stats === 'tooManySums') return refusedWith(tooManySums);
  if (stats === 'tooManyRecords') return refusedWith(failure(400, messages.tooManyRecords));
  if (stats === 'late') return refusedWith(unavailable());
  const ofLink = { ...counted.stats };
  delete ofLink.bots;
  // These clicks have no visits.
  delete ofLink.importedClicks;
  return { type: 'read', value: { ...ofLink, ...stats } };
};

/** The response with the statistics of a link. @param account `null`: a link of any account */
export const respondWithLinkStats = async (
  { pool, outbox, feed }: StatsDeps,
  account: string | null,
  now: Date,
  ctx: Context,
  parameter: (name: string) => string,
): Promise<Reply> => {
  // Most requests have no query.
  const query = queryOf(ctx);
  if (query.type === 'refused') return query.reply;
  const request = ctx.querystring === '' ? null : readStatsQuery(statsQuery, query.value, now);
  if (request && 'refused' in request) return failure(400, request.refused);
  const table = requestedTable(ctx, request);
  if (table.type === 'refused') return table.reply;
  const subject = await addressedLink({ pool }, ctx, parameter);
  if (subject.type === 'refused') return subject.reply;
  const isFiltered = request !== null && request.visits.length > 0;
  const found = await findLinkStats(
    ...([pool, outbox, subject.value] as const),
    isFiltered ? { ...request, include: new Set(['bots']) } : request,
  );
  if (found === 'incomplete') return incompleteStats;
  // Links of other accounts get 404 too.
  if (!found || (account !== null && found.account !== account)) {
    return failure(404, messages.codeNotFound);
  }
  const stats = isFiltered
    ? await filteredStats(feed, ctx, subject.value, request, found)
    : { type: 'read' as const, value: found.stats };
  if (stats.type === 'refused') return stats.reply;
  return table.value === null ? json(200, stats.value) : csvOf(stats.value, table.value);
};

/** GET /v2/stats/:shortCode and GET /v2/stats */
export const createStatsHandlers = (
  deps: StatsDeps,
): Readonly<Record<'getStats' | 'getAccountStats', Handler<V2State>>> => ({
  getStats: (ctx, { call }, parameter) =>
    respondWithLinkStats(deps, call.key.account, call.now, ctx, parameter),

  getAccountStats: async (ctx, { call, defaultDomain }) => {
    const query = queryOf(ctx);
    if (query.type === 'refused') return query.reply;
    const request = readStatsQuery(accountStatsQuery, query.value, call.now);
    if ('refused' in request) return failure(400, request.refused);
    const table = requestedTable(ctx, request);
    if (table.type === 'refused') return table.reply;
    const domain = filteredDomain(request.domain, defaultDomain);
    const { account } = call.key;
    const find = () => findAccountStats(deps.pool, deps.outbox, account, { ...request, domain });
    const stats = await (sumsLinks(request) ? sums(account, find) : find());
    if (stats === 'tooManySums') return tooManySums;
    if (stats === 'incomplete') return incompleteStats;
    if (typeof stats === 'string') return failure(400, messages[stats]);
    return table.value === null ? json(200, stats) : csvOf(stats, table.value);
  },
});
