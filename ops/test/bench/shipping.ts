/**
 * What it costs to ship a visit from the spool to a log of its own, as CPU time of the whole process, of its
 * event loop, which the edge needs for redirects, and of its other threads. Linux only.
 *
 *     node dist/ops/test/bench/shipping.js [--log postgres|kafka] [--visits N] [--rounds N]
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import {
  shipFromWorker,
  shipHere,
  type LogAddress,
} from '../../../redirect-edge/shipping/shipping.js';
import type { Shipping } from '../../../redirect-edge/spool/shipper.js';
import { append } from '../../../redirect-edge/spool/testing/harness.js';
import { openSpool } from '../../../redirect-edge/spool/spool.js';
import { topics } from '../../../schemas/events/topics.js';
import { unknownVisitor } from '../../../schemas/testing/visitor.js';
import { openKafkaLog } from '../../event-log/kafka/kafka-log.js';
import type { EventLog } from '../../event-log/port.js';
import { openPostgresAppend } from '../../event-log/postgres-log.js';
import type { KafkaSettings } from '../../event-log/kafka/settings.js';
import { createLogger } from '../../platform/logging.js';
import { startKafka } from '../../local/kafka/index.js';
import { stopTestServer, testDatabase } from '../support/database.js';
import { median } from '../support/median.js';
import { eventually } from '../support/waiting.js';
import { deferred } from '../../platform/concurrency/deferred.js';

const options = parseArgs({
  options: {
    log: { type: 'string', default: 'postgres' },
    visits: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '3' },
  },
}).values;
const count = Number(options.visits);
const rounds = Number(options.rounds);
const codes = 1_000;
const perTick = 100;

const logger = createLogger('warn');

interface Cost {
  /** Microseconds of CPU a visit. */
  readonly all: number;
  readonly eventLoop: number;
  readonly perSecond: number;
}

/** Microseconds that the main thread has been on a CPU. */
const mainThreadCpu = (): number => {
  const [ns] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
  return Number(ns) / 1_000;
};

const processCpu = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** Fills a spool while nothing is shipped, and then looks only at the shipping. */
const costOf = async (dataDir: string, shipping: Shipping): Promise<Cost> => {
  const filled = deferred();
  const spool = await openSpool({
    root: path.join(dataDir, 'spool'),
    maxBytes: 8 * 1_024 ** 3,
    fsync: false,
    logger,
    shipping: {
      paceMs: shipping.paceMs,
      async ship(chunk, spoolId) {
        await filled.promise;
        return shipping.ship(chunk, spoolId);
      },
      // The next round needs it.
      stop: () => Promise.resolve(),
    },
  });
  for (let made = 0; made < count; made += perTick) {
    await Promise.all(
      Array.from({ length: Math.min(perTick, count - made) }, (_, index) =>
        append(spool, {
          code: `code-${String((made + index) % codes).padStart(4, '0')}`,
          at: Date.now(),
          data: unknownVisitor,
          account: 'default',
          requestId: randomUUID(),
        }),
      ),
    );
  }
  const began = { at: performance.now(), all: processCpu(), eventLoop: mainThreadCpu() };
  filled.resolve();
  let left = Infinity;
  while (left > 0) {
    await eventually('some more is shipped', () => spool.depth().events < left);
    left = spool.depth().events;
  }
  const cost = {
    all: (processCpu() - began.all) / count,
    eventLoop: (mainThreadCpu() - began.eventLoop) / count,
    perSecond: (count / (performance.now() - began.at)) * 1_000,
  };
  await spool.stop();
  return cost;
};

const medianOf = (costs: readonly Cost[]): Cost => ({
  all: median(costs.map(({ all }) => all)),
  eventLoop: median(costs.map(({ eventLoop }) => eventLoop)),
  perSecond: median(costs.map(({ perSecond }) => perSecond)),
});

const line = (...cells: readonly string[]): string =>
  `${cells.map((cell, index) => (index === 0 ? cell.padEnd(24) : cell.padStart(16))).join('')}\n`;

interface Log {
  readonly append: EventLog['append'];
  readonly address: LogAddress;
  readonly untilAvailable: () => Promise<unknown>;
  readonly stop: () => Promise<unknown>;
}

const startKafkaLog = async (dataDir: string): Promise<Log> => {
  const kafka = await startKafka({ dataDir, logger, tied: true });
  const settings: KafkaSettings = {
    brokers: [kafka.brokers],
    ssl: false,
    sasl: null,
    prefix: '',
    replicas: null,
    minInsyncReplicas: null,
    compression: 'gzip',
  };
  const log = openKafkaLog({ settings, logger });
  await log.ready;
  return {
    append: (topic, records) => log.append(topic, records),
    address: { kafka: settings, databaseUrl: '' },
    untilAvailable: () => log.ready,
    async stop() {
      await log.close();
      await kafka.stop();
    },
  };
};

const startPostgresLog = async (): Promise<Log> => {
  const database = await testDatabase('shipping');
  const { pool, url } = database;
  return {
    append: await openPostgresAppend(pool),
    address: { kafka: null, databaseUrl: url },
    untilAvailable: () => Promise.resolve(),
    async stop() {
      await database.drop();
      await stopTestServer();
    },
  };
};

const dir = await mkdtemp(path.join(tmpdir(), 'linklog-bench-shipping-'));
try {
  const log =
    options.log === 'kafka'
      ? await startKafkaLog(path.join(dir, 'kafka'))
      : await startPostgresLog();
  const { address, untilAvailable } = log;
  const worker = shipFromWorker({ address, untilAvailable, logger });
  const ways: readonly (readonly [string, Shipping, Cost[]])[] = [
    ['on the event loop', shipHere((records) => log.append(topics.visits.name, records)), []],
    ['from a worker thread', worker, []],
  ];
  // The first round warms up both.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [, shipping, costs] of ways) {
      const cost = await costOf(path.join(dir, 'data'), shipping);
      if (round > 0) costs.push(cost);
    }
  }
  const head = `${count} visits, ${options.log}`;
  process.stdout.write(line(head, 'µs CPU a visit', 'event loop', 'other threads', 'a second'));
  for (const [way, , costs] of ways) {
    const { all, eventLoop, perSecond } = medianOf(costs);
    const cpu = [all, eventLoop, all - eventLoop].map((us) => us.toFixed(2));
    process.stdout.write(line(way, ...cpu, perSecond.toFixed(0)));
  }
  await worker.stop();
  await log.stop();
} finally {
  await rm(dir, { recursive: true, force: true });
}
