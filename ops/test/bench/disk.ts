import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import { defaultPlanTable } from '../../../schemas/plans.js';
import { topicNames, topics } from '../../../schemas/events/topics.js';
import { startKafka } from '../../local/kafka/index.js';
import { openKafkaLog } from '../../event-log/kafka/kafka-log.js';
import { createLogger } from '../../platform/logging.js';
import { stopTestServer, testDatabase, type TestDatabase } from '../support/database.js';
import { ask } from '../support/http.js';
import { bytesOfTopic } from '../support/kafka.js';
import { openTestLog } from '../support/node.js';
import { temporaryDir } from '../support/process.js';
import { startEmbeddedProduct, type Product } from '../support/product.js';
import { allSealed } from '../support/sealing.js';
import { eventually } from '../support/waiting.js';
import { projectionStatus } from '../../../projectors/main.js';
import { makeLinks } from './make-links.js';
import { printGrowth, tableSizes, type TableSizes } from './table-sizes.js';

/**
 * What a link and a visit cost on disk, by table: `node dist/ops/test/bench/disk.js [LINKS] [VISITS]`. The
 * product runs on its own log in PostgreSQL; tables are vacuumed, indexes are included. Then the same
 * records are appended to a Kafka, visits in batches as a million visits a day come.
 */
const [links = 20_000, visits = 100_000] = process.argv.slice(2).map(Number);

const linksOfBatch = 50;
/** Of all partitions, in a tenth of a second: a shipment of the spool. */
const visitsOfShipment = 12;
const logger = createLogger('silent');

/** What the tables take without what vacuum would free. */
const sizesOf = async ({ pool }: TestDatabase): Promise<TableSizes> => {
  await pool.query('VACUUM');
  return tableSizes(pool);
};

/** Waits until all that was acknowledged is in every table. */
const settled = async ({ pool, url }: TestDatabase): Promise<void> => {
  const { log } = await openTestLog({ pool, url, logger });
  await eventually(
    'the projections are caught up',
    async () => (await projectionStatus(pool, log)).every(({ lag }) => lag === 0),
    600_000,
  );
  await allSealed(pool, log);
  await log.close();
};

const visit = async ({ edge }: Product, codes: readonly string[]): Promise<void> => {
  const atOnce = pLimit(64);
  const all = Array.from({ length: visits }, (_, index) =>
    atOnce(async () => {
      const { status } = await ask(`${edge}/${codes[index % codes.length] ?? ''}`);
      if (status !== 302) throw new Error(`A visit got ${status}`);
    }),
  );
  await Promise.all(all);
};

const onKafka = async ({ pool, url }: TestDatabase): Promise<void> => {
  const dataDir = await temporaryDir();
  const server = await startKafka({ dataDir, logger, tied: true, brief: true });
  const settings = {
    ...{ brokers: [server.brokers], ssl: false as const, sasl: null, prefix: '' },
    ...{ replicas: null, minInsyncReplicas: null, compression: 'gzip' as const },
  };
  const kafka = openKafkaLog({ settings, logger });
  const { log } = await openTestLog({ pool, url, logger });
  await kafka.ready;
  process.stdout.write('\n| Bytes of a record on Kafka | |\n| --- | --- |\n');
  for (const topic of topicNames.filter(
    (name) => name === topics.links.name || name === topics.visits.name,
  )) {
    const size = topic === topics.visits.name ? visitsOfShipment : linksOfBatch;
    const records = [];
    for (const { partition, next } of await log.ranges(topic)) {
      for await (const batch of log.read(topic, partition, 0, next)) records.push(...batch.records);
    }
    // Those of a batch are of all partitions, as they came.
    records.sort((a, b) => a.offset - b.offset);
    const taken = records.slice(0, 20_000);
    for (let from = 0; from < taken.length; from += size) {
      await kafka.append(topic, taken.slice(from, from + size));
    }
    const bytes = await bytesOfTopic(dataDir, topic);
    process.stdout.write(`| ${topic} | ${Math.round(bytes / taken.length)} |\n`);
  }
  await log.close();
  await kafka.close();
  await server.stop();
  await rm(dataDir, { recursive: true });
};

const database = await testDatabase('disk');
const plansFile = path.join(await temporaryDir(), 'plans.json');
const unlimited = {
  requestsPerMinute: 10_000_000,
  monthlyCalls: null,
  monthlyLinks: null,
  monthlyQrCodes: null,
};
await writeFile(
  plansFile,
  JSON.stringify({ ...defaultPlanTable, plans: { ...defaultPlanTable.plans, PRO: unlimited } }),
);
const product = await startEmbeddedProduct({
  env: { DATABASE_URL: database.url, PLANS_FILE: plansFile },
});
try {
  const { key } = await product.createKey({ plan: 'PRO' });
  await settled(database);
  const empty = await sizesOf(database);
  const codes = await makeLinks(
    product.api,
    key,
    links,
    (index) => `https://example.com/some/where/${index}?utm_source=newsletter&utm_campaign=spring`,
  );
  await settled(database);
  const withLinks = await sizesOf(database);
  printGrowth('a link', empty, withLinks, links);
  await visit(product, codes);
  await settled(database);
  printGrowth('a visit', withLinks, await sizesOf(database), visits);
} finally {
  await product.stop();
  await product.cleanup();
}
await onKafka(database);
await database.drop();
await stopTestServer();
