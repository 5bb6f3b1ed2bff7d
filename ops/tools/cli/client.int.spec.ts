import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { rejection } from '../../test/support/waiting.js';
import { createAdminClient, type AdminClient } from './client.js';
import { CliError } from './errors.js';

const createdAt = '2026-05-20T12:00:00.000Z';

const key = (id: string) => ({
  ...{ id, name: 'a key', plan: 'PRO', account: 'default', scopes: ['qr:read'], active: true },
  ...{ rootId: id, expiresAt: null, createdAt },
});

const keyWithUsage = (id: string) => ({
  ...{ ...key(id), lastUsedAt: null },
  usage: {
    minute: { used: 0, limit: 5_000 },
    month: { month: '2026-05-01', calls: 0, links: 0, qrCodes: 0 },
  },
});

const domain = (name: string) => ({
  ...{ domain: name, account: 'acme', status: 'active', verification: null, linkCount: 0 },
  caseInsensitive: false,
  ...{ rootRedirect: null, notFoundRedirect: null, expiredRedirect: null },
  ...{ createdAt, verifiedAt: createdAt },
});

describe('CLI: client of the admin API', () => {
  let server: Server;
  let url: string;
  let client: AdminClient;
  let respond: (request: IncomingMessage, response: ServerResponse) => void;
  let calls: string[];

  const connect = (token: string | null): AdminClient =>
    createAdminClient({ url, token, shortUrlHost: null, dataDir: '/data' }, 'ada');

  before(async () => {
    server = createServer((request, response) => {
      calls.push(`${request.method ?? ''} ${request.url ?? ''}`);
      respond(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  beforeEach(() => {
    calls = [];
    client = connect('the-token');
  });

  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const seven = { parameters: { id: '7' } };
  const revoke = () => client.call('revokeKey', seven);

  const respondWith = (
    status: number,
    body: unknown,
    headers: Record<string, string> = {},
  ): void => {
    respond = (_request, response) => {
      response.writeHead(status, headers).end(JSON.stringify(body));
    };
  };

  const expectFailure = async (
    work: Promise<unknown>,
    code: string,
    message: string,
  ): Promise<void> => {
    const error = await rejection(work);
    expect(error).to.be.instanceOf(CliError);
    const failure = error as CliError;
    expect([failure.code, failure.message.replaceAll(url, 'URL')]).to.deep.equal([code, message]);
  };

  it('sends the actor and the admin token', async () => {
    const requests: unknown[] = [];
    respond = (request, response) => {
      void text(request).then((body) => {
        const { authorization, 'x-actor': actor, 'content-type': type } = request.headers;
        requests.push({ authorization, actor, type, body });
        response.writeHead(200).end(JSON.stringify(key('7')));
      });
    };
    const parameters = { id: 'a/../b' };
    await client.call('changeKey', { parameters, body: { plan: 'FREE' } });
    await revoke();
    const by = { authorization: 'Bearer the-token', actor: 'ada' };
    expect(requests).to.deep.equal([
      { ...by, type: 'application/json', body: '{"plan":"FREE"}' },
      { ...by, type: undefined, body: '' },
    ]);
    expect(calls).to.deep.equal(['PATCH /admin/keys/a%2F..%2Fb', 'DELETE /admin/keys/7']);
  });

  it('reads every page of keys', async () => {
    const pages = [
      { keys: [keyWithUsage('a')], next: 'a&b' },
      { keys: [keyWithUsage('b')], next: null },
    ];
    respond = (_request, response) => response.end(JSON.stringify(pages.shift()));
    expect((await client.listKeys()).map(({ id }) => id)).to.deep.equal(['a', 'b']);
    expect(calls).to.deep.equal([
      'GET /admin/keys?limit=1000',
      'GET /admin/keys?limit=1000&after=a%26b',
    ]);
  });

  it('queries whether the host of a short URL is an active domain, from closely before its name', async () => {
    const pages = [
      { domains: [domain('go.acme.co-a')], next: 'go.acme.co-a' },
      { domains: [domain('go.acme.com')], next: null },
      { domains: [domain('go.b.example')], next: 'go.b.example' },
    ];
    respond = (request, response) => {
      const page = request.url?.startsWith('/admin/domains') ? pages.shift() : undefined;
      response.writeHead(page ? 200 : 404).end(JSON.stringify(page ?? { message: 'unknown' }));
    };
    for (const link of [
      'https://go.acme.com/spring',
      'http://go.a.example/spring',
      'a.example/x',
    ]) {
      const request = await client.linkOf(link);
      await expectFailure(client.get('getLink', request), 'REFUSED', 'unknown');
    }
    expect(calls).to.deep.equal([
      'GET /admin/domains?limit=1000&after=go.acme.co',
      'GET /admin/domains?limit=1000&after=go.acme.co-a',
      'GET /admin/links/spring?domain=go.acme.com',
      'GET /admin/domains?limit=1000&after=go.a.exampl',
      'GET /admin/links/spring',
      'GET /admin/links/x?domain=a.example',
    ]);
  });

  it('reports whether the event of a change is in the log', async () => {
    respondWith(200, key('7'));
    expect((await revoke()).inLog).to.be.true;
    respondWith(202, { ...key('7'), key: 'll_x' });
    expect((await revoke()).inLog).to.be.false;
    const created = await client.call('createKey', { body: { name: 'n', plan: 'PRO' } });
    expect([created.inLog, created.value.key]).to.deep.equal([false, 'll_x']);
  });

  it("reports the API's message, the request id of a 5xx response, and a missing token", async () => {
    respondWith(409, { message: 'This API key has been revoked' });
    await expectFailure(revoke(), 'REFUSED', 'This API key has been revoked');
    respondWith(500, { message: 'Internal server error' }, { 'X-Request-Id': 'r-1' });
    const withId = 'Internal server error (see request r-1 in its log)';
    await expectFailure(client.get('getKey', seven), 'UNAVAILABLE', withId);
    respondWith(401, { message: 'Admin token required' });
    for (const [token, verb] of [
      ['wrong', 'rejects this'],
      [null, 'requires its'],
    ] as const) {
      const remedy = 'set ADMIN_TOKEN or DATA_DIR as for the service';
      const message = `the service at URL ${verb} admin token: ${remedy}`;
      await expectFailure(connect(token).listKeys(), 'REFUSED', message);
    }
  });

  it('detects another server and another version of Linklog', async () => {
    respond = (_request, response) => {
      response.writeHead(404).end('<html>');
    };
    const notLinklog = (status: number): string =>
      `the server at URL is not Linklog (HTTP ${status})`;
    await expectFailure(client.get('getKey', seven), 'BAD_RESPONSE', notLinklog(404));
    respondWith(302, {}, { Location: 'http://127.0.0.1:1/' });
    await expectFailure(client.listKeys(), 'BAD_RESPONSE', notLinklog(302));
    respondWith(200, { keys: [{ ...keyWithUsage('7'), plan: 'GOLD' }], next: null });
    const error = await rejection(client.listKeys());
    expect(error).to.have.property('code', 'BAD_RESPONSE');
    expect(String(error)).to.match(/is not this version of Linklog \(keys\.0\.plan: /);
  });

  it('reports that a change without a response may have taken effect', async () => {
    respond = (request) => request.socket.destroy();
    const failed = 'the connection to URL failed';
    await expectFailure(client.listKeys(), 'BAD_RESPONSE', `${failed}: socket hang up`);
    await expectFailure(
      revoke(),
      'BAD_RESPONSE',
      `${failed}: socket hang up; the change may have taken effect: see "npx linklog keys list"`,
    );
    respond = (_request, response) => {
      response.writeHead(200, { 'Content-Length': '99' }).write('{', () => response.destroy());
    };
    await expectFailure(client.listKeys(), 'BAD_RESPONSE', `${failed}: aborted`);
  });

  it('reads the health of a service that is not ready', async () => {
    const report = {
      status: 'fail',
      dependencies: { postgres: { state: 'down', code: 'TIMEOUT' }, log: { state: 'up' } },
      projections: [{ name: 'stats', lag: null, deadLetters: 0, parked: 0 }],
      ...{ spool: null, missingEvents: [], compaction: null, maintenance: null },
    };
    respondWith(503, report);
    expect(await client.health()).to.deep.equal(report);
  });
});
