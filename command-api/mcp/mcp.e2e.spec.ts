import {
  Client,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type ClientOptions,
} from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { domainCalls } from '../../ops/test/e2e/domains-harness.js';
import { allowedOrigin, destination, sharedProduct } from '../../ops/test/e2e/harness.js';
import {
  sendRequest,
  type HttpResponse,
  type RequestOptions,
} from '../../ops/test/support/http.js';
import { blocksIn, pageOf } from '../../ops/test/support/documented-code.js';
import { folderFixture } from '../../ops/test/support/fixtures.js';
import { createTools } from './tools.js';
import { eventuallyPasses } from '../../ops/test/support/waiting.js';
import type { HistoryResponse } from '../../schemas/http/history.js';

const revision = '2026-07-28';
const toolNames = [
  ...['create_link', 'find_links', 'get_link', 'change_link', 'delete_link'],
  ...['link_statistics', 'account_statistics', 'qr_code', 'usage', 'list_domains'],
];

type Values = Readonly<Record<string, unknown>>;

interface Answer {
  readonly id: unknown;
  readonly result?: Values & { readonly structuredContent: Values; readonly isError?: boolean };
  readonly error?: { readonly code: number; readonly message: string };
}

describe('command API: MCP', () => {
  const bench = sharedProduct();
  const folder = folderFixture();
  const url = (): string => `${bench.product.api}/mcp`;

  /** Sends a body as it is. */
  const post = (
    key: string | null,
    body: unknown,
    { headers = {}, ...options }: RequestOptions = {},
  ): Promise<HttpResponse> =>
    sendRequest(url(), {
      method: 'POST',
      ...options,
      headers: {
        ...(key !== null && { Authorization: `Bearer ${key}` }),
        'Content-Type': 'application/json',
        ...headers,
      },
      body,
    });

  /** Sends a request of the newest revision. */
  const send = (
    key: string | null,
    method: string,
    params: Values = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpResponse> => {
    const name = params['name'] ?? params['uri'];
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientInfo': { name: 'a-spec', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    return post(
      key,
      { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
      {
        headers: {
          ...{ 'MCP-Protocol-Version': revision, 'Mcp-Method': method },
          ...(typeof name === 'string' && { 'Mcp-Name': name }),
          ...headers,
        },
      },
    );
  };

  const answerTo = async (...request: Parameters<typeof send>): Promise<Answer> =>
    (await send(...request)).json() as Answer;

  /** Calls a tool. @returns its structured content */
  const call = async (key: string, name: string, values: Values = {}): Promise<Values> => {
    const { result } = await answerTo(key, 'tools/call', { name, arguments: values });
    expect(result?.['content'], name).to.have.nested.property('[0].type', 'text');
    const [{ text }] = result?.['content'] as [{ text: string }];
    expect(JSON.parse(text), name).to.deep.equal(result?.structuredContent);
    return { ...result?.structuredContent, ...(result?.isError && { isError: true }) };
  };

  const namesOf = ({ result }: Answer): readonly string[] =>
    (result?.['tools'] as readonly { name: string }[]).map(({ name }) => name);

  const eventsOf = async (code: string, key: string): Promise<HistoryResponse['events']> =>
    ((await bench.api(`/v2/links/${code}/history`, key)).json() as HistoryResponse).events;

  for (const [name, options] of [
    [revision, { versionNegotiation: { mode: { pin: revision } } }],
    ['2025-11-25', {}],
  ] as const satisfies readonly (readonly [string, ClientOptions])[]) {
    it(`lists and calls every tool with the official client, revision ${name}`, async () => {
      const { key } = await bench.key('PRO', { account: `mcp-${name}` });
      const client = new Client({ name: `client-${name}`, version: '1' }, options);
      const headers = { Authorization: `Bearer ${key}` };
      const transport = new StreamableHTTPClientTransport(new URL(url()), {
        requestInit: { headers },
      });
      await client.connect(transport);
      expect(client.getNegotiatedProtocolVersion()).to.equal(name);
      expect(transport.sessionId).to.equal(undefined);
      const { tools } = await client.listTools();
      expect(tools.map((tool) => tool.name)).to.deep.equal(toolNames);
      const called = new Set<string>();
      // The client compares each result with the schema of its tool.
      const use = async (tool: string, values: Values = {}): Promise<CallToolResult> => {
        called.add(tool);
        const result = await client.callTool({ name: tool, arguments: values });
        expect(result.isError, JSON.stringify(result)).not.to.equal(true);
        return result;
      };
      const created = await use('create_link', { url: destination, tags: ['mcp'], maxClicks: 9 });
      const { shortCode, shortUrl } = created.structuredContent as Record<string, string>;
      // The projection lags.
      await eventuallyPasses(async () => {
        const found = await use('find_links', { tag: ['MCP'], limit: 5, count: '1' });
        expect(found.structuredContent).to.have.nested.property('links[0].shortCode', shortCode);
      });
      expect((await use('get_link', { shortCode })).structuredContent).to.include({ maxClicks: 9 });
      const changed = await use('change_link', { shortCode, maxClicks: null, title: 'Changed' });
      expect(changed.structuredContent).to.include({ maxClicks: null, title: 'Changed' });
      const statistics = await use('link_statistics', { shortCode, include: ['timeseries', 'os'] });
      expect(statistics.structuredContent).to.include({ clickCount: 0 });
      const total = await use('account_statistics', { include: 'all', tag: ['mcp'] });
      expect(total.structuredContent).to.include({ linkCount: 1 });
      const image = await use('qr_code', { shortCode, size: 200 });
      expect(image.structuredContent).to.deep.equal({ shortCode, shortUrl, mimeType: 'image/png' });
      const [, picture] = image.content;
      expect(picture).to.deep.include({ type: 'image', mimeType: 'image/png' });
      const png = Buffer.from(picture?.type === 'image' ? picture.data : '', 'base64');
      expect(png.subarray(1, 4).toString()).to.equal('PNG');
      expect((await use('usage')).structuredContent).to.have.nested.property('links.used', 1);
      expect((await use('list_domains')).structuredContent).to.deep.equal({
        domains: [],
        next: null,
      });
      const { resourceTemplates } = await client.listResourceTemplates();
      expect(resourceTemplates).to.have.nested.property(
        '[0].uriTemplate',
        'linklog://links/{shortCode}',
      );
      const { contents } = await client.readResource({ uri: `linklog://links/${shortCode ?? ''}` });
      expect(JSON.parse((contents[0] as { text: string }).text)).to.include({ title: 'Changed' });
      expect((await use('delete_link', { shortCode })).structuredContent).to.deep.equal({
        ...{ shortCode, status: 'deleted' },
      });
      await client.close();
      expect([...called]).to.have.members(toolNames);
      const events = await eventsOf(shortCode ?? '', key);
      expect(events.map(({ type }) => type.split('.')[1])).to.deep.equal([
        ...['LinkCreated', 'LinkEdited', 'LinkDescribed', 'LinkDeleted'],
      ]);
      for (const event of events) expect(event).to.include({ client: `client-${name}` });
    });
  }

  it('offers a key the tools of its scopes; another one is unknown, and creates nothing', async () => {
    const account = 'mcp-scopes';
    const { key } = await bench.key('PRO', { account, scopes: ['links:read', 'qr:read'] });
    const names = namesOf(await answerTo(key, 'tools/list'));
    expect(names).to.deep.equal(['find_links', 'get_link', 'qr_code', 'usage', 'list_domains']);
    for (const name of ['create_link', 'nothing', 'constructor']) {
      const params = { name, arguments: { url: destination } };
      const { error, result } = await answerTo(key, 'tools/call', params);
      expect([error?.code, result], name).to.deep.equal([-32_602, undefined]);
    }
    expect(await call(key, 'find_links')).to.deep.equal({ links: [], next: null });
    const { key: other } = await bench.key('PRO', { account, scopes: ['stats:read'] });
    const { shortCode } = await bench.link((await bench.key('PRO', { account })).key);
    const uri = `linklog://links/${shortCode}`;
    const refused = await send(other, 'resources/read', { uri });
    expect(refused.status).to.equal(403);
    expect(refused.json()).to.include({ scope: 'links:read' });
    expect(await answerTo(key, 'resources/read', { uri })).to.have.property('result');
  });

  it('returns the refusals of the API as errors of the tool', async () => {
    const { key } = await bench.key('FREE', { account: 'mcp-refusals' });
    for (const [name, values, expected] of [
      ['create_link', {}, { statusCode: 400, path: '/v2/shorten', method: 'POST' }],
      ['create_link', { url: 'nonsense' }, { message: 'Please provide a valid URL' }],
      ['create_link', { url: destination, alias: 'mine' }, { feature: 'customAlias' }],
      ['create_link', { url: destination, title: 5 }, { statusCode: 400 }],
      ['create_link', { url: destination, idempotencyKey: 'x'.repeat(256) }, { statusCode: 400 }],
      ['find_links', { limit: 'many' }, { message: 'limit must be between 1 and 100' }],
      ['find_links', { search: { a: 1 } }, { links: [] }],
      ['get_link', {}, { message: 'shortCode must be a short code' }],
      ['get_link', { shortCode: 'nothing0' }, { statusCode: 404, message: 'Short URL not found' }],
      ['get_link', { shortCode: 'a/b' }, { statusCode: 404 }],
      ['get_link', { shortCode: '..' }, { statusCode: 404 }],
      ['get_link', { shortCode: '\0' }, { statusCode: 404 }],
      ['get_link', { shortCode: '\ud800' }, { statusCode: 404 }],
      ['get_link', { shortCode: 'a', domain: 'no host' }, { statusCode: 400 }],
      ['change_link', { shortCode: 'nothing0' }, { message: 'Nothing to change' }],
      ['qr_code', { shortCode: 'nothing0' }, { statusCode: 404 }],
      ['link_statistics', { shortCode: 'nothing0' }, { statusCode: 404 }],
      ['account_statistics', { include: ['nothing'] }, { statusCode: 400 }],
    ] as const) {
      const result = await call(key, name, values);
      const isError = 'links' in expected ? {} : { isError: true };
      expect(result, `${name} ${JSON.stringify(values)}`).to.deep.include({
        ...expected,
        ...isError,
      });
    }
    const text = `{"url":"${destination}","__proto__":{"alias":"x"}}`;
    expect(await call(key, 'create_link', JSON.parse(text) as Values)).to.include({
      ...{ isError: true, message: 'property __proto__ should not exist' },
    });
  });

  it('replays an idempotencyKey, also one of POST /v2/shorten', async () => {
    const { key } = await bench.key('PRO', { account: 'mcp-idempotency' });
    const values = { url: destination, idempotencyKey: 'once', other: 'ignored' };
    const first = await call(key, 'create_link', values);
    expect(await call(key, 'create_link', values)).to.deep.equal(first);
    const body = { url: destination, other: 'ignored' };
    const replayed = await bench.shorten(key, body, { 'Idempotency-Key': 'once' });
    expect(replayed.json()).to.deep.equal(first);
    expect(await call(key, 'create_link', { ...values, title: 'other' })).to.include({
      statusCode: 422,
    });
    expect(await bench.usage(key)).to.include({ links: 1, calls: 4 });
  });

  it('records the request ID and the client of a call in the history', async () => {
    const { key, id } = await bench.key('PRO', { account: 'mcp-history' });
    const headers = { 'X-Request-Id': 'request-of-an-agent' };
    const params = { name: 'create_link', arguments: { url: destination } };
    const response = await send(key, 'tools/call', params, headers);
    expect(response.headers).to.include({ 'x-request-id': 'request-of-an-agent' });
    const { shortCode = '' } = (response.json() as Answer).result?.structuredContent as {
      shortCode?: string;
    };
    const [event] = await eventsOf(shortCode, key);
    expect(event).to.include({
      ...{ client: 'a-spec', correlationid: 'request-of-an-agent', actor: id },
    });
    await eventuallyPasses(async () => {
      const feed = (await bench.api('/v2/events?types=LinkCreated', key)).json() as HistoryResponse;
      expect(feed.events).to.deep.equal([event]);
    });
    const { shortCode: own } = await bench.link(key);
    expect((await eventsOf(own, key))[0]).not.to.have.property('client');
  });

  it('counts each request toward the minute, and only calls and reads toward the month', async () => {
    const { key } = await bench.key('FREE', { account: 'mcp-costs' });
    const remaining = async (response: Promise<HttpResponse>): Promise<number> =>
      Number((await response).headers['x-ratelimit-remaining']);
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };
    let expected = 60;
    for (const response of [
      () => send(key, 'server/discover'),
      () => send(key, 'tools/list'),
      () => send(key, 'nothing'),
      () => post(key, initialize),
      () => post(key, 'no JSON'),
      () => post(key, { jsonrpc: '2.0', method: 'notifications/initialized' }),
      () => send(key, 'tools/call', { name: 'usage' }),
      () => send(key, 'tools/call', { name: 'find_links' }),
      () => send(key, 'tools/call', { name: 'nothing' }),
      () => send(key, 'resources/read', { uri: 'linklog://links/nothing0' }),
    ]) {
      expected -= 1;
      expect(await remaining(response())).to.equal(expected);
    }
    // As /v2/usage, its tool costs no call.
    expect(await bench.usage(key)).to.include({ calls: 3 });
    for (let request = 0; request < 49; request += 1) await send(key, 'tools/list');
    for (const response of [
      await send(key, 'tools/list'),
      await send(key, 'tools/call', { name: 'usage' }),
      await post(key, 'no JSON'),
    ]) {
      expect(response.status).to.equal(429);
      expect(response.headers).to.have.property('retry-after');
      expect(response.json()).to.include({ statusCode: 429, path: '/mcp' });
    }
  });

  it('reads links as resources, those of own domains by domain%2Fcode', async () => {
    const { key } = await bench.key('PRO', { account: 'mcp-resources' });
    const { key: foreign } = await bench.key('PRO', { account: 'mcp-resources-of-another' });
    const domain = await domainCalls(bench).activate(key);
    const { shortCode } = await bench.link(key);
    const { shortCode: own } = await bench.link(key, { domain });
    const read = (as: string, uri: string) => answerTo(as, 'resources/read', { uri });
    const uri = `linklog://links/${shortCode}`;
    const { result } = await read(key, uri);
    expect(result?.['contents']).to.have.nested.property('[0].mimeType', 'application/json');
    const { result: onDomain } = await read(key, `linklog://links/${domain}%2F${own}`);
    const [{ text }] = onDomain?.['contents'] as [{ text: string }];
    expect(JSON.parse(text)).to.include({ domain, shortCode: own });
    for (const [as, address] of [
      [foreign, uri],
      [key, `linklog://links/nothing0`],
      [key, `linklog://links/${domain}%2F${shortCode}`],
      [key, `${uri}/history`],
      [key, `${uri}?domain=x`],
      [key, 'linklog://links/'],
      [key, 'linklog://links/%'],
      [key, 'linklog://links/%00'],
      [key, 'https://example.com/'],
    ] as const) {
      expect((await read(as, address)).error?.code, address).to.equal(-32_602);
    }
  });

  it('has a page with valid set-ups, a command that works, and the table of tools', async () => {
    for (const block of blocksIn(pageOf('mcp.md'), 'json')) {
      expect(JSON.stringify(JSON.parse(block))).to.include('"url":"http://127.0.0.1:8080/mcp"');
    }
    const { key } = await bench.key('PRO', { account: 'mcp-page' });
    await writeFile(path.join(folder.path, 'key-header'), `Authorization: Bearer ${key}\n`);
    const [, curl = ''] = blocksIn(pageOf('mcp.md'), 'sh');
    const command = curl.replace('http://127.0.0.1:8080', bench.product.api);
    const { stdout } = await promisify(execFile)('bash', ['-euc', command], { cwd: folder.path });
    expect((JSON.parse(stdout) as Answer).result?.structuredContent).to.include({ plan: 'PRO' });
    const rows = pageOf('mcp.md', 'Tools').matchAll(/^\| `(\w+)` +\| `(\w+ \S+)` +\| (\S+)/gm);
    const tools = createTools({ isOwnHost: () => false, schemes: [] });
    expect([...rows].map(([, ...cells]) => cells)).to.deep.equal(
      [...tools.values()].map(({ name, scope, requestOf }) => {
        const { method, url: target } = requestOf({ shortCode: ':shortCode' });
        const shown = `${method} ${decodeURIComponent(target)}`;
        return [name, shown, scope === null ? 'none' : `\`${scope}\``];
      }),
    );
  });

  it('responds with 401 and WWW-Authenticate without a valid key, and reads no body then', async () => {
    for (const key of [null, 'nonsense', `ll_${'a'.repeat(38)}`]) {
      for (const body of [
        'no JSON',
        'x'.repeat(70_000),
        { jsonrpc: '2.0', id: 1, method: 'ping' },
      ]) {
        const response = await post(key, body);
        expect(response.status).to.equal(401);
        expect(response.headers).to.include({ 'www-authenticate': 'Bearer' });
        expect(response.json()).to.include({ statusCode: 401, error: 'Unauthorized' });
      }
    }
  });

  it('responds with 400 and -32700 to bodies that are no message in UTF-8', async () => {
    const { key } = await bench.key('PRO', { account: 'mcp-bodies' });
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    for (const body of [
      ...['', '{', 'null', '{}', '[]', `[${ping},${ping}]`, '['.repeat(60_000)],
      Buffer.from(ping.replace('ping', 'p\u00ffng'), 'latin1'),
      Buffer.from(ping, 'utf16le'),
    ]) {
      const response = await post(key, body);
      expect(response.status, String(body).slice(0, 50)).to.equal(400);
      expect(response.json()).to.deep.equal({
        ...{ jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'Parse error' } },
      });
    }
  });

  it('has bounds of the body, its content type, the methods and the origins', async () => {
    const { key } = await bench.key('PRO', { account: 'mcp-bounds' });
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const fits = await post(key, ping.padEnd(65_536));
    expect([fits.status, fits.json()]).to.deep.equal([200, { jsonrpc: '2.0', id: 1, result: {} }]);
    for (const [response, statusCode] of [
      [await post(key, ping.padEnd(65_537)), 413],
      [await post(key, ping, { headers: { 'Content-Type': 'text/plain' } }), 415],
      [await post(key, ping, { headers: { Origin: 'https://evil.example' } }), 403],
      [await post(key, ping, { headers: { Origin: 'null' } }), 403],
      [await post(key, ping, { method: 'PUT' }), 405],
      [await sendRequest(url(), { method: 'GET' }), 405],
      [await sendRequest(url(), { method: 'DELETE' }), 405],
    ] as const) {
      expect(response.status).to.equal(statusCode);
      expect(response.json()).to.include({ statusCode, path: '/mcp' });
      expect(response.headers).to.include({ 'cache-control': 'no-store' });
      if (statusCode === 405) expect(response.headers).to.include({ allow: 'POST' });
    }
    const allowed = await post(key, ping, { headers: { Origin: allowedOrigin } });
    expect(allowed.status).to.equal(200);
    expect(allowed.headers).to.include({ 'access-control-allow-origin': allowedOrigin });
    const preflight = await sendRequest(url(), {
      method: 'OPTIONS',
      headers: { Origin: allowedOrigin, 'Access-Control-Request-Method': 'POST' },
    });
    expect(preflight.status).to.equal(204);
    expect(preflight.headers['access-control-allow-headers']?.split(', ')).to.include.members([
      ...['Authorization', 'Content-Type', 'MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name'],
    ]);
  });

  it('refuses headers that disagree with the body with 400, and calls nothing', async () => {
    const { key } = await bench.key('PRO', { account: 'mcp-headers' });
    const params = { name: 'create_link', arguments: { url: destination } };
    for (const headers of [
      { 'Mcp-Name': 'delete_link' },
      { 'Mcp-Method': 'tools/list' },
      { 'MCP-Protocol-Version': '2025-06-18' },
    ]) {
      const response = await send(key, 'tools/call', params, headers);
      expect([response.status, (response.json() as Answer).error?.code]).to.deep.equal([
        400, -32_020,
      ]);
    }
    expect(await bench.usage(key)).to.include({ links: 0 });
  });
});
