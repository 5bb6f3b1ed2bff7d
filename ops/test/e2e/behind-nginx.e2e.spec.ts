import { expect } from 'chai';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { hasCode } from '../../platform/errors.js';
import { projectFile } from '../../platform/files/project-file.js';
import { freePort } from '../../local/process/server.js';
import { sendRequest } from '../support/http.js';
import { temporaryDir } from '../support/process.js';
import { eventually, rejection } from '../support/waiting.js';
import { keyFixture, productFixture, type Link } from './harness.js';
import { fixture } from '../support/fixture.js';

const go = 'go.example.com';
const api = 'api.example.com';

/** The configuration of the document. */
const [, documented = ''] =
  /^```nginx\n(.+?)^```$/ms.exec(readFileSync(projectFile('ops', 'docs', 'tls.md'), 'utf8')) ?? [];

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The client's address: any of 127.0.0.0/8. */
  readonly from?: string;
}

interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Starts nginx with the documented configuration in front of two listeners. */
const startNginx = async (upstreams: Readonly<Record<'edge' | 'api', string>>) => {
  const dir = await temporaryDir();
  const [http, https] = [await freePort(), await freePort()];
  const [certificate, key] = [path.join(dir, 'certificate.pem'), path.join(dir, 'key.pem')];
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
    ...['-days', '1', '-subj', `/CN=${go}`, '-addext', `subjectAltName=DNS:${go},DNS:${api}`],
    ...['-keyout', key, '-out', certificate],
  ]);
  const site = documented
    .replace(/^ *listen \[::\]:.*\n/gm, '')
    .replaceAll('listen 80', `listen 127.0.0.1:${http}`)
    .replaceAll('listen 443', `listen 127.0.0.1:${https}`)
    .replace(/(?<=ssl_certificate ).*(?=;)/, certificate)
    .replace(/(?<=ssl_certificate_key ).*(?=;)/, key)
    .replace('127.0.0.1:8081', new URL(upstreams.edge).host)
    .replace('127.0.0.1:8080', new URL(upstreams.api).host);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const paths = temporary.map((name) => `${name}_temp_path ${path.join(dir, name)};`);
  await writeFile(
    path.join(dir, 'nginx.conf'),
    `daemon off;\npid ${path.join(dir, 'pid')};\nevents {}\n` +
      `http {\naccess_log off;\n${paths.join('\n')}\n${site}}\n`,
  );
  const child: ChildProcess = spawn('nginx', ['-p', dir, '-c', 'nginx.conf', '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = child.stderr === null ? Promise.resolve('') : text(child.stderr);
  const ended = once(child, 'close');
  await eventually('nginx listens', async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${await said}`);
    return sendRequest(`http://127.0.0.1:${http}/`, { headers: { Host: go } }).then(
      () => true,
      (error: unknown) => {
        if (hasCode(error, 'ECONNREFUSED')) return false;
        throw error;
      },
    );
  });
  const ca = await readFile(certificate);
  return {
    http: `http://127.0.0.1:${http}`,
    /** Sends a request over https and verifies the certificate. */
    async get(host: string, target: string, sent: Sent = {}): Promise<Received> {
      const { method, headers, body, from } = sent;
      const outgoing = request({
        ...{ host: '127.0.0.1', port: https, path: target, servername: host, ca },
        ...{ method, headers: { Host: host, ...headers }, localAddress: from },
        agent: false,
      });
      outgoing.end(body);
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
      const { statusCode: status = 0 } = response;
      return { status, headers: response.headers, body: await text(response) };
    },
    async stop(): Promise<void> {
      child.kill();
      await ended;
      await rm(dir, { recursive: true });
    },
  };
};

describe('product: behind the nginx of ops/docs/tls.md', () => {
  const bench = productFixture({
    SHORT_URL_HOST: `https://${go}`,
    OWN_HOSTS: api,
    TRUSTED_PROXIES: '127.0.0.1',
  });
  const nginx = fixture(
    () => startNginx(bench.product),
    (nginx) => nginx.stop(),
  );
  const pro = keyFixture(bench, 'PRO');

  const shorten = (body: object): Promise<Received> =>
    nginx.get(api, '/v2/shorten', {
      method: 'POST',
      headers: { Authorization: `Bearer ${pro.key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });

  const createLink = async (body: object): Promise<Link> => {
    const response = await shorten(body);
    expect(response.status, response.body).to.equal(201);
    return JSON.parse(response.body) as Link;
  };

  it('creates short URLs with https, and redirects them', async () => {
    const url = 'https://example.com/%2e%2e/a//b?c=%20d';
    const { shortUrl, shortCode } = await createLink({ url });
    expect(shortUrl).to.equal(`https://${go}/${shortCode}`);
    const visit = await nginx.get(go, `/${shortCode}`);
    expect([visit.status, visit.headers.location]).to.deep.equal([302, url]);
  });

  it('rejects destinations on its own hosts, with either scheme', async () => {
    for (const url of [go, api].flatMap((host) => [`https://${host}/x`, `http://${host}/x`])) {
      const { status, body } = await shorten({ url });
      expect([status, body], url).to.satisfy(() => status === 400 && body.includes('valid URL'));
    }
  });

  it('throttles each client by its own address, whatever its X-Forwarded-For', async () => {
    const { shortCode } = await createLink({
      url: 'https://example.com/',
      password: 'open sesame',
    });
    const guess = (password: string, from: string, claimed?: string): Promise<Received> =>
      nginx.get(go, `/${shortCode}`, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/x-www-form-urlencoded',
          ...(claimed !== undefined && { 'X-Forwarded-For': claimed }),
        },
        body: new URLSearchParams({ password }).toString(),
        from,
      });
    const guesser = '127.0.0.11';
    for (let attempts = 0; attempts < 5; attempts += 1) {
      expect((await guess('wrong', guesser, `203.0.113.${attempts}`)).status).to.equal(401);
    }
    expect((await guess('open sesame', guesser, '203.0.113.99')).status).to.equal(429);
    expect((await guess('open sesame', guesser, '127.0.0.1')).status).to.equal(429);
    expect((await guess('open sesame', '127.0.0.12', guesser)).status).to.equal(303);
  });

  it('does not expose the admin listener, even with the right token', async () => {
    const headers = { Authorization: `Bearer ${bench.product.adminToken}` };
    for (const host of [go, api]) {
      for (const target of ['/admin/keys', '/admin/platform', '/metrics']) {
        const { status } = await nginx.get(host, target, { headers });
        expect(status, host + target).to.equal(404);
      }
    }
  });

  it('sends Strict-Transport-Security with every response', async () => {
    for (const [host, target, expected] of [
      [go, '/unknown', 404],
      [go, '/robots.txt', 200],
      [api, '/v2/usage', 401],
      [api, '/openapi.json', 200],
    ] as const) {
      const { status, headers } = await nginx.get(host, target);
      expect(status).to.equal(expected);
      expect(headers['strict-transport-security'], target).to.equal('max-age=31536000');
      expect(headers['server']).to.equal('nginx');
    }
  });

  it('redirects http to https, and keeps method, path and query', async () => {
    for (const host of [go, api]) {
      const response = await sendRequest(`${nginx.http}/a%2Fb?c=d`, {
        method: 'POST',
        headers: { Host: host },
        body: '{}',
      });
      expect([response.status, response.headers.location]).to.deep.equal([
        308,
        `https://${host}/a%2Fb?c=d`,
      ]);
    }
  });

  it('rejects other host names', async () => {
    const stranger = 'admin.example.com';
    const headers = { Host: stranger };
    expect(await rejection(sendRequest(`${nginx.http}/`, { headers }))).to.have.property(
      'code',
      'ECONNRESET',
    );
    expect(String(await rejection(nginx.get(stranger, '/')))).to.include('unrecognized name');
    // The host name of the handshake is ours, that of the request is not.
    expect(await rejection(nginx.get(go, '/', { headers }))).to.have.property('code', 'ECONNRESET');
  });
});

describe('product: headers that the nginx of ops/docs/tls.md forwards', () => {
  let headers: IncomingHttpHeaders;
  let nginx: Awaited<ReturnType<typeof startNginx>>;
  const listener = createServer((request, response) => {
    headers = request.headers;
    response.end();
  });

  before(async () => {
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const address = listener.address();
    if (address === null || typeof address === 'string')
      throw new Error('the server listens on no TCP port');
    const url = `http://127.0.0.1:${address.port}`;
    nginx = await startNginx({ edge: url, api: url });
  });
  after(async () => {
    await nginx.stop();
    listener.closeAllConnections();
    listener.close();
  });

  it('have address, host and scheme of the request itself', async () => {
    const claimed = {
      'X-Forwarded-For': '198.51.100.7',
      'X-Forwarded-Host': 'evil.example',
      'X-Forwarded-Proto': 'http',
    };
    for (const host of [go, api]) {
      await nginx.get(host, '/', { headers: claimed, from: '127.0.0.11' });
      expect(headers).to.include({
        host,
        'x-forwarded-for': '198.51.100.7, 127.0.0.11',
        'x-forwarded-host': host,
        'x-forwarded-proto': 'https',
      });
    }
  });
});
