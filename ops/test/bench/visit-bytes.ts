import { randomBytes } from 'node:crypto';
import { startCompactor } from '../../../projectors/log/compaction/compactor.js';
import { startSealing } from '../../../projectors/log/seals/sealing.js';
import { newEvent, writeEvent } from '../../../schemas/events/codec.js';
import { spoolSource } from '../../../schemas/events/envelope.js';
import { topics } from '../../../schemas/events/topics.js';
import { browserFamilies, deviceTypes, osFamilies } from '../../../schemas/events/visitor.js';
import type { NewRecord } from '../../event-log/port.js';
import { createLogger } from '../../platform/logging.js';
import { endShared } from '../support/at-end.js';
import { testDatabase, type TestDatabase } from '../support/database.js';
import { openTestLog } from '../support/node.js';
import { allSealed, newSealKey } from '../support/sealing.js';
import { markdownTable } from '../support/table.js';
import { eventually } from '../support/waiting.js';

/**
 * Bytes of a visit on disk in the embedded log and its seals, with indexes, right after the append and
 * a day later: `node dist/ops/test/bench/visit-bytes.js [VISITS [RATE …]]`, for each rate in visits a second.
 *
 * Time is compressed. Visits of 100,000 links are appended in shipments of a tenth of a second. After each
 * thousand visits, or the visits of each minute, the log is sealed, compacted and vacuumed, as in production.
 */
const [most = 200_000, ...chosenRates] = process.argv.slice(2).map(Number);
const rates = chosenRates.length > 0 ? chosenRates : [1, 12, 5_000];
const secondsOfDay = 86_400;

const logger = createLogger('silent');
const tables = ['log.records', 'log.segments', 'seals.checkpoints', 'seals.chains'];

const codes = Array.from({ length: 100_000 }, () => randomBytes(6).toString('base64url'));
const source = spoolSource(randomBytes(8).toString('hex'));
/** Half of the draws are the first value, a quarter the second, and so on. */
const skewed = <Value>(values: readonly Value[]): Value | null =>
  values[Math.floor(-Math.log2(Math.random()))] ?? null;

const countries = ['US', 'DE', 'IN', 'BR', 'FR', 'GB', 'JP', 'NL', 'PL', 'ES'];
const referrers = [null, 'google.com', 't.co', 'facebook.com', 'news.ycombinator.com', 'bing.com'];

const visit = (sequence: number, rate: number): NewRecord => {
  const key = codes[Math.floor(Math.random() * codes.length)] ?? '';
  const data = {
    click: null,
    bot: Math.random() < 0.1,
    country: skewed(countries),
    referrer: skewed(referrers),
    browser: skewed(browserFamilies),
    os: skewed(osFamilies),
    device: skewed(deviceTypes),
    language: skewed(['en', 'de', 'hi', 'pt', 'fr', 'ja', 'nl', 'pl', 'es']),
    visitor: randomBytes(12).toString('base64url'),
    trigger: Math.random() < 0.1 ? 'qr' : 'link',
    target: null,
    code: null,
    campaign: null,
    version: 1,
  } as const;
  const time = new Date(Date.UTC(2026, 10, 22) + (sequence / rate) * 1_000);
  const metadata = { id: String(sequence), subject: key, sequence, time, source };
  return {
    key,
    value: writeEvent(newEvent('LinkVisited', data, { ...metadata, account: 'default' })),
  };
};

const vacuum = async ({ pool }: TestDatabase): Promise<void> => {
  await pool.query(`VACUUM ${tables.join(', ')}, log.partitions`);
};

const readSizes = async ({ pool }: TestDatabase): Promise<number[]> => {
  const { rows } = await pool.query<{ bytes: number }>(
    `SELECT pg_total_relation_size(name::regclass) AS bytes
     FROM unnest($1::text[]) WITH ORDINALITY AS t (name, position) ORDER BY position`,
    [tables],
  );
  return rows.map(({ bytes }) => bytes);
};

/** Bytes of each table for a visit. */
const measureBytes = async (
  rate: number,
  visits: number,
  compacted: boolean,
): Promise<number[]> => {
  const database = await testDatabase('visit_bytes');
  const { pool, url } = database;
  const { log } = await openTestLog({ pool, url, logger });
  const signer = await newSealKey(pool);
  const empty = await readSizes(database);
  const deps = { pool, log, signer, logger };
  const sealing = await startSealing({ ...deps, pace: { records: 1_000, ms: 20 } });
  const pace = { everyMs: 20, minRecords: 50, keepMs: 0 };
  const compactor = compacted ? startCompactor({ ...deps, pace }) : null;
  const shipment = Math.max(1, Math.round(rate / 10));
  const pause = Math.max(1_000, rate * 60);
  for (let sent = 0; sent < visits;) {
    const records = Array.from({ length: shipment }, (_, index) => visit(sent + index + 1, rate));
    await log.append(topics.visits.name, records);
    sent += shipment;
    if (sent % pause < shipment || sent >= visits) {
      await allSealed(pool, log);
      const mostWaiting = topics.visits.partitions * pace.minRecords;
      const isCompact = (): boolean => (compactor?.progress()?.waiting ?? 0) < mostWaiting;
      if (compactor) await eventually('the log is compacted', isCompact, 600_000);
      await vacuum(database);
    }
  }
  const grown = (await readSizes(database)).map(
    (bytes, index) => (bytes - (empty[index] ?? 0)) / visits,
  );
  await compactor?.stop();
  await sealing.stop();
  await log.close();
  await database.drop();
  return grown;
};

const formatSum = (bytes: readonly number[]): string =>
  bytes.reduce((sum, table) => sum + table, 0).toFixed(1);

const rows = [];
for (const rate of rates) {
  const visits = Math.min(most, rate * secondsOfDay);
  const appended = await measureBytes(rate, Math.min(visits, 20_000), false);
  const later = await measureBytes(rate, visits, true);
  const byTable = later.map((bytes) => bytes.toFixed(1));
  rows.push([rate, visits, formatSum(appended), formatSum(later), ...byTable]);
}
const header = ['Visits a second', 'Visits', 'When appended', 'A day later'];
process.stdout.write(markdownTable([...header, ...tables.map((name) => `\`${name}\``)], rows));
await endShared();
