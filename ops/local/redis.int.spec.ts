import { expect } from 'chai';
import { Redis } from 'ioredis';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../platform/logging.js';
import { rejection } from '../test/support/waiting.js';
import { startRedis, type RedisOptions, type RedisServer } from './redis.js';

const logger = createLogger('silent');

describe('local servers: Redis as a child process', () => {
  const dirs: string[] = [];
  const servers: RedisServer[] = [];

  const newDir = async (): Promise<string> => {
    const dir = await mkdtemp(join(tmpdir(), 'linklog-redis-'));
    dirs.push(dir);
    return dir;
  };
  const start = async (
    options: Partial<RedisOptions> & { dataDir: string },
  ): Promise<RedisServer> => {
    const server = await startRedis({ logger, tied: true, ...options });
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
    for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
  });

  it('answers, forgets its keys at a restart, and evicts when full', async () => {
    const server = await start({ dataDir: await newDir() });
    const policy = await withClient(server, async (client) => {
      await client.set('k', 'v');
      return client.config('GET', 'maxmemory-policy');
    });
    expect(policy).to.deep.equal(['maxmemory-policy', 'allkeys-lru']);
    await server.restart();
    expect(await withClient(server, (client) => client.get('k'))).to.equal(null);
  });

  it('answers nobody without its password, which is not on its command line', async () => {
    const dataDir = await newDir();
    const { process: started, url } = await start({ dataDir });
    const { password, port } = new URL(url);
    const stranger = new Redis(Number(port), '127.0.0.1', { enableReadyCheck: false });
    stranger.on('error', () => undefined);
    expect(await rejection(stranger.get('k')))
      .to.have.property('message')
      .that.includes('NOAUTH');
    stranger.disconnect();
    expect(password).to.match(/^[\w-]{32}$/);
    expect(started.spawnargs.join(' ')).not.to.include(password);
    expect((await stat(join(dataDir, 'redis.conf'))).mode & 0o777).to.equal(0o600);
  });

  it('keeps its keys over a stop with the option dump', async () => {
    const dataDir = await newDir();
    const first = await start({ dataDir, dump: true });
    await withClient(first, (client) => client.set('k', 'v'));
    await first.stop();
    expect(await first.exited).to.deep.equal({ status: 'stopped' });
    const second = await start({ dataDir, dump: true });
    expect(await withClient(second, (client) => client.get('k'))).to.equal('v');
  });

  it('is killed, says so, and restarts at the same address', async () => {
    const server = await start({ dataDir: await newDir() });
    const { pid, url } = server;
    server.kill('SIGKILL');
    expect(await server.exited).to.deep.include({ status: 'died', reason: 'signal SIGKILL' });
    await server.restart();
    expect(server.pid).not.to.equal(pid);
    expect(server.url).to.equal(url);
    expect(await withClient(server, (client) => client.ping())).to.equal('PONG');
  });

  it('ends the Redis that was left running in its folder, and no other', async () => {
    const dataDir = await newDir();
    const left = await start({ dataDir });
    const other = await start({ dataDir: await newDir() });
    const next = await start({ dataDir });
    expect(await left.exited).to.have.property('status', 'died');
    expect(await withClient(next, (client) => client.ping())).to.equal('PONG');
    expect(await withClient(other, (client) => client.ping())).to.equal('PONG');
  });

  it('stops while it is being restarted', async () => {
    const server = await start({ dataDir: await newDir() });
    const restarted = server.restart().catch((error: unknown) => error);
    await server.stop();
    expect(server.process.exitCode ?? server.process.signalCode).not.to.equal(null);
    expect(await restarted).to.have.property('code', 'SERVER_FAILED');
  });
});
