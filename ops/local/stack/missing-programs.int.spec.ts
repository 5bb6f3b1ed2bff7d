import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { folderFixture } from '../../test/support/fixtures.js';

/** Returns the failure of a call of an exported function in a process with this PATH. */
const failureOf = async (PATH: string, file: string, call: string): Promise<unknown> => {
  const module = JSON.stringify(new URL(file, import.meta.url).href);
  const logging = JSON.stringify(new URL('../../platform/logging.js', import.meta.url).href);
  const program = `
    const logger = (await import(${logging})).createLogger('silent');
    const error = await (await import(${module})).${call}.catch((reason) => reason);
    console.log(JSON.stringify({ code: error.code, message: error.message }));`;
  const args = ['--input-type=module', '-e', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { PATH } });
  return JSON.parse(stdout);
};

describe('local servers: missing program', () => {
  const dir = folderFixture({ per: 'test' });

  const cases: readonly (readonly [string, string, (dir: string) => string, string])[] = [
    [
      'redis-server',
      '../redis.js',
      (folder) => `startRedis({ dataDir: ${JSON.stringify(join(folder, 'redis'))}, logger })`,
      'redis-server is not in PATH; install it (apt-get install redis-server), or set REDIS_URL to an existing Redis',
    ],
    [
      'mvn',
      '../kafka/index.js',
      (folder) => `resolveJars('4.3.1', ${JSON.stringify(folder)})`,
      'Kafka 4.3.1 is downloaded with Maven, but mvn is not in PATH; install it (apt-get install maven), or set KAFKA_BROKERS to an existing Kafka',
    ],
    [
      'java',
      '../kafka/broker.js',
      (folder) => `formatStorage(${JSON.stringify(folder)}, 'jars', 'server.properties')`,
      'Kafka requires Java 17 or newer, but java is not in PATH; install it (apt-get install default-jre-headless), or set KAFKA_BROKERS to an existing Kafka',
    ],
  ];
  for (const [program, file, call, message] of cases) {
    it(`is reported in one line with a remedy: ${program}`, async () => {
      const failure = await failureOf(dir.path, file, call(dir.path));
      expect(failure).to.deep.equal({ code: 'SERVER_UNAVAILABLE', message });
    });
  }
});
