import { expect } from 'chai';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import pino from 'pino';
import { copyClusterTemplate, templateVariable } from '../../test/support/cluster.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { rejection } from '../../test/support/waiting.js';
import { inheritedEnvironment } from '../../config/config.js';
import { runProgram } from '../process/child.js';
import { freePort } from '../process/server.js';
import { postgresAccount } from './account.js';
import { startEmbeddedPostgres, runningPostgresUrl, type EmbeddedPostgres } from './index.js';
import { layoutOf } from './layout.js';
import { postgresPids } from './orphans.js';
import { needs } from '../../test/support/needs.js';

const logger = pino({ level: 'silent' });
const isRoot = process.getuid?.() === 0;
const index = new URL('./index.js', import.meta.url).href;

const query = async (url: string, sql: string): Promise<unknown[]> => {
  const client = new pg.Client({ connectionString: url });
  // Some tests kill the server.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
};

describe(`local servers: embedded PostgreSQL, started by ${isRoot ? 'root' : 'an ordinary user'}`, () => {
  const folder = folderFixture({ per: 'test' });
  let dataDir: string;
  let children: ChildProcess[];
  let running: EmbeddedPostgres[];

  beforeEach(() => {
    dataDir = folder.path;
    children = [];
    running = [];
  });

  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    for (const server of running) await server.stop();
    for (const pid of await pids()) process.kill(pid, 'SIGKILL');
  });

  const pids = async (): Promise<number[]> => {
    const layout = layoutOf(dataDir);
    return postgresPids(layout, await postgresAccount(layout));
  };

  const startNew = async (): Promise<EmbeddedPostgres> => {
    const server = await startEmbeddedPostgres({ dataDir, logger });
    running.push(server);
    return server;
  };

  /** Starts it on a copy of a cluster, which is faster than initdb. */
  const start = async (): Promise<EmbeddedPostgres> => {
    await copyClusterTemplate(dataDir);
    return startNew();
  };

  const spawnTracked = (...args: Parameters<typeof spawn>): ChildProcess => {
    const child = spawn(...args);
    children.push(child);
    return child;
  };

  const startSupervisor = (): ChildProcess => {
    const program = `
      import { startEmbeddedPostgres } from ${JSON.stringify(index)};
      import pino from ${JSON.stringify(import.meta.resolve('pino'))};
      await startEmbeddedPostgres({ dataDir: process.argv[1], logger: pino({ level: 'silent' }) });
      console.log('ready');`;
    const args = ['--input-type=module', '-e', program, dataDir];
    return spawnTracked(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  };

  const startedSupervisor = async (): Promise<ChildProcess> => {
    await copyClusterTemplate(dataDir);
    const child = startSupervisor();
    if (child.stdout === null) throw new Error('spawned without a pipe');
    await once(child.stdout, 'data');
    return child;
  };

  const kill = async (child: ChildProcess): Promise<void> => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };

  const currentUrl = async (): Promise<string> => {
    const url = await runningPostgresUrl(dataDir);
    if (url === null) throw new Error('PostgreSQL does not run');
    return url;
  };

  const writeRow = (url: string): Promise<unknown[]> =>
    query(url, 'CREATE TABLE stored AS SELECT 42 AS n');

  const expectRow = async (url: string): Promise<void> => {
    expect(await query(url, 'SELECT n FROM stored')).to.deep.equal([{ n: 42 }]);
  };

  const layout = (): ReturnType<typeof layoutOf> => layoutOf(dataDir);

  it('keeps its data across restarts, and returns its URL only while it runs', async () => {
    expect(await runningPostgresUrl(dataDir)).to.be.null;
    expect(await runningPostgresUrl(join(dataDir, 'nowhere'))).to.be.null;
    const first = await startNew();
    expect(await runningPostgresUrl(dataDir)).to.equal(first.url);
    await writeRow(first.url);
    await first.stop();
    await first.stop();
    expect(await first.exited).to.deep.equal({ status: 'stopped' });
    expect(await pids()).to.deep.equal([]);
    expect(await runningPostgresUrl(dataDir)).to.be.null;
    await expectRow((await start()).url);
  });

  it('is durable, in UTC, in UTF-8, requires the password, and is closed to other users', async () => {
    const { url, nearestUrl } = await startNew();
    const expected = {
      ...{ fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on', jit: 'off' },
      ...{ TimeZone: 'UTC', server_encoding: 'UTF8', listen_addresses: '127.0.0.1' },
    };
    for (const [name, value] of Object.entries(expected)) {
      const [row] = (await query(url, `SHOW ${name}`)) as Record<string, string>[];
      expect(Object.values(row ?? {}), name).to.deep.equal([value]);
    }
    for (const known of [url, nearestUrl]) {
      const wrong = new URL(known);
      wrong.password = 'wrong';
      expect(await rejection(query(wrong.href, 'SELECT 1'))).to.have.property('code', '28P01');
    }
    const { home, cluster, password, log } = layout();
    for (const path of [dataDir, home]) expect(statSync(path).mode & 0o067, path).to.equal(0);
    expect(statSync(cluster).mode & 0o777).to.equal(0o700);
    for (const file of [password, log]) expect(statSync(file).mode & 0o777, file).to.equal(0o600);
  });

  const overSocket = 'SELECT inet_server_addr() IS NULL AS yes';
  const sockets = (): readonly string[] =>
    readdirSync(layout().cluster).filter((name) => name.startsWith('.s.PGSQL.'));

  it('reports a kill, starts again on a Unix socket, and removes other sockets', async () => {
    const first = await start();
    await writeRow(first.url);
    expect(await query(first.nearestUrl, overSocket)).to.deep.equal([{ yes: true }]);
    expect(await query(first.url, overSocket)).to.deep.equal([{ yes: false }]);
    process.kill(first.pid, 'SIGKILL');
    const exit = await first.exited;
    expect(exit).to.include({ status: 'died', reason: 'signal SIGKILL' });
    expect(exit).to.have.property('output').that.includes('ready to accept connections');
    expect(await runningPostgresUrl(dataDir)).to.be.null;
    writeFileSync(join(layout().cluster, '.s.PGSQL.1'), '');
    const second = await start();
    await expectRow(second.nearestUrl);
    const name = `.s.PGSQL.${second.port}`;
    expect(sockets()).to.have.members([name, `${name}.lock`]);
  });

  it('stops without waiting for a long query', async () => {
    const server = await start();
    const long = query(server.url, 'SELECT count(*) FROM generate_series(1, 1e12)').catch(
      (error: unknown) => error,
    );
    await sleep(300);
    await server.stop();
    expect(await long).to.have.property('code', '57P01');
    expect(await pids()).to.deep.equal([]);
  });

  it('replaces the orphans of a killed supervisor', async () => {
    const child = await startedSupervisor();
    const orphans = await pids();
    await writeRow(await currentUrl());
    await kill(child);
    await sleep(200);
    expect(await pids(), 'orphans').to.include.members(orphans);
    await expectRow(await currentUrl());

    const server = await start();
    expect((await pids()).filter((pid) => orphans.includes(pid))).to.deep.equal([]);
    await expectRow(server.url);
  });

  it('replaces orphaned processes that are stopped (SIGSTOP)', async function () {
    this.timeout(30_000);
    const child = await startedSupervisor();
    await writeRow(await currentUrl());
    await kill(child);
    for (const pid of await pids()) process.kill(pid, 'SIGSTOP');
    await expectRow((await start()).url);
  });

  it('starts after postmaster and supervisor were killed during a long query', async function () {
    if (process.platform !== 'linux') return;
    this.timeout(30_000);
    const child = await startedSupervisor();
    const url = await currentUrl();
    await writeRow(url);
    // The backend computes, so it does not detect the end of its postmaster.
    const long = query(url, 'SELECT count(*) FROM generate_series(1, 1e12)').catch(
      (error: unknown) => error,
    );
    await sleep(300);
    const postmaster = Number(readFileSync(layout().postmasterPid, 'utf8').split('\n')[0]);
    process.kill(postmaster, 'SIGKILL');
    await kill(child);
    await sleep(300);
    const left = await pids();
    expect(left, 'backends without a postmaster').to.have.length(1);
    const server = await start();
    expect((await pids()).filter((pid) => left.includes(pid))).to.deep.equal([]);
    await expectRow(server.url);
    expect(await long).to.be.instanceOf(Error);
  });

  it('starts after the supervisor was killed during its first start', async () => {
    for (const ms of [250, 450, 700]) {
      const child = startSupervisor();
      await sleep(ms);
      await kill(child);
      const server = await startNew();
      await query(server.url, 'SELECT 1');
      await server.stop();
      rmSync(layout().home, { recursive: true });
    }
  });

  it('starts although its pid file names an unrelated process', async () => {
    const first = await start();
    await writeRow(first.url);
    const account = await postgresAccount(layout());
    const postmasterPid = readFileSync(layout().postmasterPid, 'utf8');
    await first.stop();
    // With the same user and working directory.
    const stranger = spawnTracked('sleep', ['60'], { ...account, cwd: layout().cluster });
    await once(stranger, 'spawn');
    writeFileSync(layout().postmasterPid, postmasterPid.replace(/^\d+/, String(stranger.pid)));
    expect(await runningPostgresUrl(dataDir)).to.be.null;
    await expectRow((await start()).url);
    expect(stranger).to.include({ exitCode: null, signalCode: null });
  });

  it('fails with the message of PostgreSQL if it does not start', async () => {
    await (await start()).stop();
    writeFileSync(join(layout().cluster, 'postgresql.conf'), 'no_such_setting = 1\n');
    const failure = await rejection(start());
    expect(failure).to.include({ code: 'SERVER_FAILED', retryable: false });
    expect(failure).to.have.property('message').that.includes('no_such_setting');
  });

  if (!isRoot) return;

  describe('as an unprivileged user', () => {
    needs('setpriv');

    it('starts, and replaces orphans', async function () {
      this.timeout(240_000);
      const mocha = import.meta.resolve('mocha/bin/mocha.js').replace('file://', '');
      const spec = new URL(import.meta.url).pathname;
      const titles = 'keeps|durable|orphaned';
      const args = [mocha, '--no-config', '--timeout', '60000', '--grep', titles, spec];
      // The user cannot read root's template.
      const env = { ...inheritedEnvironment(), [templateVariable]: undefined };
      const child = spawnTracked(process.execPath, args, { uid: 65534, gid: 65534, cwd: '/', env });
      const output: string[] = [];
      child.stdout?.on('data', (chunk: Buffer) => output.push(chunk.toString()));
      child.stderr?.on('data', (chunk: Buffer) => output.push(chunk.toString()));
      const [exitCode] = (await once(child, 'close')) as [number];
      expect(exitCode, output.join('')).to.equal(0);
      expect(output.join('')).to.match(/3 passing/);
    });
  });

  const otherAccount = { uid: 65534, gid: 65534 };

  it('denies other accounts access to its files and processes', async () => {
    const { pid } = await start();
    const { exitCode: read } = await runProgram(otherAccount, 'ls', [layout().cluster]);
    const kill = ['-c', 'kill -9 "$1"', 'sh', String(pid)];
    const { exitCode: ended } = await runProgram(otherAccount, '/bin/sh', kill);
    expect({ read, ended }).to.deep.equal({ read: 2, ended: 1 });
  });

  it('rejects another user than its owner', async () => {
    await start();
    const program = `
      import { runningPostgresUrl, startEmbeddedPostgres } from ${JSON.stringify(index)};
      const [dataDir] = process.argv.slice(1);
      const calls = [runningPostgresUrl(dataDir), startEmbeddedPostgres({ dataDir })];
      for (const result of await Promise.allSettled(calls)) console.log(result.reason.message);`;
    const args = ['--input-type=module', '-e', program, dataDir];
    const stranger = { uid: 12345, gid: 12345, cwd: '/' };
    const output = spawnSync(process.execPath, args, { ...stranger, encoding: 'utf8' });
    const refusal = `${layout().home} belongs to another user; start Linklog as its owner, or set another DATA_DIR`;
    expect(output.stdout).to.equal(`${refusal}\n${refusal}\n`);
  });

  it('names the parent directory that it cannot traverse, and a remedy', async () => {
    const inside = mkdtempSync(join(dataDir, 'data-'));
    const failure = await rejection(startEmbeddedPostgres({ dataDir: inside, logger }));
    expect(failure).to.include({
      code: 'SERVER_UNAVAILABLE',
      message:
        `DATA_DIR ${inside}: the embedded PostgreSQL cannot traverse ${dataDir} (mode 0700); ` +
        'set DATA_DIR to another directory, for example /var/lib/linklog, or set DATABASE_URL',
    });
    expect(statSync(dataDir).mode & 0o777, 'unchanged').to.equal(0o700);
  });
});

describe('local servers: port of the embedded PostgreSQL', () => {
  const folder = folderFixture();

  it('is chosen again if another process has taken it', async () => {
    const dataDir = folder.path;
    await copyClusterTemplate(dataDir);
    const squatter = createServer().listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    const address = squatter.address();
    if (address === null || typeof address === 'string')
      throw new Error('a TCP address is an object');
    const ports = [address.port, address.port, await freePort()];
    const server = await startEmbeddedPostgres({
      dataDir,
      logger,
      findPort: () => Promise.resolve(ports.shift() ?? 0),
    });
    expect(server.port).not.to.equal(address.port);
    expect(ports).to.deep.equal([]);
    await server.stop();
    squatter.close();
  });
});
