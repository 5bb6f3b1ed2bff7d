import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inheritedEnvironment } from '../../config/config.js';
import { hasCode } from '../../platform/errors.js';
import { projectFile } from '../../platform/files/project-file.js';
import type { Logger } from '../../platform/logging.js';
import { runToSuccess } from '../process/child.js';
import { ServerUnavailable } from '../process/errors.js';
import { cachePlace, provideInCache } from '../process/program-cache.js';

/** Those that the tests run on. The first one is the default, and the pom's. */
export const kafkaVersions = ['4.3.1', '3.9.1'] as const;
export type KafkaVersion = (typeof kafkaVersions)[number];

const pom = projectFile('ops', 'local', 'kafka', 'pom.xml');

export const resolveJars = async (version: KafkaVersion, dir: string): Promise<void> => {
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime'];
  const choice = [`-Dkafka.version=${version}`, `-DoutputDirectory=${dir}`];
  await runToSuccess(null, 'mvn', ['-B', '-q', '-f', pom, ...goal, ...choice], {
    env: inheritedEnvironment(),
    failure: `Maven could not fetch Kafka ${version}`,
    retryable: true,
    explain: (error) =>
      hasCode(error, 'ENOENT')
        ? new ServerUnavailable(
            `Kafka ${version} is fetched with Maven, and mvn is not in PATH; install it (apt-get install maven), or set KAFKA_BROKERS to a Kafka of your own`,
            { cause: error },
          )
        : error,
  });
};

/**
 * The folder of a Kafka's jars, fetched from Maven's repository where it is not in the cache yet.
 *
 * @throws ServerUnavailable where Maven is missing, or no folder can be written
 */
export const kafkaJars = async (version: KafkaVersion, logger: Logger): Promise<string> => {
  // By the pom's content too: another one may mean other jars.
  const digest = createHash('sha256')
    .update(await readFile(pom))
    .digest('hex');
  const place = cachePlace() ?? join(tmpdir(), 'linklog-cache');
  const fill = async (dir: string): Promise<void> => {
    logger.info({ version }, 'fetching Kafka, once');
    await resolveJars(version, dir);
  };
  const name = `kafka-${version}-${digest.slice(0, 8)}`;
  const jars = await provideInCache(place, name, fill, logger);
  if (jars !== null) return jars;
  throw new ServerUnavailable(
    `Kafka's jars can not be kept in ${place} (not writable, or writable by others); set KAFKA_BROKERS to a Kafka of your own`,
  );
};
