import { expect } from 'chai';
import { clientIn, readMessage, respondTo, type Session } from './server.js';
import { createTools } from './tools.js';

const tools = [...createTools({ isOwnHost: () => false, schemes: [] }).values()];

const session: Session = {
  tools: tools.filter(({ scope }) => scope !== 'links:write'),
  callTool: () => Promise.resolve({ content: [], structuredContent: { called: true } }),
  readLink: () => Promise.resolve(null),
};

const revision = '2026-07-28';
const clientInfo = { name: 'an-agent', version: '1' };
const _meta = {
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
};

interface Answer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number };
}

type Exchange = readonly [status: number, answer: Answer | null];

const send = async (message: object, headers: Record<string, string> = {}): Promise<Exchange> => {
  const read = readMessage(JSON.stringify(message));
  if (!read) throw new Error('the body is no message');
  const { status, body } = await respondTo(read, headers, session);
  return [status, body === '' ? null : (JSON.parse(body) as Answer)];
};

/** A message of the newest revision, with its headers. */
const call = (
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Exchange> => {
  const name = params['name'] ?? params['uri'];
  return send(
    { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta } },
    {
      ...{ 'mcp-protocol-version': revision, 'mcp-method': method },
      ...(typeof name === 'string' && { 'mcp-name': name }),
      ...headers,
    },
  );
};

/** A message of an earlier revision. */
const earlierCall = (method: string, params?: object): Promise<Exchange> =>
  send({ jsonrpc: '2.0', id: 7, method, ...(params && { params }) });

const codeOf = ([status, answer]: Exchange): readonly unknown[] => [status, answer?.error?.code];

describe('MCP: messages', () => {
  it('negotiates each revision, and names no session', async () => {
    const [, discovered] = await call('server/discover');
    expect(discovered?.result).to.deep.include({
      supportedVersions: [revision],
      capabilities: { tools: { listChanged: false }, resources: { listChanged: false } },
    });
    for (const protocolVersion of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
      const params = { protocolVersion, capabilities: {}, clientInfo };
      const [, answer] = await earlierCall('initialize', params);
      expect(answer?.result).to.include({ protocolVersion });
    }
  });

  it('lists and calls the tools of the session; another one is unknown', async () => {
    for (const invoke of [call, earlierCall]) {
      const [status, listed] = await invoke('tools/list');
      expect(status).to.equal(200);
      const names = (listed?.result?.['tools'] as readonly { name: string }[]).map(
        ({ name }) => name,
      );
      expect(names).to.deep.equal(session.tools.map(({ name }) => name));
      const [, called] = await invoke('tools/call', { name: 'usage', arguments: {} });
      expect(called?.result?.['structuredContent']).to.deep.equal({ called: true });
      for (const name of ['delete_link', 'constructor', '__proto__', 'x'.repeat(50_000)]) {
        const code = codeOf(await invoke('tools/call', { name }));
        expect(code, name.slice(0, 20)).to.deep.equal([200, -32_602]);
      }
    }
  });

  it('has the template of links, no resources, and an error for an unknown one', async () => {
    const [, listed] = await call('resources/templates/list');
    expect(listed?.result?.['resourceTemplates']).to.have.nested.property(
      '[0].uriTemplate',
      'linklog://links/{shortCode}',
    );
    expect((await call('resources/list'))[1]?.result).to.deep.include({ resources: [] });
    const uri = 'linklog://links/unknown';
    expect(codeOf(await call('resources/read', { uri }))).to.deep.equal([200, -32_602]);
    expect(codeOf(await earlierCall('resources/read', {}))).to.deep.equal([200, -32_602]);
  });

  it('responds to unknown methods with the status of the revision', async () => {
    for (const method of ['nothing', 'prompts/list', 'ping', 'subscriptions/listen']) {
      expect(codeOf(await call(method)), method).to.deep.equal([404, -32_601]);
    }
    for (const method of ['nothing', 'prompts/list', 'server/discover', 'subscriptions/listen']) {
      expect(codeOf(await earlierCall(method)), method).to.deep.equal([200, -32_601]);
    }
  });

  it('refuses headers that disagree with the body with 400', async () => {
    for (const headers of [
      { 'mcp-protocol-version': '2025-06-18' },
      { 'mcp-method': 'tools/list' },
      { 'mcp-name': 'delete_link' },
    ]) {
      const exchange = await call('tools/call', { name: 'usage' }, headers);
      expect(codeOf(exchange), JSON.stringify(headers)).to.deep.equal([400, -32_020]);
    }
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/list' };
    expect((await send(message, { 'mcp-protocol-version': revision }))[0]).to.equal(400);
    expect((await send(message, { 'mcp-protocol-version': 'other' }))[0]).to.equal(400);
  });

  it('returns no internal error for parameters that are invalid', async () => {
    for (const exchange of [
      await earlierCall('initialize'),
      await earlierCall('initialize', { protocolVersion: 5 }),
      await earlierCall('tools/call', { name: 5 }),
      await earlierCall('tools/call', { name: 'usage', arguments: 'x' }),
    ]) {
      expect(codeOf(exchange)).to.deep.equal([200, -32_602]);
    }
  });

  it('accepts notifications and responses without a body', async () => {
    for (const message of [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'tools/call', params: { name: 'usage' } },
      { jsonrpc: '2.0', id: 1, result: {} },
    ]) {
      expect(await send(message)).to.deep.equal([202, null]);
    }
  });

  it('reads only single messages of JSON-RPC, up to a depth', () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const nested = (levels: number): string =>
      JSON.stringify({ ...ping, params: 'x' }).replace(
        '"x"',
        '{"a":'.repeat(levels + 1) + '1' + '}'.repeat(levels + 1),
      );
    expect(readMessage(JSON.stringify(ping))).to.deep.equal(ping);
    expect(readMessage(nested(32))).not.to.equal(null);
    for (const text of [
      ...[
        '',
        ' ',
        '{',
        'null',
        '5',
        '"text"',
        '{}',
        '[]',
        '\u0000',
        nested(33),
        '['.repeat(60_000),
      ],
      JSON.stringify([ping]),
      ...[
        { id: null },
        { id: 1.5 },
        { id: {} },
        { jsonrpc: '1.0' },
        { method: 5 },
        { params: [] },
      ].map((part) => JSON.stringify({ ...ping, ...part })),
    ]) {
      expect(readMessage(text), text.slice(0, 80)).to.equal(null);
    }
  });

  it('reads the name of the client, bounded and without control characters', () => {
    const named = (name: unknown) =>
      clientIn({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: { _meta: { ..._meta, 'io.modelcontextprotocol/clientInfo': { name } } },
      });
    expect(named('an-agent')).to.equal('an-agent');
    expect(named('a\0b\nc\ud800')).to.equal('abc\ufffd');
    expect(named('😀'.repeat(200))).to.equal('😀'.repeat(100));
    for (const name of ['', '\0', 5, null, {}]) expect(named(name)).to.equal(undefined);
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    expect(clientIn({ jsonrpc: '2.0', id: 1, method: 'initialize', params })).to.equal('an-agent');
    expect(clientIn({ jsonrpc: '2.0', method: 'notifications/initialized' })).to.equal(undefined);
  });
});
