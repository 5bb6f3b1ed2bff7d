/**
 * Bytes that a visit takes in a broker's segments, shipped from a spool as an edge does it, at several rates:
 *
 *     node dist/ops/test/bench/kafka-bytes.js [SECONDS]
 */
import path from 'node:path';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { shipFromWorker } from '../../../redirect-edge/shipping/shipping.js';
import type { NewVisit } from '../../../redirect-edge/spool/record.js';
import { openSpool } from '../../../redirect-edge/spool/spool.js';
import { append } from '../../../redirect-edge/spool/testing/harness.js';
import { topics } from '../../../schemas/events/topics.js';
import { openKafkaLog } from '../../event-log/kafka/kafka-log.js';
import type { KafkaSettings } from '../../event-log/kafka/settings.js';
import { createLogger } from '../../platform/logging.js';
import { settingsOf } from '../conformance/event-log/kafka-harness.js';
import { stopTestKafka, testKafka } from '../support/kafka.js';
import { temporaryDir } from '../support/process.js';
import { eventually } from '../support/waiting.js';
import { randomVisit } from './random-visits.js';

const seconds = Number(process.argv[2] ?? 20);
const tickMs = 10;
const logger = createLogger('warn');

interface Run {
  readonly perSecond: number;
  readonly compression: KafkaSettings['compression'];
  /** Whether all come with the same browser, from the same country and page, as load tools do. */
  readonly alike: boolean;
}

const visitsOf = ({ alike }: Run): (() => NewVisit) => {
  const { data } = randomVisit();
  if (!alike) return randomVisit;
  return () => {
    const visit = randomVisit();
    return { ...visit, data: { ...data, visitor: visit.data.visitor } };
  };
};

const bytesOfVisit = async (run: Run): Promise<number> => {
  const { perSecond, compression } = run;
  const nextVisit = visitsOf(run);
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
  let made = 0;
  while (made < perSecond * seconds) {
    const due = Math.floor(((performance.now() - startedAt) / 1_000) * perSecond) - made;
    await Promise.all(Array.from({ length: due }, () => append(spool, nextVisit())));
    made += due;
    await sleep(tickMs);
  }
  await eventually('all visits are shipped', () => spool.depth().events === 0);
  const bytes = await kafka.bytesOf(topics.visits.name);
  await spool.stop();
  await log.close();
  await rm(dataDir, { recursive: true });
  return bytes / made;
};

const runs: readonly Run[] = [
  { perSecond: 12, compression: 'gzip', alike: false },
  { perSecond: 1_000, compression: 'gzip', alike: false },
  { perSecond: 1_000, compression: 'gzip', alike: true },
  { perSecond: 5_000, compression: 'gzip', alike: false },
  { perSecond: 5_000, compression: 'gzip', alike: true },
  { perSecond: 1_000, compression: 'none', alike: false },
];
process.stdout.write('| Visits a second | Visitors | Compression | Bytes a visit |\n');
process.stdout.write('| ---: | --- | --- | ---: |\n');
for (const run of runs) {
  const bytes = await bytesOfVisit(run);
  const visitors = run.alike ? 'alike' : 'as in life';
  process.stdout.write(
    `| ${run.perSecond} | ${visitors} | ${run.compression} | ${bytes.toFixed(1)} |\n`,
  );
}
await stopTestKafka();
