import { Kafka, logLevel } from 'kafkajs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { launch, untilReady } from '../process/child.js';
import { freePort, openServerDir, startServer, type ServerOptions } from '../process/server.js';
import {
  brokerArguments,
  clusterIdOf,
  explainJava,
  formatStorage,
  serverProperties,
  type BrokerExtras,
} from './broker.js';
import { kafkaJars, kafkaVersions, type KafkaVersion } from './jars.js';

export { kafkaVersions, type KafkaVersion } from './jars.js';

export interface KafkaOptions extends ServerOptions, BrokerExtras {
  readonly version?: KafkaVersion;
  /** Whether a quick start counts for more than speed later. */
  readonly brief?: boolean;
  /** Where clients are sent, if that is not its own port: to a proxy before it. */
  readonly advertisedPort?: number;
  /** SCRAM credentials of a new cluster, such as `SCRAM-SHA-256=[name=alice,password=secret]`. */
  readonly scramUsers?: readonly string[];
}

const kafka = { name: 'Kafka', program: 'java' } as const;

/** Whether the broker of this cluster answers there, itself a member of it. */
const brokerAnswers = async (brokers: string, clusterId: string): Promise<boolean> => {
  const admin = new Kafka({
    brokers: [brokers],
    connectionTimeout: 1_000,
    requestTimeout: 3_000,
    retry: { retries: 0 },
    logLevel: logLevel.NOTHING,
  }).admin();
  try {
    await admin.connect();
    const cluster = await admin.describeCluster();
    // Another process may have taken the port; and until it is registered, a broker knows of none.
    return cluster.clusterId === clusterId && cluster.brokers.length > 0;
  } catch {
    // Tried again until the deadline; an end of the broker is seen as such.
    return false;
  } finally {
    await admin.disconnect();
  }
};

/**
 * Starts a Kafka broker, its own controller too, on 127.0.0.1, after ending what a killed process left
 * running on this data. The data, and with it cluster id and topics, outlive it.
 *
 * @throws ServerUnavailable when Java or Maven is missing
 * @throws ServerFailed when it should run here and does not
 */
export const startKafka = async (options: KafkaOptions) => {
  const { logger, version = kafkaVersions[0], tied = false, brief = false } = options;
  const begun = performance.now();
  const dir = await openServerDir(options, kafka);
  const logDir = join(dir, 'data');
  const properties = join(dir, 'server.properties');
  const jars = await kafkaJars(version, logger);

  let clusterId = await clusterIdOf(logDir);
  const server = await startServer({
    port: options.port ?? freePort,
    async begin(port) {
      const { advertisedPort = port } = options;
      const place = { logDir, port, advertisedPort, controllerPort: await freePort() };
      const { extraListeners = {}, extraProperties = {} } = options;
      const content = serverProperties({ ...place, extraListeners, extraProperties });
      await writeFile(properties, content, { mode: 0o600 });
      clusterId ??= await formatStorage(dir, jars, properties, options.scramUsers);
      return launch({
        ...kafka,
        args: brokerArguments(jars, properties, brief),
        dir,
        logFile: join(dir, 'kafka.log'),
        logger,
        tied,
        explain: explainJava,
      });
    },
    ready: (child, port) =>
      untilReady(child, () => brokerAnswers(`127.0.0.1:${port}`, clusterId ?? '')),
  });
  const { pid, port } = server;
  const ms = Math.round(performance.now() - begun);
  logger.info({ kafkaPid: pid, port, version, ms }, 'Kafka is ready');
  // A restart keeps the address.
  return Object.assign(server, { brokers: `127.0.0.1:${port}`, clusterId: clusterId ?? '' });
};

export type KafkaServer = Awaited<ReturnType<typeof startKafka>>;
