/**
 * What it costs to ship a visit from the spool to Kafka, as CPU time of the whole process and of the
 * event loop alone, which the edge needs for redirects. On a broker of its own; Linux only.
 *
 *     node dist/ops/test/bench/shipping.js [VISITS]
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { shipFromWorker, shipHere } from '../../../redirect-edge/shipping/shipping.js';
import type { Shipping } from '../../../redirect-edge/spool/shipper.js';
import { append } from '../../../redirect-edge/spool/testing/harness.js';
import { openSpool } from '../../../redirect-edge/spool/spool.js';
import { topics } from '../../../schemas/events/topics.js';
import { unknownVisitor } from '../../../schemas/testing/visitor.js';
import { openKafkaLog } from '../../platform/event-log/kafka/kafka-log.js';
import type { KafkaSettings } from '../../platform/event-log/kafka/settings.js';
import { createLogger } from '../../platform/logging.js';
import { startKafka } from '../../local/kafka/index.js';
import { median } from '../support/median.js';
import { eventually } from '../support/waiting.js';
import { deferred } from '../../platform/concurrency/deferred.js';

const defaultCount = 200_000;
const codes = 1_000;
const perTick = 100;
const rounds = 3;

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
const costOf = async (dataDir: string, count: number, shipping: Shipping): Promise<Cost> => {
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
          facts: unknownVisitor,
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

const line = (...[way, all, eventLoop, perSecond]: readonly [string, string, string, string]) =>
  `${way.padEnd(24)}${all.padStart(16)}${eventLoop.padStart(16)}${perSecond.padStart(12)}\n`;

const run = async (count: number): Promise<void> => {
  const dir = await mkdtemp(path.join(tmpdir(), 'linklog-bench-shipping-'));
  const kafka = await startKafka({ dataDir: path.join(dir, 'kafka'), logger, tied: true });
  try {
    const settings: KafkaSettings = {
      brokers: [kafka.brokers],
      ssl: false,
      sasl: null,
      prefix: '',
      replicas: null,
      minInsyncReplicas: null,
      compression: 'gzip',
    };
    const topic = topics.visits.name;
    const log = openKafkaLog({ settings, logger });
    await log.ready;
    const worker = shipFromWorker({
      address: { kafka: settings, databaseUrl: '' },
      untilAnswering: () => log.ready,
      logger,
    });
    const ways: readonly (readonly [string, Shipping, Cost[]])[] = [
      ['on the event loop', shipHere((records) => log.append(topic, records)), []],
      ['from a worker thread', worker, []],
    ];
    // The first round warms up both.
    for (let round = 0; round <= rounds; round += 1) {
      for (const [, shipping, costs] of ways) {
        const cost = await costOf(path.join(dir, 'data'), count, shipping);
        if (round > 0) costs.push(cost);
      }
    }
    process.stdout.write(line(`${count} visits`, 'µs CPU a visit', 'of event loop', 'a second'));
    for (const [way, , costs] of ways) {
      const { all, eventLoop, perSecond } = medianOf(costs);
      process.stdout.write(line(way, all.toFixed(2), eventLoop.toFixed(2), perSecond.toFixed(0)));
    }
    await worker.stop();
    await log.close();
  } finally {
    await kafka.stop();
    await rm(dir, { recursive: true, force: true });
  }
};

await run(Number(process.argv[2] ?? defaultCount));
