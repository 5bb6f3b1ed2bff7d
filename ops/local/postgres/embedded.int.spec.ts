import { expect } from 'chai';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import pino from 'pino';
import { copyClusterTemplate, templateVariable } from '../../test/support/cluster.js';
import { inheritedEnvironment } from '../../config/config.js';
import { runProgram } from '../process/child.js';
import { freePort } from '../process/server.js';
import { postgresAccount } from './account.js';
import { startEmbeddedPostgres, runningPostgresUrl, type EmbeddedPostgres } from './index.js';
import { layoutOf } from './layout.js';
import { postgresPids } from './orphans.js';

const logger = pino({ level: 'silent' });
const isRoot = process.getuid?.() === 0;

const query = async (url: string, sql: string): Promise<unknown[]> => {
  const client = new pg.Client({ connectionString: url });
  // The server is killed under it in some of these tests.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
};

describe(`local servers: embedded PostgreSQL, started by ${isRoot ? 'root' : 'an ordinary user'}`, () => {
  let dataDir: string;
  let children: ChildProcess[];
  let running: EmbeddedPostgres[];

  beforeEach(() => {
    // Made with mode 0700.
    dataDir = mkdtempSync(join(tmpdir(), 'linklog-embedded-'));
    children = [];
    running = [];
  });

  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    for (const server of running) await server.stop();
    for (const pid of await pids()) process.kill(pid, 'SIGKILL');
    rmSync(dataDir, { recursive: true });
  });

  const pids = async (): Promise<number[]> => {
    const layout = layoutOf(dataDir);
    return postgresPids(layout, await postgresAccount(layout));
  };

  /** Starts it as at the first time, when there is no cluster yet; or again. */
  const startNew = async (): Promise<EmbeddedPostgres> => {
    const server = await startEmbeddedPostgres({ dataDir, logger });
    running.push(server);
    return server;
  };

  /** On a cluster that another start has made, which takes less time. */
  const start = async (): Promise<EmbeddedPostgres> => {
    await copyClusterTemplate(dataDir);
    return startNew();
  };

  const spawnTracked = (...args: Parameters<typeof spawn>): ChildProcess => {
    const child = spawn(...args);
    children.push(child);
    return child;
  };

  /** Another process of ours, which has begun to start PostgreSQL here. */
  const starter = (): ChildProcess =>
    spawnTracked(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { startEmbeddedPostgres } from ${JSON.stringify(new URL('./index.js', import.meta.url).href)};
         import pino from ${JSON.stringify(import.meta.resolve('pino'))};
         await startEmbeddedPostgres({
           dataDir: process.argv[1], logger: pino({ level: 'silent' }) });
         console.log('ready');`,
        dataDir,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );

  const started = async (): Promise<ChildProcess> => {
    await copyClusterTemplate(dataDir);
    const child = starter();
    if (child.stdout === null) throw new Error('spawned without a pipe');
    await once(child.stdout, 'data');
    return child;
  };

  const killed = async (child: ChildProcess): Promise<void> => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };

  const urlNow = async (): Promise<string> => {
    const url = await runningPostgresUrl(dataDir);
    if (url === null) throw new Error('it is not running');
    return url;
  };

  /** Makes a table of one row, before a test does something to the server. */
  const writeRow = (url: string): Promise<unknown[]> =>
    query(url, 'CREATE TABLE kept AS SELECT 42 AS n');

  const expectRow = async (url: string): Promise<void> => {
    expect(await query(url, 'SELECT n FROM kept')).to.deep.equal([{ n: 42 }]);
  };

  const layout = (): ReturnType<typeof layoutOf> => layoutOf(dataDir);

  it('keeps its data from one start to the next', async () => {
    const first = await startNew();
    await writeRow(first.url);
    await first.stop();
    await first.stop();
    expect(await first.exited).to.deep.equal({ status: 'stopped' });
    expect(await pids()).to.deep.equal([]);
    expect(await runningPostgresUrl(dataDir)).to.be.null;

    const second = await start();
    await expectRow(second.url);
  });

  it('is durable, in UTC, in UTF-8, and open to nobody without the password', async () => {
    const { url, nearestUrl } = await startNew();
    const shown = (await query(
      url,
      `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit',
       'full_page_writes', 'TimeZone', 'server_encoding', 'listen_addresses', 'jit')`,
    )) as { name: string; setting: string }[];
    expect(Object.fromEntries(shown.map(({ name, setting }) => [name, setting]))).to.deep.equal({
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      TimeZone: 'UTC',
      server_encoding: 'UTF8',
      listen_addresses: '127.0.0.1',
      jit: 'off',
    });
    for (const known of [url, nearestUrl]) {
      const wrong = new URL(known);
      wrong.password = 'wrong';
      const refusal = await query(wrong.href, 'SELECT 1').catch((error: unknown) => error);
      expect(refusal).to.have.property('code', '28P01');
    }
  });

  const overSocket = 'SELECT inet_server_addr() IS NULL AS yes';
  const sockets = (): readonly string[] =>
    readdirSync(layout().cluster).filter((name) => name.startsWith('.s.PGSQL.'));

  it('has a Unix socket, and removes those of servers that were killed', async () => {
    const first = await start();
    expect(await query(first.nearestUrl, overSocket)).to.deep.equal([{ yes: true }]);
    expect(await query(first.url, overSocket)).to.deep.equal([{ yes: false }]);
    process.kill(first.pid, 'SIGKILL');
    await first.exited;
    writeFileSync(join(layout().cluster, '.s.PGSQL.1'), '');
    const second = await start();
    expect(await query(second.nearestUrl, overSocket)).to.deep.equal([{ yes: true }]);
    const name = `.s.PGSQL.${second.port}`;
    expect(sockets()).to.have.members([name, `${name}.lock`]);
  });

  it('is reached by TCP where the path of a socket would be too long', async () => {
    const deep = join(dataDir, 'a'.repeat(80));
    mkdirSync(deep);
    // PostgreSQL's account has to pass it.
    chmodSync(dataDir, 0o755);
    const server = await startEmbeddedPostgres({ dataDir: deep, logger });
    try {
      expect(server.nearestUrl).to.equal(server.url);
      expect(await query(server.nearestUrl, overSocket)).to.deep.equal([{ yes: false }]);
    } finally {
      await server.stop();
    }
  });

  it('lets no other user list a data directory of mode 0700', async () => {
    await startNew();
    expect(statSync(dataDir).mode & 0o067).to.equal(0);
    expect(statSync(layout().home).mode & 0o067).to.equal(0);
    expect(statSync(layout().cluster).mode & 0o777).to.equal(0o700);
    expect(statSync(layout().password).mode & 0o777).to.equal(0o600);
    expect(statSync(layout().log).mode & 0o777).to.equal(0o600);
  });

  it('gives its URL only while it runs', async () => {
    expect(await runningPostgresUrl(dataDir)).to.be.null;
    expect(await runningPostgresUrl(join(dataDir, 'nowhere'))).to.be.null;
    const server = await start();
    expect(await runningPostgresUrl(dataDir)).to.equal(server.url);
    await server.stop();
    expect(await runningPostgresUrl(dataDir)).to.be.null;
  });

  it('reports that it was killed, and starts again', async () => {
    const server = await start();
    await writeRow(server.url);
    process.kill(server.pid, 'SIGKILL');
    const exit = await server.exited;
    expect(exit).to.include({ status: 'died', reason: 'signal SIGKILL' });
    expect(exit).to.have.property('output').that.includes('ready to accept connections');
    expect(await runningPostgresUrl(dataDir)).to.be.null;
    await expectRow((await start()).url);
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

  it('is taken over when only our process was killed', async () => {
    const child = await started();
    const orphans = await pids();
    await writeRow(await urlNow());
    await killed(child);
    await sleep(200);
    expect(await pids(), 'orphans').to.include.members(orphans);
    await expectRow(await urlNow());

    const server = await start();
    expect((await pids()).filter((pid) => orphans.includes(pid))).to.deep.equal([]);
    await expectRow(server.url);
  });

  it('is taken over when it was stopped (SIGSTOP) as well as orphaned', async function () {
    this.timeout(30_000);
    const child = await started();
    await writeRow(await urlNow());
    await killed(child);
    for (const pid of await pids()) process.kill(pid, 'SIGSTOP');
    await expectRow((await start()).url);
  });

  it('starts after everything was killed at once', async () => {
    const child = await started();
    await writeRow(await urlNow());
    const all = [...(await pids()), child.pid ?? 0];
    for (const pid of all) process.kill(pid, 'SIGKILL');
    await expectRow((await start()).url);
  });

  it('starts after postmaster and our process were killed during a long query', async function () {
    if (process.platform !== 'linux') return;
    this.timeout(30_000);
    const child = await started();
    const url = await urlNow();
    await writeRow(url);
    // It computes and never waits, so it does not notice that its postmaster is gone.
    const long = query(url, 'SELECT count(*) FROM generate_series(1, 1e12)').catch(
      (error: unknown) => error,
    );
    await sleep(300);
    const postmaster = Number(readFileSync(layout().postmasterPid, 'utf8').split('\n')[0]);
    process.kill(postmaster, 'SIGKILL');
    await killed(child);
    await sleep(300);
    const left = await pids();
    expect(left, 'backends without a postmaster').to.have.length(1);
    const server = await start();
    expect((await pids()).filter((pid) => left.includes(pid))).to.deep.equal([]);
    await expectRow(server.url);
    expect(await long).to.be.instanceOf(Error);
  });

  for (const ms of [250, 450, 700]) {
    it(`starts after our process was killed ${ms} ms into its first start`, async () => {
      const child = starter();
      await sleep(ms);
      await killed(child);
      const { url } = await startNew();
      await writeRow(url);
    });
  }

  it('starts although its pid file names another process now, which lives on', async () => {
    const first = await start();
    await writeRow(first.url);
    const account = await postgresAccount(layout());
    const postmasterPid = readFileSync(layout().postmasterPid, 'utf8');
    await first.stop();
    // The same user, and even the same current directory.
    const stranger = spawnTracked('sleep', ['60'], { ...account, cwd: layout().cluster });
    await once(stranger, 'spawn');
    writeFileSync(layout().postmasterPid, postmasterPid.replace(/^\d+/, String(stranger.pid)));
    expect(await runningPostgresUrl(dataDir)).to.be.null;
    await expectRow((await start()).url);
    expect(stranger).to.include({ exitCode: null, signalCode: null });
  });

  it('starts although its pid file is empty', async () => {
    await (await start()).stop();
    writeFileSync(layout().postmasterPid, '');
    await start();
  });

  it('fails with PostgreSQL’s own message when it does not start', async () => {
    await (await start()).stop();
    writeFileSync(join(layout().cluster, 'postgresql.conf'), 'no_such_setting = 1\n');
    const failure = await start().catch((error: unknown) => error);
    expect(failure).to.include({ code: 'SERVER_FAILED', retryable: false });
    expect(failure).to.have.property('message').that.includes('no_such_setting');
  });

  it('does not start without its password file', async () => {
    await (await start()).stop();
    rmSync(layout().password);
    const failure = await start().catch((error: unknown) => error);
    expect(failure).to.have.property('message').that.includes(layout().password);
  });

  if (!isRoot) return;

  it('starts, and takes over what was killed, when an ordinary user starts it, too', async function () {
    this.timeout(120_000);
    const mocha = import.meta.resolve('mocha/bin/mocha.js').replace('file://', '');
    const spec = new URL(import.meta.url).pathname;
    const some = 'keeps|durable|orphaned|killed at once|no other user';
    const args = [mocha, '--no-config', '--timeout', '30000', '--grep', some, spec];
    // It cannot read root's template.
    const env = { ...inheritedEnvironment(), [templateVariable]: undefined };
    const child = spawnTracked(process.execPath, args, { uid: 65534, gid: 65534, cwd: '/', env });
    const said: string[] = [];
    child.stdout?.on('data', (chunk: Buffer) => said.push(chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => said.push(chunk.toString()));
    const [exitCode] = (await once(child, 'close')) as [number];
    expect(exitCode, said.join('')).to.equal(0);
    expect(said.join('')).to.match(/5 passing/);
  });

  const nobody = { uid: 65534, gid: 65534 };

  it('lets no other service, which may run as nobody, read its files or end it', async () => {
    const { pid } = await start();
    const { exitCode: read } = await runProgram(nobody, 'ls', [layout().cluster]);
    const kill = ['-c', 'kill -9 "$1"', 'sh', String(pid)];
    const { exitCode: ended } = await runProgram(nobody, '/bin/sh', kill);
    expect({ read, ended }).to.deep.equal({ read: 2, ended: 1 });
  });

  it('takes over what earlier versions ran as nobody', async () => {
    const first = await start();
    await writeRow(first.url);
    await first.stop();
    spawnSync('chown', ['-R', `${nobody.uid}:${nobody.gid}`, layout().cluster]);
    spawnSync('chown', [`0:${nobody.gid}`, layout().home, dataDir]);
    const { url, pid } = await start();
    await expectRow(url);
    expect(statSync(`/proc/${pid}`).uid).not.to.equal(nobody.uid);
    const { stdout } = await runProgram(null, 'find', [
      dataDir,
      '-uid',
      '65534',
      '-o',
      '-gid',
      '65534',
    ]);
    expect(stdout).to.equal('');
  });

  it('runs as the owner of the cluster', async () => {
    const { uid, gid } = { uid: 12345, gid: 54321 };
    await (await start()).stop();
    spawnSync('chown', ['-R', `${uid}:${gid}`, layout().cluster]);
    chmodSync(dataDir, 0o700);
    // PostgreSQL asks /etc/passwd for no name at its start, unlike initdb.
    const server = await start();
    expect(statSync(`/proc/${server.pid}`)).to.include({ uid, gid });
  });

  it('refuses another user than its owner', async () => {
    await start();
    const said = spawnSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { runningPostgresUrl, startEmbeddedPostgres } from ${JSON.stringify(new URL('./index.js', import.meta.url).href)};
         const [dataDir] = process.argv.slice(1);
         const tries = [runningPostgresUrl(dataDir), startEmbeddedPostgres({ dataDir })];
         for (const each of await Promise.allSettled(tries)) console.log(each.reason.message);`,
        dataDir,
      ],
      { uid: 12345, gid: 12345, encoding: 'utf8', cwd: '/' },
    );
    const refusal = `${layout().home} belongs to another user; start Linklog as the user who made it, or give it another DATA_DIR`;
    expect(said.stdout).to.equal(`${refusal}\n${refusal}\n`);
  });

  it('names the parent directory that it cannot pass, and a place that works', async () => {
    const inside = mkdtempSync(join(dataDir, 'data-'));
    const failure = await startEmbeddedPostgres({ dataDir: inside, logger }).catch(
      (error: unknown) => error,
    );
    expect(failure).to.include({
      code: 'SERVER_UNAVAILABLE',
      message:
        `DATA_DIR ${inside}: the embedded PostgreSQL cannot pass ${dataDir} (mode 0700); ` +
        'set DATA_DIR to a place it can reach, for example /var/lib/linklog, or set DATABASE_URL',
    });
    expect(statSync(dataDir).mode & 0o777, 'left as it was').to.equal(0o700);
  });

  it('does not take another group’s rights away', async () => {
    spawnSync('chown', ['0:54321', dataDir]);
    chmodSync(dataDir, 0o750);
    const failure = await startNew().catch((error: unknown) => error);
    expect(failure).to.have.property('message').that.includes(`cannot pass ${dataDir} (mode 0750)`);
    expect(statSync(dataDir)).to.include({ gid: 54321 });
  });
});

describe('local servers: port of the embedded PostgreSQL', () => {
  it('is chosen again when another process took it first', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'linklog-embedded-'));
    await copyClusterTemplate(dataDir);
    const squatter = createServer().listen(0, '127.0.0.1');
    await once(squatter, 'listening');
    const address = squatter.address();
    if (address === null || typeof address === 'string') throw new Error('it has a port');
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
    rmSync(dataDir, { recursive: true });
  });
});
