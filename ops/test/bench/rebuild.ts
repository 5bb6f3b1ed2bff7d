import { fileURLToPath } from 'node:url';
import { projections } from '../../../projectors/projections.js';
import { rebuild } from '../../../projectors/runtime/rebuild.js';
import { openKafkaLog } from '../../event-log/kafka/kafka-log.js';
import { settingsOf } from '../conformance/event-log/kafka-harness.js';
import { createLogger } from '../../platform/logging.js';
import { stopTestServer, testDatabase } from '../support/database.js';
import { stopTestKafka, testKafka } from '../support/kafka.js';
import { fillLog } from './long-log.js';

const defaultLinks = 10_000;
const defaultVisits = 1_000_000;
const logger = createLogger('warn');

/** `node dist/ops/test/bench/rebuild.js [LINKS] [VISITS]`: each projection, from a log on Kafka. */
const run = async (links: number, visits: number): Promise<void> => {
  const kafka = await testKafka('rebuild');
  const database = await testDatabase('rebuild');
  const log = openKafkaLog({ settings: settingsOf(kafka), logger });
  await log.ready;
  const { pool } = database;
  const filling = performance.now();
  await fillLog(log, links, visits);
  const seconds = (since: number): number => Math.round((performance.now() - since) / 10) / 100;
  const table = [{ what: 'fill', events: links + visits, seconds: seconds(filling) }];
  for (const projection of projections) {
    const begun = performance.now();
    const { applied } = await rebuild({ pool, log, logger, projection });
    table.push({ what: projection.name, events: applied, seconds: seconds(begun) });
  }
  console.table(table.map((row) => ({ ...row, perSecond: Math.round(row.events / row.seconds) })));
  await log.close();
  await kafka.drop();
  await database.drop();
  await stopTestKafka();
  await stopTestServer();
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await run(Number(process.argv[2] ?? defaultLinks), Number(process.argv[3] ?? defaultVisits));
}
