import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Prints how a call of an exported function failed, in a process whose PATH has nothing but `PATH`. */
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

describe('local servers: program that is missing', () => {
  let dir: string;

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'linklog-missing-'));
  });

  afterEach(async () => {
    await rm(dir, { recursive: true, force: true });
  });

  it('is named in one line, with how to install it: redis-server', async () => {
    const call = `startRedis({ dataDir: ${JSON.stringify(join(dir, 'redis'))}, logger })`;
    expect(await failureOf(dir, '../redis.js', call)).to.deep.equal({
      code: 'SERVER_UNAVAILABLE',
      message:
        'redis-server is not in PATH; install it (apt-get install redis-server), or set REDIS_URL to a Redis of your own',
    });
  });

  it('is named in one line, with how to install it: mvn', async () => {
    const call = `resolveJars('4.3.1', ${JSON.stringify(dir)})`;
    expect(await failureOf(dir, '../kafka/jars.js', call)).to.deep.equal({
      code: 'SERVER_UNAVAILABLE',
      message:
        'Kafka 4.3.1 is fetched with Maven, and mvn is not in PATH; install it (apt-get install maven), or set KAFKA_BROKERS to a Kafka of your own',
    });
  });

  it('is named in one line, with how to install it: java', async () => {
    const call = `formatStorage(${JSON.stringify(dir)}, 'jars', 'server.properties')`;
    expect(await failureOf(dir, '../kafka/broker.js', call)).to.deep.equal({
      code: 'SERVER_UNAVAILABLE',
      message:
        'Kafka needs Java 17 or newer, and java is not in PATH; install one (apt-get install default-jre-headless), or set KAFKA_BROKERS to a Kafka of your own',
    });
  });
});
