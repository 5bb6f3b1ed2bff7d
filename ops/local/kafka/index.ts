import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../postgres/free-port.js';
import type { Logger } from '../../platform/logging.js';
import { endOrphans, launch, untilReady, type Child } from '../stack/child.js';
import { startServer, type Server } from '../stack/server.js';
import { brokerAnswers } from './answers.js';
import { kafkaJars, kafkaVersions, type KafkaVersion } from './jars.js';
import { explainJava } from './java.js';
import { brokerArguments, serverProperties } from './settings.js';
import { clusterIdOf, formatStorage } from './storage.js';

export { kafkaVersions, type KafkaVersion } from './jars.js';

export interface KafkaServer extends Server {
  /** `127.0.0.1:40123`; a restart keeps it. */
  readonly brokers: string;
  readonly clusterId: string;
}

export interface KafkaOptions {
  /** Its own; made where it is missing. The caller sees to it that nobody else uses it. */
  readonly dataDir: string;
  readonly logger: Logger;
  readonly version?: KafkaVersion;
  /** By default any free one. */
  readonly port?: number;
  /** Whether it ends with this process, however that ends; otherwise only `stop` ends it. */
  readonly tied?: boolean;
  /** Whether a quick start counts for more than speed later. */
  readonly brief?: boolean;
}

/**
 * Starts a Kafka broker, its own controller too, on 127.0.0.1, after ending what a killed process left
 * running on this data. The data, and with it cluster id and topics, outlive it.
 *
 * @throws ServerUnavailable when Java or Maven is missing
 * @throws ServerFailed when it should run here and does not
 */
export const startKafka = async (options: KafkaOptions): Promise<KafkaServer> => {
  const { logger, version = kafkaVersions[0], tied = false, brief = false } = options;
  const begun = performance.now();
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
  const dir = await realpath(options.dataDir);
  const logDir = join(dir, 'data');
  const properties = join(dir, 'server.properties');
  await endOrphans(dir, ['java'], logger);
  const jars = await kafkaJars(version, logger);

  let port = options.port ?? 0;
  let wasReady = false;
  let clusterId = await clusterIdOf(logDir);

  const begin = async (): Promise<Child> => {
    if (options.port === undefined && !wasReady) port = await freePort();
    const place = { logDir, port, controllerPort: await freePort() };
    await writeFile(properties, serverProperties(place), { mode: 0o600 });
    clusterId ??= await formatStorage(dir, jars, properties);
    try {
      return await launch({
        name: 'Kafka',
        program: 'java',
        args: brokerArguments(jars, properties, brief),
        dir,
        logFile: join(dir, 'kafka.log'),
        logger,
        tied,
      });
    } catch (error) {
      throw explainJava(error);
    }
  };
  const ready = async (child: Child): Promise<void> => {
    try {
      await untilReady(child, () => brokerAnswers(`127.0.0.1:${port}`, clusterId ?? ''));
    } catch (error) {
      throw explainJava(error);
    }
    wasReady = true;
  };
  // A port that the caller chose and another has is an error; our own of before comes free again.
  const mayRetry = (): boolean => options.port === undefined || wasReady;
  const server = await startServer({ begin, ready, mayRetry });
  const ms = Math.round(performance.now() - begun);
  logger.info({ kafkaPid: server.pid, port, version, ms }, 'Kafka is ready');
  return Object.assign(server, { brokers: `127.0.0.1:${port}`, clusterId: clusterId ?? '' });
};
