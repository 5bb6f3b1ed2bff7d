import { expect } from 'chai';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { settingsOf } from '../../ops/test/conformance/event-log/kafka-harness.js';
import { openKafkaLog } from '../../ops/event-log/kafka/kafka-log.js';
import type { EventLog } from '../../ops/event-log/port.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { createLogger } from '../../ops/platform/logging.js';
import { endTestServer, startTestServer, testDatabase } from '../../ops/test/support/database.js';
import { dedicatedKafka, kafkaPrograms } from '../../ops/test/support/kafka.js';
import { openTestLog } from '../../ops/test/support/node.js';
import { readEvent, writeEvent } from '../../schemas/events/codec.js';
import { spoolSource } from '../../schemas/events/envelope.js';
import { topics } from '../../schemas/events/topics.js';
import { openSpool, type Spool } from '../spool/spool.js';
import { append, range, visit } from '../spool/testing/harness.js';
import type { Shipping } from '../spool/shipper.js';
import { shipFromWorker, type LogAddress } from './shipping.js';
import { eventually, eventuallyPasses } from '../../ops/test/support/waiting.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { folderFixture } from '../../ops/test/support/fixtures.js';

const logger = createLogger('silent');
/** The recovery of a killed broker takes time, and the machine may be busy. */
const patienceMs = 120_000;

/** A log on a server that a test can kill. */
interface Target {
  readonly address: LogAddress;
  readonly log: EventLog;
  readonly server: { kill(signal: NodeJS.Signals): void; restart(): Promise<unknown> };
  close(): Promise<void>;
}

const onKafka = async (): Promise<Target> => {
  const kafka = await dedicatedKafka('shipping');
  const settings = settingsOf(kafka);
  const log = openKafkaLog({ settings, logger });
  await log.ready;
  return {
    address: { kafka: settings, databaseUrl: '' },
    log,
    server: kafka.server,
    async close() {
      await log.close();
      await kafka.drop();
    },
  };
};

const onPostgres = async (): Promise<Target> => {
  const server = await startTestServer();
  const { url, pool } = await testDatabase('shipping', server);
  const { log } = await openTestLog({ url, pool, logger });
  return {
    address: { kafka: null, databaseUrl: url },
    log,
    server: server.postgres,
    async close() {
      await log.close();
      await pool.end();
      await endTestServer(server);
    },
  };
};

const targets = { Kafka: onKafka, PostgreSQL: onPostgres };

for (const [name, openTarget] of Object.entries(targets))
  describe(`redirect edge: shipping to ${name} from a worker thread`, function () {
    this.timeout(patienceMs);

    const target = fixture(openTarget, (opened) => opened.close(), {
      needs: name === 'Kafka' ? kafkaPrograms : [],
    });
    const dataDir = folderFixture({ per: 'test' });
    let shipping: Shipping;
    const spools: Spool[] = [];
    const workers: Worker[] = [];
    const addWorker = (worker: Worker): void => {
      workers.push(worker);
    };
    const untilAvailable = () => target.log.ranges(topics.visits.name);

    beforeEach(() => {
      process.on('worker', addWorker);
      shipping = shipFromWorker({ address: target.address, untilAvailable, logger });
    });
    afterEach(async () => {
      process.off('worker', addWorker);
      await Promise.all(spools.splice(0).map((spool) => spool.stop({ shipWithinMs: 0 })));
      await shipping.stop();
      workers.length = 0;
    });

    const open = async (): Promise<Spool> => {
      const spool = await openSpool({
        root: path.join(dataDir.path, 'spool'),
        maxBytes: 1024 ** 3,
        fsync: false,
        shipping,
        logger,
        scanEveryMs: 50,
      });
      spools.push(spool);
      return spool;
    };

    /** Appends visits during the work, and 1,000 visits after it. @returns the number of visits */
    const appendDuring = async (spool: Spool, work: () => Promise<void>): Promise<number> => {
      let last = 0;
      const appendSome = async (): Promise<void> => {
        await Promise.all(range(last + 1, last + 50).map((number) => append(spool, visit(number))));
        last += 50;
        await sleep(2);
      };
      const working = new AbortController();
      const worked = work().finally(() => {
        working.abort();
      });
      while (!working.signal.aborted) await appendSome();
      await worked;
      const enough = last + 1_000;
      while (last < enough) await appendSome();
      return last;
    };

    /** The numbers of a spool's visits in the log. Their sequences must be contiguous in a partition, except repeats. */
    const countedOf = async (spoolId: string): Promise<number[]> => {
      const topic = topics.visits.name;
      const counted = new Set<number>();
      for (const { partition, first, next } of await target.log.ranges(topic)) {
        let highWaterMark = 0;
        for await (const { records } of target.log.read(topic, partition, first, next)) {
          for (const { key, value } of records) {
            const event = readEvent(value);
            if (event.source !== spoolSource(`${spoolId}/${partition}`)) continue;
            expect(writeEvent(event)).to.equal(value);
            const { subject, sequence, correlationid } = event;
            expect(subject).to.equal(key);
            const number = Number(correlationid);
            if (sequence <= highWaterMark) expect(counted).to.include(number);
            else {
              expect(sequence).to.equal(highWaterMark + 1);
              highWaterMark = sequence;
              counted.add(number);
            }
          }
        }
      }
      return [...counted].sort((a, b) => a - b);
    };

    const expectCounted = async (spool: Spool, last: number): Promise<void> => {
      await eventually('the spool is shipped', () => spool.depth().events === 0, patienceMs);
      // The first read of a new cluster, or after a crash, may fail.
      await eventuallyPasses(async () => {
        expect(await countedOf(spool.id)).to.deep.equal(range(1, last));
      }, patienceMs);
    };

    it('continues after the server was killed, and ships all visits', async () => {
      const spool = await open();
      const last = await appendDuring(spool, async () => {
        await eventually('enough visits are shipped', () => spool.counters.shipped > 500);
        target.server.kill('SIGKILL');
        await eventually('a shipment fails', () => spool.counters.shipFailures > 0, patienceMs);
        await target.server.restart();
      });
      await expectCounted(spool, last);
    });

    it('continues with a new thread after the first one died, and ships all visits', async () => {
      const spool = await open();
      const last = await appendDuring(spool, async () => {
        for (const round of [1, 2, 3]) {
          const enough = spool.counters.shipped + 500;
          await eventually('visits are shipped', () => spool.counters.shipped > enough);
          await workers[round - 1]?.terminate();
        }
      });
      await expectCounted(spool, last);
      expect(workers).lengthOf(4);
    });

    it('does not ship after it was stopped', async () => {
      const available = deferred();
      const late = shipFromWorker({
        address: target.address,
        untilAvailable: () => available.promise,
        logger,
      });
      const shipped = late.ship(Buffer.from(new SharedArrayBuffer(1_000))).catch(String);
      await late.stop();
      available.resolve();
      expect(await shipped).to.include('does not ship');

      await shipping.ship(Buffer.from(new SharedArrayBuffer(1_000)));
      await shipping.stop();
      expect(workers.map(({ threadId }) => threadId)).to.deep.equal([-1, -1]);
    });
  });
