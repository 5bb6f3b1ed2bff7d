/**
 * An edge reduced to its spool and the worker, as a process that a test can kill. Arguments: the data directory, and the
 * log's address as JSON. It prints the spool's id, and then repeatedly the number of the last acknowledged visit.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '../../../ops/platform/logging.js';
import { openSpool } from '../../spool/spool.js';
import { append, visit } from '../../spool/testing/harness.js';
import { shipFromWorker, type LogAddress } from '../shipping.js';

const [, , dataDir = '', address = ''] = process.argv;
const logger = createLogger('silent');
const shipping = shipFromWorker({
  address: JSON.parse(address) as LogAddress,
  untilAvailable: () => Promise.resolve(),
  logger,
});
const spool = await openSpool({
  root: path.join(dataDir, 'spool'),
  maxBytes: 1024 ** 3,
  fsync: false,
  shipping,
  logger,
});
/** Waits until the test reads the line. */
const print = (line: string): Promise<unknown> =>
  new Promise((resolve) => process.stdout.write(`${line}\n`, resolve));

await print(spool.id);
for (let last = 0; ; last += 50) {
  await Promise.all(
    Array.from({ length: 50 }, (_, index) => append(spool, visit(last + index + 1))),
  );
  await print(`${last + 50} ${spool.counters.shipped}`);
  await sleep(5);
}
