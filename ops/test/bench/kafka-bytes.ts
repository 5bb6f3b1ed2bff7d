/**
 * Bytes of a visit in the segments of a broker, shipped from a spool, at several rates:
 *
 *     node dist/ops/test/bench/kafka-bytes.js [SECONDS]
 */
import path from 'node:path';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { shipFromWorker } from '../../../redirect-edge/shipping/shipping.js';
import type { NewVisit } from '../../../schemas/events/spooled-visit.js';
import { openSpool } from '../../../redirect-edge/spool/spool.js';
import { append } from '../../../redirect-edge/spool/testing/harness.js';
import { topics } from '../../../schemas/events/topics.js';
import { openKafkaLog } from '../../event-log/kafka/kafka-log.js';
import type { KafkaSettings } from '../../event-log/kafka/settings.js';
import { createLogger } from '../../platform/logging.js';
import { settingsOf } from '../conformance/event-log/kafka-harness.js';
import { endShared } from '../support/at-end.js';
import { testKafka } from '../support/kafka.js';
import { temporaryDir } from '../support/process.js';
import { markdownTable } from '../support/table.js';
import { eventually } from '../support/waiting.js';
import { randomVisit } from './random-visits.js';

const seconds = Number(process.argv[2] ?? 20);
const tickMs = 10;
const logger = createLogger('warn');

interface Run {
  readonly perSecond: number;
  readonly compression: KafkaSettings['compression'];
  /** Whether all visitors have the same browser, country and referrer, like those of a load tool. */
  readonly alike: boolean;
}

const visitSource = ({ alike }: Run): (() => NewVisit) => {
  const first = randomVisit();
  if (!alike) return randomVisit;
  return () => {
    const visit = randomVisit();
    return { ...visit, data: { ...first.data, visitor: visit.data.visitor } };
  };
};

const measureBytes = async (run: Run): Promise<number> => {
  const { perSecond, compression } = run;
  const nextVisit = visitSource(run);
  const kafka = await testKafka('bytes');
  const settings = { ...settingsOf(kafka), compression };
  const log = openKafkaLog({ settings, logger });
  await log.ready;
  const dataDir = await temporaryDir();
  const spool = await openSpool({
    root: path.join(dataDir, 'spool'),
    maxBytes: 1_024 ** 3,
    fsync: false,
    shipping: shipFromWorker({
      address: { kafka: settings, databaseUrl: '' },
      untilAvailable: () => log.ready,
      logger,
    }),
    logger,
  });
  const startedAt = performance.now();
  let sent = 0;
  while (sent < perSecond * seconds) {
    const due = Math.floor(((performance.now() - startedAt) / 1_000) * perSecond) - sent;
    await Promise.all(Array.from({ length: due }, () => append(spool, nextVisit())));
    sent += due;
    await sleep(tickMs);
  }
  await eventually('all visits are shipped', () => spool.depth().events === 0);
  const bytes = await kafka.bytesOf(topics.visits.name);
  await spool.stop();
  await log.close();
  await rm(dataDir, { recursive: true });
  return bytes / sent;
};

const runs: readonly Run[] = [
  { perSecond: 12, compression: 'gzip', alike: false },
  { perSecond: 1_000, compression: 'gzip', alike: false },
  { perSecond: 1_000, compression: 'gzip', alike: true },
  { perSecond: 5_000, compression: 'gzip', alike: false },
  { perSecond: 5_000, compression: 'gzip', alike: true },
  { perSecond: 1_000, compression: 'none', alike: false },
];
const rows = [];
for (const run of runs) {
  const visitors = run.alike ? 'alike' : 'different';
  const bytes = (await measureBytes(run)).toFixed(1);
  rows.push([run.perSecond, visitors, run.compression, bytes]);
}
const header = ['Visits a second', 'Visitors', 'Compression', 'Bytes a visit'];
process.stdout.write(markdownTable(header, rows));
await endShared();
