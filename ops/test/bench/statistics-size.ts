/**
 * What statistics take when they grow: bytes, the rate of their fold, and the times of answers. The visits are
 * folded into the tables by the projection itself, batch by batch; no log has them:
 *
 *     node dist/ops/test/bench/statistics-size.js [VISITS] [LINKS] [LINKS_OF_ACCOUNT]
 *
 * VISITS (by default 100 million) of one link over a year; so many LINKS (10 million) of one visit each, 100,000 to
 * an account; and an account of LINKS_OF_ACCOUNT (100,000), of which 6,633 are visited on each of the last 30 days,
 * which makes 199,000 link-days, and 500 on each day of the year before.
 */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { visitOf, type Visit } from '../../../projectors/statistics/link-statistics.js';
import { stats } from '../../../projectors/statistics/projection.js';
import { groupBy } from '../../platform/group-by.js';
import { topics } from '../../../schemas/events/topics.js';
import { spooledVisit } from '../../../schemas/testing/events.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { createLogger } from '../../platform/logging.js';
import { partitionOf } from '../../event-log/partition.js';
import { createPool, planByKey, transaction } from '../../platform/postgres/pool.js';
import { sendRequest } from '../support/http.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { startProduct } from '../support/product.js';
import { createLinks } from '../support/create-links.js';
import { randomFacts } from './random-visits.js';
import { printGrowth, tableSizes, type TableSizes } from './table-sizes.js';

const [visits = 100_000_000, coldLinks = 10_000_000, linksOfAccount = 100_000] = process.argv
  .slice(2)
  .map(Number);
const batch = 10_000;
const days = 365;
const dayMs = 86_400_000;
/** Links of the account that are visited on a day. */
const linksOn = (day: number): number => Math.min(day < days - 30 ? 500 : 6_633, linksOfAccount);
const asks = 300;
const warmUps = 30;
/** Those made over HTTP: the most clicked ones of the account. */
const made = 50;

const begin = Math.floor(Date.now() / dayMs) * dayMs - days * dayMs;
const minutes = (since: number): string => ((performance.now() - since) / 60_000).toFixed(1);

/** Some of them come again on a day: of 270,000 visits of a link a day, half are of new visitors. */
const visitors = Array.from({ length: 200_000 }, () => randomBytes(12).toString('base64url'));
const { data, ...template } = spooledVisit('template');

/** A visit of the link at a moment after the beginning, in milliseconds. */
const visitAfter = (code: string, account: string, after: number): Visit =>
  visitOf({
    ...template,
    subject: code,
    account,
    time: new Date(begin + after).toISOString(),
    data: { ...data, ...randomFacts(visitors[Math.floor(Math.random() * visitors.length)] ?? '') },
  });

const dir = await temporaryDir();
const product = await startProduct({ env: { PLANS_FILE: await generousPlansFile(dir) } }, false);
const url = await runningPostgresUrl(product.dataDir);
if (url === null) throw new Error('The embedded PostgreSQL does not run');
const pool = createPool({
  ...{ url, name: 'bench', max: 4, deadlines: 'patient' as const },
  logger: createLogger('warn'),
});

/** As a batch of the log is applied. */
const fold = async (partition: number, some: readonly Visit[]): Promise<void> => {
  await transaction(pool, async (tx) => {
    await tx.query(`SET LOCAL synchronous_commit = off; ${planByKey('LOCAL')}`);
    await stats.apply(tx, 'projection_stats', some, partition);
  });
};

const sizes = async (): Promise<TableSizes> =>
  new Map([...(await tableSizes(pool))].filter(([table]) => table.startsWith('projection_stats.')));

/** Folds visits in batches, measures what the tables grew by, and prints it for one of `count`. */
const grow = async (
  what: string,
  count: number,
  generate: () => Iterable<readonly [partition: number, some: readonly Visit[]]>,
): Promise<void> => {
  if (count === 0) return;
  const before = await sizes();
  const startedAt = performance.now();
  let folded = 0;
  let told = 0;
  for (const [partition, some] of generate()) {
    await fold(partition, some);
    folded += some.length;
    if (folded - told < 1_000_000) continue;
    told = folded;
    process.stderr.write(`${folded} visits, ${minutes(startedAt)} min\n`);
  }
  const perSecond = Math.round((folded / (performance.now() - startedAt)) * 1_000);
  await pool.query('VACUUM ANALYZE');
  process.stdout.write(`\n${what}: ${folded} visits, ${perSecond} a second\n`);
  printGrowth(what, before, await sizes(), count);
};

/** Asks again and again; prints the times in milliseconds. */
const measure = async (key: string, path: string): Promise<void> => {
  const headers = { Authorization: `Bearer ${key}` };
  const times: number[] = [];
  let bytes = 0;
  for (let asked = -warmUps; asked < asks; asked += 1) {
    const askedAt = performance.now();
    const { status, text } = await sendRequest(`${product.api}${path}`, { headers });
    if (status !== 200) throw new Error(text);
    bytes = text.length;
    if (asked >= 0) times.push(performance.now() - askedAt);
  }
  times.sort((a, b) => a - b);
  const cells = [0.5, 0.99, 0.999999].map((share) => times[Math.floor(asks * share)]?.toFixed(1));
  process.stdout.write(`| \`${path}\` | ${bytes} | ${cells.join(' | ')} |\n`);
};

try {
  const one = await product.createKey({ plan: 'PRO', account: 'one' });
  const busy = await product.createKey({ plan: 'PRO', account: 'busy' });
  const [code = ''] = await createLinks(product.api, one.key, made, () => 'https://example.com/');
  const top = await createLinks(product.api, busy.key, made, (n) => `https://example.com/${n}`);

  await grow('one link, a day', visits === 0 ? 0 : days, function* () {
    for (let from = 0; from < visits; from += batch) {
      const some = Array.from({ length: Math.min(batch, visits - from) }, (_, index) =>
        visitAfter(code, 'one', ((from + index) / visits) * days * dayMs),
      );
      yield [0, some] as const;
    }
  });

  await grow('links of one visit', coldLinks, function* () {
    for (let from = 0; from < coldLinks; from += batch) {
      const some = Array.from({ length: Math.min(batch, coldLinks - from) }, (_, index) => {
        const link = from + index;
        const account = `account-${Math.floor(link / 100_000)}`;
        return visitAfter(
          link.toString(36).padStart(8, '0'),
          account,
          (link / coldLinks) * days * dayMs,
        );
      });
      yield [Math.floor(from / batch) % topics.visits.partitions, some] as const;
    }
  });

  const busyCodes = [
    ...top,
    ...Array.from({ length: linksOfAccount - made }, (_, n) => `busy-${n}`),
  ];
  const visitsOfDays = Array.from({ length: days }, (_, day) => linksOn(day));
  const linkDays = visitsOfDays.reduce((sum, each) => sum + each, 0);
  await grow('links of an account, a link and day', linkDays, function* () {
    let others = 0;
    for (const [day, count] of visitsOfDays.entries()) {
      const some = Array.from({ length: count }, (_, index) => {
        // The same ones each day, which are the most clicked, and the others in turn.
        const link = index < made ? index : made + (others++ % (linksOfAccount - made));
        return visitAfter(busyCodes[link] ?? '', 'busy', (day + index / count) * dayMs);
      });
      yield* groupBy(some, (visit) => partitionOf(visit.code, topics.visits.partitions));
    }
  });

  process.stdout.write('\n| Answer | Bytes | p50, ms | p99 | longest |\n|');
  process.stdout.write(' --- | ---: | ---: | ---: | ---: |\n');
  const year = `from=${new Date(begin).toISOString().slice(0, 10)}`;
  for (const tz of ['UTC', 'Asia/Kathmandu']) {
    await measure(one.key, `/v2/stats/${code}?include=all&${year}&tz=${tz}`);
    await measure(busy.key, `/v2/stats?include=all&${year}&tz=${tz}`);
  }
  await measure(busy.key, `/v2/stats?include=all,links`);
  // Those that have most clicks of all time cannot tell so many.
  await measure(busy.key, `/v2/stats?include=all,links&limit=200`);
} finally {
  await pool.end();
  await product.stop();
  await product.cleanup();
  await rm(dir, { recursive: true, force: true });
}
