import { expect } from 'chai';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createAdminClient, type AdminClient } from './client.js';
import { CliError } from './errors.js';

const key = (id: string) => ({
  id,
  name: 'a key',
  plan: 'PRO',
  account: 'default',
  scopes: ['qr:read'],
  active: true,
  rootId: id,
  expiresAt: null,
  createdAt: '2026-05-20T12:00:00.000Z',
});

const keyWithUsage = (id: string) => ({
  ...key(id),
  lastUsedAt: null,
  usage: {
    minute: { used: 0, limit: 5_000 },
    month: { month: '2026-05-01', calls: 0, links: 0, qrCodes: 0 },
  },
});

describe('CLI: client of the admin API', () => {
  let server: Server;
  let url: string;
  let client: AdminClient;
  let respond: (request: IncomingMessage, response: ServerResponse) => void;

  beforeEach(async () => {
    server = createServer((request, response) => {
      respond(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    client = createAdminClient({ url, token: 'the-token', shortUrlHost: null }, 'ada');
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const respondWith = (
    status: number,
    body: unknown,
    headers: Record<string, string> = {},
  ): void => {
    respond = (_request, response) => {
      response.writeHead(status, headers).end(JSON.stringify(body));
    };
  };

  const failure = async (work: Promise<unknown>): Promise<[string, string]> => {
    try {
      await work;
    } catch (error) {
      if (error instanceof CliError) return [error.code, error.message.replaceAll(url, 'URL')];
      throw error;
    }
    throw new Error('the call succeeded');
  };

  it('sends the actor and the admin token', async () => {
    const requests: unknown[] = [];
    respond = (request, response) => {
      void text(request).then((body) => {
        const { method, url: path, headers } = request;
        const { authorization, 'x-actor': actor, 'content-type': type } = headers;
        requests.push({ method, path, authorization, actor, type, body });
        response.writeHead(200).end(JSON.stringify(key('7')));
      });
    };
    await client.changeKey('a/../b', { plan: 'FREE' });
    await client.revokeKey('7');
    const by = { authorization: 'Bearer the-token', actor: 'ada' };
    expect(requests).to.deep.equal([
      {
        ...by,
        method: 'PATCH',
        path: '/admin/keys/a%2F..%2Fb',
        type: 'application/json',
        body: '{"plan":"FREE"}',
      },
      { ...by, method: 'DELETE', path: '/admin/keys/7', type: undefined, body: '' },
    ]);
  });

  it('reads every page of keys', async () => {
    const paths: (string | undefined)[] = [];
    respond = (request, response) => {
      paths.push(request.url);
      const first = paths.length === 1;
      const page = { keys: [keyWithUsage(first ? 'a' : 'b')], next: first ? 'a&b' : null };
      response.writeHead(200).end(JSON.stringify(page));
    };
    const keys = await client.listKeys();
    expect(keys.map(({ id }) => id)).to.deep.equal(['a', 'b']);
    expect(paths).to.deep.equal(['/admin/keys?limit=1000', '/admin/keys?limit=1000&after=a%26b']);
  });

  it('queries whether the host of a short URL is an active domain, from closely before its name', async () => {
    const domain = (name: string) => ({
      domain: name,
      account: 'acme',
      status: 'active',
      verification: null,
      rootRedirect: null,
      notFoundRedirect: null,
      expiredRedirect: null,
      linkCount: 0,
      createdAt: '2026-05-20T12:00:00.000Z',
      verifiedAt: '2026-05-20T12:00:00.000Z',
    });
    const pages = [
      { domains: [domain('go.acme.co-a')], next: 'go.acme.co-a' },
      { domains: [domain('go.acme.com')], next: null },
      { domains: [domain('go.b.example')], next: 'go.b.example' },
    ];
    const paths: (string | undefined)[] = [];
    respond = (request, response) => {
      paths.push(request.url);
      const page = request.url?.startsWith('/admin/domains') ? pages.shift() : undefined;
      response.writeHead(page ? 200 : 404).end(JSON.stringify(page ?? { message: 'unknown' }));
    };
    for (const text of [
      'https://go.acme.com/spring',
      'http://go.a.example/spring',
      'a.example/x',
    ]) {
      expect(await failure(client.findLink(text))).to.deep.equal(['REFUSED', 'unknown']);
    }
    expect(paths).to.deep.equal([
      '/admin/domains?limit=1000&after=go.acme.co',
      '/admin/domains?limit=1000&after=go.acme.co-a',
      '/admin/links/spring?domain=go.acme.com',
      '/admin/domains?limit=1000&after=go.a.exampl',
      '/admin/links/spring',
      '/admin/links/x?domain=a.example',
    ]);
  });

  it('reports whether the event of a change is in the log', async () => {
    respondWith(200, key('7'));
    expect((await client.revokeKey('7')).inLog).to.be.true;
    respondWith(202, key('7'));
    expect((await client.revokeKey('7')).inLog).to.be.false;
    respondWith(202, { ...key('7'), key: 'll_x' });
    const created = await client.createKey({ name: 'n', plan: 'PRO' });
    expect([created.inLog, created.value.key]).to.deep.equal([false, 'll_x']);
  });

  it("reports the API's message, and the request id of a 5xx response", async () => {
    respondWith(409, { message: 'This API key has been revoked' });
    expect(await failure(client.revokeKey('7'))).to.deep.equal([
      'REFUSED',
      'This API key has been revoked',
    ]);
    respondWith(500, { message: 'Internal server error' }, { 'X-Request-Id': 'r-1' });
    expect(await failure(client.findKey('7'))).to.deep.equal([
      'UNAVAILABLE',
      'Internal server error (see request r-1 in its log)',
    ]);
  });

  it('distinguishes a missing and a wrong token', async () => {
    respondWith(401, { message: 'Admin token required' });
    const remedy = 'set ADMIN_TOKEN or DATA_DIR as for the service';
    expect(await failure(client.listKeys())).to.deep.equal([
      'REFUSED',
      `the service at URL rejects this admin token: ${remedy}`,
    ]);
    client = createAdminClient({ url, token: null, shortUrlHost: null }, 'ada');
    expect(await failure(client.listKeys())).to.deep.equal([
      'REFUSED',
      `the service at URL requires its admin token: ${remedy}`,
    ]);
  });

  it('detects another server and another version of Linklog', async () => {
    respond = (_request, response) => {
      response.writeHead(404).end('<html>');
    };
    expect(await failure(client.findKey('7'))).to.deep.equal([
      'BAD_RESPONSE',
      'the server at URL is not Linklog (HTTP 404)',
    ]);
    respondWith(200, { keys: [{ ...keyWithUsage('7'), plan: 'GOLD' }], next: null });
    const [code, message] = await failure(client.listKeys());
    expect(code).to.equal('BAD_RESPONSE');
    expect(message).to.match(/^the server at URL is not this version of Linklog \(keys\.0\.plan: /);
    respondWith(302, {}, { Location: 'http://127.0.0.1:1/' });
    expect(await failure(client.listKeys())).to.deep.equal([
      'BAD_RESPONSE',
      'the server at URL is not Linklog (HTTP 302)',
    ]);
  });

  it('reports that a change without a response may have taken effect', async () => {
    respond = (request) => request.socket.destroy();
    expect(await failure(client.listKeys())).to.deep.equal([
      'BAD_RESPONSE',
      'the connection to URL failed: socket hang up',
    ]);
    expect(await failure(client.revokeKey('7'))).to.deep.equal([
      'BAD_RESPONSE',
      'the connection to URL failed: socket hang up; ' +
        'the change may have taken effect: see "linklog keys list"',
    ]);
    respond = (_request, response) => {
      response.writeHead(200, { 'Content-Length': '99' }).write('{');
      setTimeout(() => response.destroy(), 10);
    };
    expect(await failure(client.listKeys())).to.deep.equal([
      'BAD_RESPONSE',
      'the connection to URL failed: aborted',
    ]);
  });

  it('reports how to start the service if none listens', async () => {
    server.close();
    await once(server, 'close');
    expect(await failure(client.listKeys())).to.deep.equal([
      'NO_SERVICE',
      'no service listens at URL; start it with "npm start"',
    ]);
  });

  it('reads the health of a service that is not ready', async () => {
    const report = {
      status: 'fail',
      dependencies: { postgres: { state: 'down', code: 'TIMEOUT' }, log: { state: 'up' } },
      projections: [{ name: 'stats', lag: null, deadLetters: 0, parked: 0 }],
      spool: null,
      missingEvents: [],
      compaction: null,
      maintenance: null,
    };
    respondWith(503, report);
    expect(await client.health()).to.deep.equal(report);
  });
});
