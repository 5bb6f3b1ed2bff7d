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
import { cacheDir, provideInCache } from '../process/program-cache.js';

/** The versions that the tests run on. The first one is the default, also of the pom. */
export const kafkaVersions = ['4.3.1', '3.9.1'] as const;
export type KafkaVersion = (typeof kafkaVersions)[number];

const pom = projectFile('ops', 'local', 'kafka', 'pom.xml');

export const resolveJars = async (version: KafkaVersion, dir: string): Promise<void> => {
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime'];
  const choice = [`-Dkafka.version=${version}`, `-DoutputDirectory=${dir}`];
  await runToSuccess(null, 'mvn', ['-B', '-q', '-f', pom, ...goal, ...choice], {
    env: inheritedEnvironment(),
    failure: `Maven could not download Kafka ${version}`,
    retryable: true,
    explain: (error) =>
      hasCode(error, 'ENOENT')
        ? new ServerUnavailable(
            `Kafka ${version} is downloaded with Maven, but mvn is not in PATH; install it (apt-get install maven), or set KAFKA_BROKERS to an existing Kafka`,
            { cause: error },
          )
        : error,
  });
};

/**
 * Returns the directory of Kafka's jars, fetched from Maven's repository if they are not cached.
 *
 * @throws ServerUnavailable if Maven is missing or the cache is not writable
 */
export const kafkaJars = async (version: KafkaVersion, logger: Logger): Promise<string> => {
  // The digest of the pom is part of the name, because another pom may resolve to other jars.
  const digest = createHash('sha256')
    .update(await readFile(pom))
    .digest('hex');
  const cache = cacheDir() ?? join(tmpdir(), 'linklog-cache');
  const fill = async (dir: string): Promise<void> => {
    logger.info({ version }, 'downloading Kafka');
    await resolveJars(version, dir);
  };
  const name = `kafka-${version}-${digest.slice(0, 8)}`;
  const jars = await provideInCache(cache, name, fill, logger);
  if (jars !== null) return jars;
  throw new ServerUnavailable(
    `Kafka's jars cannot be stored in ${cache} (not writable, or writable by other users); set KAFKA_BROKERS to an existing Kafka`,
  );
};
