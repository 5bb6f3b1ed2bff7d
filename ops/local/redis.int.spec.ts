import { expect } from 'chai';
import { Redis } from 'ioredis';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createLogger } from '../platform/logging.js';
import { folderFixture } from '../test/support/fixtures.js';
import { needs } from '../test/support/needs.js';
import { rejection } from '../test/support/waiting.js';
import { startRedis, type RedisServer } from './redis.js';

const logger = createLogger('silent');

describe('local servers: Redis as a child process', () => {
  needs('redis-server');
  const dir = folderFixture({ per: 'test' });
  const servers: RedisServer[] = [];

  const start = async (name = 'redis'): Promise<RedisServer> => {
    const dataDir = join(dir.path, name);
    const server = await startRedis({ dataDir, logger, tied: true });
    servers.push(server);
    return server;
  };
  const withClient = async <Value>(
    { url }: RedisServer,
    use: (client: Redis) => Promise<Value>,
  ): Promise<Value> => {
    const client = new Redis(url);
    try {
      return await use(client);
    } finally {
      client.disconnect();
    }
  };

  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  it('requires its password, which is not on its command line', async () => {
    const { process: started, url } = await start();
    const { password, port } = new URL(url);
    const stranger = new Redis(Number(port), '127.0.0.1', { enableReadyCheck: false });
    stranger.on('error', () => undefined);
    expect(await rejection(stranger.get('k')))
      .to.have.property('message')
      .that.includes('NOAUTH');
    stranger.disconnect();
    expect(password).to.match(/^[\w-]{32}$/);
    expect(started.spawnargs.join(' ')).not.to.include(password);
    expect((await stat(join(dir.path, 'redis', 'redis.conf'))).mode & 0o777).to.equal(0o600);
  });

  it('reports a kill, and restarts at the same address', async () => {
    const server = await start();
    const { pid, url } = server;
    server.kill('SIGKILL');
    expect(await server.exited).to.deep.include({ status: 'died', reason: 'signal SIGKILL' });
    await server.restart();
    expect(server.pid).not.to.equal(pid);
    expect(server.url).to.equal(url);
    expect(await withClient(server, (client) => client.ping())).to.equal('PONG');
  });

  it('ends an orphaned Redis in its directory, and no other', async () => {
    const left = await start();
    const other = await start('other');
    const next = await start();
    expect(await left.exited).to.have.property('status', 'died');
    expect(await withClient(next, (client) => client.ping())).to.equal('PONG');
    expect(await withClient(other, (client) => client.ping())).to.equal('PONG');
  });

  it('stops during a restart', async () => {
    const server = await start();
    const restarted = server.restart().catch((error: unknown) => error);
    await server.stop();
    expect(server.process.exitCode ?? server.process.signalCode).not.to.equal(null);
    expect(await restarted).to.have.property('code', 'SERVER_FAILED');
  });
});
