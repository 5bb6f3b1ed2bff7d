import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { copyClusterTemplate } from '../support/cluster.js';
import { sendRequest, concurrently } from '../support/http.js';
import { postgresOf, startProduct, type Product } from '../support/product.js';
import { Bench, destination, passwordForm, productFixture, type Link } from './harness.js';
import { eventually, eventuallyPasses, within } from '../support/waiting.js';
import {
  type EndedProcess,
  launch,
  readyLine,
  runToEnd,
  temporaryDir,
} from '../support/process.js';
import { connectTo } from '../support/raw-http.js';
import { needs } from '../support/needs.js';

const emptyVariables = [
  ...['HOST', 'API_HOST', 'ADMIN_HOST', 'SHORT_URL_HOST', 'UPGRADE_URL'],
  ...['DATABASE_URL', 'KAFKA_BROKERS', 'REDIS_URL', 'EVENTSTORE_URL', 'PLANS_FILE', 'GEOIP_FILE'],
  ...['ROOT_REDIRECT', 'LOG_LEVEL', 'SPOOL_MAX_BYTES', 'SPOOL_FSYNC'],
];

/** The lines of stderr that are not log lines. */
const ownLines = ({ stderr }: EndedProcess): string[] =>
  stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{"level":'));

/** Warnings and errors. */
const warnings = (stderr: string): string[] =>
  stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .filter((line) => (JSON.parse(line) as { level: number }).level > 30);

describe('product: process', () => {
  let dir: string;
  let benches: Bench[];

  beforeEach(async () => {
    dir = await temporaryDir();
    benches = [];
  });

  afterEach(async () => {
    for (const bench of benches) await bench.product.cleanup();
    await rm(dir, { recursive: true, force: true });
  });

  const start = async (env: Record<string, string> = {}, dataDir = dir): Promise<Bench> => {
    const bench = new Bench();
    bench.use(await startProduct({ env, dataDir }));
    benches.push(bench);
    return bench;
  };

  // config.unit.spec.ts tests each variable.
  for (const [env, name] of [
    [{ DATABASE_URL: 'mysql://user:short-secret@localhost/x' }, 'DATABASE_URL'],
    [{ GEOIP_FILE: '/dev/null' }, 'GEOIP_FILE'],
    [{ DESTINATION_SCHEMES: 'mailto,javascript' }, 'DESTINATION_SCHEMES'],
    [{ DATA_DIR: '/dev/null/data' }, 'DATA_DIR'],
    [{ DATA_DIR: '/proc/linklog/data' }, 'DATA_DIR'],
  ] as const) {
    it(`exits with code 78 and one line that names the invalid variable: ${JSON.stringify(env)}`, async () => {
      const dataDir = path.join(dir, 'new');
      const ended = await runToEnd({ DATA_DIR: dataDir, ...env });
      expect(ended).to.include({ exitCode: 78, stdout: '' });
      expect(ended.stderr).to.match(new RegExp(`^linklog: ${name}[ :][^\n]+\n$`));
      expect(ended.stderr).not.to.include('secret');
      expect(existsSync(dataDir)).to.equal(false);
    });
  }

  it('does not start on the cluster of another PostgreSQL version, and names it', async () => {
    const dataDir = path.join(dir, 'of-17');
    const cluster = path.join(dataDir, 'postgres', 'cluster');
    await mkdir(cluster, { recursive: true });
    await writeFile(path.join(cluster, 'PG_VERSION'), '17\n');
    // Under root, PostgreSQL runs as the owner of the cluster.
    if (process.getuid?.() === 0) await chown(cluster, 65_534, 65_534);
    const ended = await runToEnd({ DATA_DIR: dataDir });
    expect(ended).to.include({ exitCode: 78, stdout: '' });
    expect(ended.stderr).to.match(
      /^linklog: [^\n]+ PostgreSQL 17, [^\n]+ "linklog backup"[^\n]+\n$/,
    );
  });

  it('names the variable of a port that is in use, and leaves no process running', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await copyClusterTemplate(dir);
    const ended = await runToEnd({ DATA_DIR: dir, EDGE_PORT: String(port) });
    other.close();
    expect(ended).to.include({ exitCode: 78, stdout: '' });
    expect(ownLines(ended)).to.deep.equal([
      `linklog: EDGE_PORT ${port} is in use on 127.0.0.1: choose another port`,
    ]);
    expect(await postgresOf(dir)).to.deep.equal([]);
  });

  describe('while it runs', () => {
    const shared = productFixture(Object.fromEntries(emptyVariables.map((name) => [name, ''])));

    it('prints a ready line with addresses, pid, first key with its file, and console only', async () => {
      const { api, edge, admin, pid, firstKey } = shared.product;
      const ready = shared.product.ready as { readonly console: string };
      expect(ready.console.startsWith(`${api}/console#t=`)).to.equal(true);
      expect(ready).to.deep.equal({
        event: 'ready',
        api,
        edge,
        admin,
        pid,
        firstKey,
        firstKeyHeader: path.join(shared.product.dataDir, 'first-key.header'),
        console: ready.console,
      });
      for (const address of [api, edge, admin]) {
        expect(address).to.match(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
        expect((await sendRequest(`${address}/health`)).status).to.equal(200);
      }
      const lines = shared.product.stdout().trimEnd().split('\n');
      expect(JSON.parse(lines.at(-1) ?? '')).to.deep.equal(shared.product.ready);
      expect(lines.filter((line) => line.startsWith('{'))).to.have.length(1);
    });

    describe('prints a curl command', () => {
      needs('curl');

      it('that works, without the key in its arguments', async () => {
        const lines = shared.product.stdout().split('\n');
        const curl = lines.find((line) => line.startsWith('curl ')) ?? '';
        const header = path.join(shared.product.dataDir, 'first-key.header');
        expect(curl).to.include(` -H @${header}`).and.not.include('ll_');
        expect((await stat(header)).mode & 0o777).to.equal(0o600);
        const { stdout } = await promisify(execFile)('bash', ['-c', curl]);
        const link = JSON.parse(stdout) as Link;
        expect(link.url).to.equal('https://example.com/');
        const visit = await sendRequest(link.shortUrl);
        expect([visit.status, visit.headers.location]).to.deep.equal([302, 'https://example.com/']);
      });
    });

    it('treats an empty variable as unset', async () => {
      expect((await shared.visit('')).status).to.equal(404);
    });
  });

  /** Sends a POST with half of its body. */
  const sendHalf = async (
    { api, firstKey }: Product,
    alias: string,
  ): Promise<{ finish(): Promise<string> }> => {
    const body = JSON.stringify({ url: destination, alias });
    const connection = await connectTo(api);
    connection.socket.write(
      `POST /v2/shorten HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${firstKey ?? ''}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
        `Expect: 100-continue\r\n\r\n`,
    );
    // The server has started to process the request.
    await connection.until(/^HTTP\/1\.1 100 /);
    connection.socket.write(body.slice(0, 10));
    return {
      finish() {
        connection.socket.write(body.slice(10));
        return connection.until(/"createdAt":"[^"]+"\}/);
      },
    };
  };

  const expectRefused = async (address: string): Promise<void> => {
    await eventuallyPasses(async () => {
      const failure: unknown = await connectTo(address).then(
        ({ socket }) => {
          socket.destroy();
          return null;
        },
        (error: unknown) => error,
      );
      expect(failure).to.have.property('code', 'ECONNREFUSED');
    });
  };

  it('drains at SIGTERM: completes requests in flight, refuses new connections', async () => {
    const bench = await start();
    const { product } = bench;
    const idle = await connectTo(product.edge);
    const request = await sendHalf(product, 'in-flight');
    const persistent = await connectTo(product.api);
    persistent.socket.write('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    await persistent.until(/pass/);
    process.kill(product.pid, 'SIGTERM');
    await expectRefused(product.api);
    expect(await request.finish()).to.include('"shortCode":"in-flight"');
    // No `stop()`: a second SIGTERM would end the process immediately.
    const ended = await within(10_000, 'the process ends', product.ended);
    expect(ended).to.include({ exitCode: 0, signal: null });
    // Connections without a request do not delay the end.
    expect(await idle.closed(0)).to.be.a('number');
    expect(await persistent.closed(0)).to.be.a('number');
    expect(await postgresOf(dir)).to.deep.equal([]);
    expect(ownLines(ended)).to.deep.equal([]);
    // On a busy machine, a periodic task of the start may not get its connection in time; it tries again.
    const causedByDrain = warnings(ended.stderr).filter((line) => !line.includes('trying again'));
    expect(causedByDrain).to.deep.equal([]);
  });

  const expectDraining = ({ api, edge, admin }: Product): Promise<void> =>
    eventuallyPasses(async () => {
      for (const listener of [api, edge, admin]) {
        const { status, text } = await sendRequest(`${listener}/health/ready`);
        expect(status, text).to.equal(503);
        expect(JSON.parse(text)).to.have.property('status', 'draining');
      }
    });

  it('ends at SIGTERM in a first start before it creates a key, which the next start prints', async () => {
    const begin = () => launch({ DATA_DIR: dir });
    const interrupted = begin();
    await eventually('the first start', () => existsSync(path.join(dir, 'postgres')));
    interrupted.child.kill('SIGTERM');
    const ended = await within(30_000, 'the process ends', interrupted.ended);
    expect(ended).to.include({ exitCode: 0, stdout: '' });
    expect(await postgresOf(dir)).to.deep.equal([]);
    const next = begin();
    expect(await readyLine(next)).to.have.property('firstKey');
    next.child.kill('SIGTERM');
    expect(await next.ended).to.include({ exitCode: 0 });
  });

  it('is not ready for DRAIN_DELAY_MS, serves, then drains', async () => {
    const bench = await start({ DRAIN_DELAY_MS: '6000' });
    const { product } = bench;
    process.kill(product.pid, 'SIGTERM');
    await expectDraining(product);
    const { shortCode } = await bench.link(product.firstKey ?? '');
    const options = { headers: { Connection: 'close' } };
    expect((await bench.visit(shortCode, options)).status).to.equal(302);
    expect((await sendRequest(`${product.admin}/health`)).status).to.equal(200);
    expect(await within(16_000, 'the process ends', product.ended)).to.include({ exitCode: 0 });
  });

  // chaos/kill.e2e.spec.ts kills all but PostgreSQL.
  it('keeps everything through kill -9 of everything', async () => {
    const before = await start();
    const { firstKey, adminToken } = before.product;
    if (firstKey === null) throw new Error('the ready line has no first key');
    const free = await before.key('FREE');
    const body = { url: destination, alias: 'stored', expiresIn: 3_600 };
    const retry = { 'Idempotency-Key': 'stored' };
    const first = await before.shorten(firstKey, body, retry);
    expect(first.status).to.equal(201);
    const limited = await before.link(free.key, { maxClicks: 3 });
    await before.visit(limited.shortCode);
    for (let call = 0; call < 30; call += 1) await before.api('/v2/usage', free.key);
    const visits = await concurrently(100, () => before.visit('stored'));
    expect(visits.filter(({ status }) => status === 302)).to.have.length(100);
    await before.product.killTree();

    const after = await start();
    expect(after.product.firstKey).to.equal(null);
    expect(after.product.stdout()).to.match(/^\{[^\n]+\}\n$/);
    expect(after.product.ready).not.to.have.property('firstKey');
    expect(after.product.adminToken).to.equal(adminToken);

    const again = await after.shorten(firstKey, body, retry);
    expect(again.headers['idempotency-replayed']).to.equal('true');
    expect(again.text).to.equal(first.text);
    const taken = await after.shorten(firstKey, body);
    expect(taken.json()).to.include({ statusCode: 400, message: 'Alias is already taken' });
    await after.expectClicks('stored', firstKey, 100);
    expect((await after.stats(limited.shortCode, free.key)).clickCount).to.equal(1);
    for (const status of [302, 302, 410]) {
      expect((await after.visit(limited.shortCode)).status).to.equal(status);
    }
    const usage = await after.api('/v2/usage', free.key);
    expect(usage.json()).to.deep.include({
      calls: { used: 2, limit: 2_000 },
      links: { used: 1, limit: 35 },
    });
    // The window continues: 31 calls before, two after.
    expect(usage.headers['x-ratelimit-remaining']).to.equal(String(60 - 31 - 2));
  });

  it('logs no key, destination or client address, at LOG_LEVEL=trace', async () => {
    const client = '127.0.0.77';
    const bench = await start({ LOG_LEVEL: 'trace' });
    const { product } = bench;
    const { key } = await bench.key('PRO', { name: 'SecretName' });
    const url = 'https://secret-destination.example/SecretPath?token=SecretToken#SecretFragment';
    const options = { localAddress: client, headers: { Authorization: `Bearer ${key}` } };
    const post = (body: unknown, query = ''): ReturnType<typeof sendRequest> =>
      sendRequest(`${product.api}/v2/shorten${query}`, { ...options, method: 'POST', body });
    const created = await post({ url, alias: 'logged-link', password: null }, '?q=SecretQuery');
    expect(created.status).to.equal(201);
    const limited = (await post({ url, maxClicks: 1 })).json() as Link;
    expect((await post({ url, alias: 'locked', password: 'SecretPassword' })).status).to.equal(201);
    expect((await post({ url: `ftp://${url}` })).status).to.equal(400);
    expect((await post({ url, alias: 'Secret Alias' })).status).to.equal(400);
    for (const code of ['logged-link', limited.shortCode, limited.shortCode, 'nothing0']) {
      await sendRequest(`${product.edge}/${code}?q=SecretQuery`, { localAddress: client });
    }
    for (const password of ['SecretGuess', 'SecretPassword']) {
      await bench.visit('locked', passwordForm(password, { localAddress: client }));
    }
    await sendRequest(`${product.api}/v2/stats/logged-link?q=SecretQuery`, options);
    await sendRequest(`${product.api}/v2/usage`, {
      ...options,
      headers: { Authorization: 'Bearer SecretKey' },
    });
    await sendRequest(`${product.admin}/admin/keys?after=SecretQuery`, {
      ...options,
      headers: { Authorization: `Bearer ${product.adminToken}` },
    });
    const { firstKey, adminToken } = product;
    const { stdout, stderr } = await product.stop();
    // Requests are logged, secrets are not.
    expect(stderr).to.include('"path":"/v2/shorten"');
    const greeting = stdout.replace(firstKey ?? '', '').replace(firstKey ?? '', '');
    const said = stderr + greeting.replace(firstKey ?? '', '');
    for (const secret of [key, firstKey, adminToken, 'Secret', 'secret-', client]) {
      expect(secret).to.be.a('string');
      expect(said).not.to.include(secret);
    }
  });
});
