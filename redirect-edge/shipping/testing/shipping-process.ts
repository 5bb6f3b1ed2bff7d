/**
 * An edge reduced to its spool and the worker that ships it to Kafka, as a process of its own, so that
 * a test can kill it. Arguments: the data directory, and the settings of Kafka as JSON. It says its
 * spool's id, and then for ever the number of the last visit that it promised to keep.
 */
import { writeSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as tick } from 'node:timers/promises';
import type { KafkaSettings } from '../../../ops/platform/event-log/kafka/settings.js';
import { createLogger } from '../../../ops/platform/logging.js';
import { openSpool } from '../../spool/spool.js';
import { visit } from '../../spool/testing/harness.js';
import { shipFromWorker } from '../shipping.js';

const [, , dataDir = '', settings = ''] = process.argv;
const logger = createLogger('silent');
const shipping = shipFromWorker({
  kafka: JSON.parse(settings) as KafkaSettings,
  untilAnswering: () => Promise.resolve(),
  logger,
});
const spool = await openSpool({
  root: path.join(dataDir, 'spool'),
  maxBytes: 1024 ** 3,
  fsync: false,
  shipping,
  logger,
});
writeSync(1, `${spool.id}\n`);
for (let last = 0; ; last += 50) {
  await Promise.all(
    Array.from({ length: 50 }, (_, index) => spool.append(visit(last + index + 1))),
  );
  writeSync(1, `${last + 50} ${spool.counters.shipped}\n`);
  await tick();
}
