import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel, type Admin, type ISocketFactory, type PartitionMetadata } from 'kafkajs';
import { topics } from '../../../schemas/events/topics.js';
import { startKafkaCluster, type KafkaServer } from '../../local/kafka/index.js';
import { newCode, recordsOf } from '../../test/conformance/event-log/events.js';
import { kafkaPrograms, kafkaStartMs } from '../../test/support/kafka.js';
import { eventually } from '../../test/support/waiting.js';
import { retry } from '../../platform/concurrency/retry.js';
import { createLogger } from '../../platform/logging.js';
import { openKafkaLog, type KafkaLog } from './kafka-log.js';
import { needs } from '../../test/support/needs.js';

const logger = createLogger('silent');
const { name: topic, partitions: partitionCount } = topics.links;

/** The API key of a Produce request, behind its size of four bytes. */
const produce = 0;

/** Sockets of a client that can be cut off from one broker while it answers others. */
const selectiveSockets = () => {
  const sockets = new Map<Socket, number>();
  let cutOffAtProduce: number | null = null;
  let unreachable: number | null = null;
  const factory: ISocketFactory = ({ host, port, onConnect }) => {
    // Nothing listens on port 1.
    const socket = connect({ host, port: port === unreachable ? 1 : port }, onConnect);
    sockets.set(socket, port);
    socket.on('close', () => sockets.delete(socket));
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    socket.write = (...args: unknown[]) => {
      const [bytes] = args;
      const isProduce = Buffer.isBuffer(bytes) && bytes.readInt16BE(4) === produce;
      if (!isProduce || port !== cutOffAtProduce) return write(...args);
      unreachable = port;
      for (const [other, to] of sockets) if (to === port) other.destroy();
      return true;
    };
    return socket;
  };
  return {
    factory,
    /** The next Produce request to the broker at this port is lost with the connection, and no other is made. */
    cutOffAtProduce(port: number) {
      cutOffAtProduce = port;
    },
    mend() {
      cutOffAtProduce = null;
      unreachable = null;
    },
    isCutOff: () => unreachable !== null,
  };
};

describe('platform: producer for several Kafka brokers', function () {
  this.timeout(kafkaStartMs);
  needs(...kafkaPrograms);

  const sockets = selectiveSockets();
  let dir: string;
  let servers: readonly KafkaServer[];
  let admin: Admin;
  let log: KafkaLog;

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'linklog-producer-'));
    servers = await startKafkaCluster({
      brokers: ['one', 'two'].map((name) => ({ dataDir: join(dir, name) })),
      ...{ logger, tied: true, brief: true },
    });
    const brokers = servers.map((server) => server.brokers);
    admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    log = openKafkaLog({
      settings: {
        ...{ brokers, ssl: false, sasl: null, prefix: '', replicas: 2, minInsyncReplicas: 1 },
        compression: 'gzip',
      },
      logger,
      socketFactory: sockets.factory,
    });
    await log.ready;
  });

  after(async () => {
    await log.close();
    await admin.disconnect();
    await Promise.all(servers.map((server) => server.stop()));
    await rm(dir, { recursive: true, force: true });
  });

  const metadata = async (): Promise<readonly PartitionMetadata[]> => {
    const { topics: found } = await admin.fetchTopicMetadata({ topics: [topic] });
    return found[0]?.partitions ?? [];
  };

  it('stores every record when a leader moves to a broker that has already responded', async () => {
    const before = await metadata();
    expect(new Set(before.map(({ leader }) => leader)).size, 'leaders').to.equal(2);
    const someRecords = () =>
      Array.from({ length: 64 }, () => recordsOf(topic, newCode(), 1)).flat();
    // Connects the producer to both brokers.
    await log.append(topic, someRecords());
    const records = someRecords();
    // The second broker answers. The first one is lost, and its partitions move to the second one.
    sockets.cutOffAtProduce(Number(servers[0]?.brokers.split(':')[1]));
    const appended = retry(() => log.append(topic, records), { attempts: 60 });
    await eventually('the first broker is cut off', () => sockets.isCutOff());
    await admin.alterPartitionReassignments({
      topics: [
        {
          topic,
          partitionAssignment: before.map(({ partitionId }) => ({
            partition: partitionId,
            replicas: [2],
          })),
        },
      ],
    });
    await eventually('the second broker leads every partition', async () =>
      (await metadata()).every(({ leader }) => leader === 2),
    );
    await appended;
    sockets.mend();
    const stored = new Set<string>();
    for (const { partition, first, next } of await log.ranges(topic)) {
      for await (const batch of log.read(topic, partition, first, next)) {
        for (const { value } of batch.records) stored.add(value);
      }
    }
    const missing = records.filter(({ value }) => !stored.has(value));
    expect(missing).to.deep.equal([]);
    expect(before).to.have.length(partitionCount);
  });
});
