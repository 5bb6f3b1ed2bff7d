/**
 * Large statistics: bytes, visits folded a second, and response times. The projection folds the visits into the
 * tables in batches, without a log:
 *
 *     node dist/ops/test/bench/statistics-size.js [VISITS] [LINKS] [LINKS_OF_ACCOUNT]
 *
 * VISITS (default: 100 million) of one link over a year; LINKS (10 million) with one visit each, 100,000 for each
 * account; and an account with LINKS_OF_ACCOUNT (100,000), of which 6,633 are visited on each of the last 30 days
 * (199,000 link-days), and 500 on each earlier day of the year.
 */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { visitOf, type Visit } from '../../../projectors/statistics/link-statistics.js';
import { stats } from '../../../projectors/statistics/projection.js';
import { groupBy } from '../../platform/collections.js';
import { topics } from '../../../schemas/events/topics.js';
import { spooledVisit } from '../../../schemas/testing/events.js';
import { partitionOf } from '../../event-log/partition.js';
import { planByKey, transaction } from '../../platform/postgres/pool.js';
import { sendRequest } from '../support/http.js';
import { openProductPool } from '../support/ledger-events.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { startProduct } from '../support/product.js';
import { markdownTable } from '../support/table.js';
import { createLinks } from '../support/create-links.js';
import { randomFields } from './random-visits.js';
import { printGrowth, readTableSizes, type TableSizes } from './table-sizes.js';

const [visits = 100_000_000, singleVisitLinks = 10_000_000, linksOfAccount = 100_000] = process.argv
  .slice(2)
  .map(Number);
const batch = 10_000;
const days = 365;
const dayMs = 86_400_000;
/** Visited links of the account on a day. */
const linksOn = (day: number): number => Math.min(day < days - 30 ? 500 : 6_633, linksOfAccount);
const requests = 300;
const warmUps = 30;
/** Links that are created over HTTP: the most clicked links of the account. */
const topLinks = 50;

const begin = Math.floor(Date.now() / dayMs) * dayMs - days * dayMs;
const minutes = (since: number): string => ((performance.now() - since) / 60_000).toFixed(1);

/** Some visitors return on the same day: half of 270,000 visits of a link a day have a new visitor. */
const visitors = Array.from({ length: 200_000 }, () => randomBytes(12).toString('base64url'));
const { data, ...template } = spooledVisit('template');

/** A visit of the link, `after` milliseconds from the start of the year. */
const visitAfter = (code: string, account: string, after: number): Visit =>
  visitOf({
    ...template,
    subject: code,
    account,
    time: new Date(begin + after).toISOString(),
    data: { ...data, ...randomFields(visitors[Math.floor(Math.random() * visitors.length)] ?? '') },
  });

const dir = await temporaryDir();
const product = await startProduct({ env: { PLANS_FILE: await generousPlansFile(dir) } }, false);
const pool = await openProductPool(product.dataDir);

/** Folds visits as the projection folds a batch of the log. */
const fold = async (partition: number, batch: readonly Visit[]): Promise<void> => {
  await transaction(pool, async (tx) => {
    await tx.query(`SET LOCAL synchronous_commit = off; ${planByKey('LOCAL')}`);
    await stats.apply(tx, 'projection_stats', batch, partition);
  });
};

const readSizes = async (): Promise<TableSizes> =>
  new Map(
    [...(await readTableSizes(pool))].filter(([table]) => table.startsWith('projection_stats.')),
  );

/** Folds visits in batches, and prints the growth of the tables divided by `count`. */
const grow = async (
  what: string,
  count: number,
  generate: () => Iterable<readonly [partition: number, batch: readonly Visit[]]>,
): Promise<void> => {
  if (count === 0) return;
  const before = await readSizes();
  const startedAt = performance.now();
  let folded = 0;
  let reported = 0;
  for (const [partition, batch] of generate()) {
    await fold(partition, batch);
    folded += batch.length;
    if (folded - reported < 1_000_000) continue;
    reported = folded;
    process.stderr.write(`${folded} visits, ${minutes(startedAt)} min\n`);
  }
  const perSecond = Math.round((folded / (performance.now() - startedAt)) * 1_000);
  await pool.query('VACUUM ANALYZE');
  process.stdout.write(`\n${what}: ${folded} visits, ${perSecond} a second\n`);
  printGrowth(what, before, await readSizes(), count);
};

/** Path, bytes of the response, and response times in milliseconds. */
const measure = async (key: string, path: string): Promise<readonly (string | number)[]> => {
  const headers = { Authorization: `Bearer ${key}` };
  const times: number[] = [];
  let bytes = 0;
  for (let request = -warmUps; request < requests; request += 1) {
    const sentAt = performance.now();
    const { status, text } = await sendRequest(`${product.api}${path}`, { headers });
    if (status !== 200) throw new Error(text);
    bytes = text.length;
    if (request >= 0) times.push(performance.now() - sentAt);
  }
  times.sort((a, b) => a - b);
  const cells = [0.5, 0.99, 0.999999].map((share) => times[Math.floor(requests * share)]);
  return [`\`${path}\``, bytes, ...cells.map((ms = NaN) => ms.toFixed(1))];
};

try {
  const single = await product.createKey({ plan: 'PRO', account: 'one' });
  const busy = await product.createKey({ plan: 'PRO', account: 'busy' });
  const [code = ''] = await createLinks(
    product.api,
    single.key,
    topLinks,
    () => 'https://example.com/',
  );
  const top = await createLinks(product.api, busy.key, topLinks, (n) => `https://example.com/${n}`);

  await grow('one link, a day', visits === 0 ? 0 : days, function* () {
    for (let from = 0; from < visits; from += batch) {
      const visitsOfBatch = Array.from({ length: Math.min(batch, visits - from) }, (_, index) =>
        visitAfter(code, 'one', ((from + index) / visits) * days * dayMs),
      );
      yield [0, visitsOfBatch] as const;
    }
  });

  await grow('links of one visit', singleVisitLinks, function* () {
    for (let from = 0; from < singleVisitLinks; from += batch) {
      const visitsOfBatch = Array.from(
        { length: Math.min(batch, singleVisitLinks - from) },
        (_, index) => {
          const link = from + index;
          const account = `account-${Math.floor(link / 100_000)}`;
          return visitAfter(
            link.toString(36).padStart(8, '0'),
            account,
            (link / singleVisitLinks) * days * dayMs,
          );
        },
      );
      yield [Math.floor(from / batch) % topics.visits.partitions, visitsOfBatch] as const;
    }
  });

  const busyCodes = [
    ...top,
    ...Array.from({ length: linksOfAccount - topLinks }, (_, n) => `busy-${n}`),
  ];
  const visitsOfDays = Array.from({ length: days }, (_, day) => linksOn(day));
  const linkDays = visitsOfDays.reduce((sum, count) => sum + count, 0);
  await grow('links of an account, a link and day', linkDays, function* () {
    let others = 0;
    for (const [day, count] of visitsOfDays.entries()) {
      const visitsOfDay = Array.from({ length: count }, (_, index) => {
        // The most clicked links each day, and the others round-robin.
        const link = index < topLinks ? index : topLinks + (others++ % (linksOfAccount - topLinks));
        return visitAfter(busyCodes[link] ?? '', 'busy', (day + index / count) * dayMs);
      });
      yield* groupBy(visitsOfDay, (visit) => partitionOf(visit.subject, topics.visits.partitions));
    }
  });

  const year = `from=${new Date(begin).toISOString().slice(0, 10)}`;
  const rows = [];
  for (const tz of ['UTC', 'Asia/Kathmandu']) {
    rows.push(await measure(single.key, `/v2/stats/${code}?include=all&${year}&tz=${tz}`));
    rows.push(await measure(busy.key, `/v2/stats?include=all&${year}&tz=${tz}`));
  }
  rows.push(await measure(busy.key, `/v2/stats?include=all,links`));
  // More links than the table of the most clicked ones has.
  rows.push(await measure(busy.key, `/v2/stats?include=all,links&limit=200`));
  const header = ['Response', 'Bytes', 'p50, ms', 'p99', 'longest'];
  process.stdout.write(`\n${markdownTable(header, rows)}`);
} finally {
  await pool.end();
  await product.stop();
  await product.cleanup();
  await rm(dir, { recursive: true, force: true });
}
