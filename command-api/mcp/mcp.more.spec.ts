import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import pLimit from 'p-limit';
import { destination, productFixture } from '../../ops/test/e2e/harness.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { sendRequest } from '../../ops/test/support/http.js';
import { needs } from '../../ops/test/support/needs.js';
import { seededRandom, type Random } from '../../ops/test/support/random.js';
import type { HistoryResponse } from '../../schemas/http/history.js';
import { projectFile } from '../../ops/platform/files/project-file.js';

const revision = '2026-07-28';
const seed = 72;
const requests = 10_000;
/** PRO has 5,000 requests a minute. */
const keyCount = 5;

/** What `testing/client.py` prints of a mode. */
interface PrintedCalls {
  readonly tools: readonly string[];
  readonly errors: Readonly<Record<string, boolean>>;
  readonly title: string;
  readonly shortCode: string;
}

type Json = unknown;
type Values = Readonly<Record<string, Json>>;

const _meta = {
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': { name: 'a-fuzzer', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

const calls: readonly (readonly [method: string, params: Values])[] = [
  [
    'initialize',
    { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  ],
  ...['server/discover', 'ping', 'tools/list', 'resources/list', 'resources/templates/list'].map(
    (method) => [method, {}] as const,
  ),
  ['notifications/initialized', {}],
  ['notifications/cancelled', { requestId: 1 }],
  ['subscriptions/listen', { notifications: { toolsListChanged: true } }],
  ['logging/setLevel', { level: 'debug' }],
  [
    'completion/complete',
    { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: 'b' } },
  ],
  ['resources/read', { uri: 'linklog://links/spring' }],
  ...Object.entries({
    create_link: {
      url: destination,
      tags: ['a'],
      rules: [{ name: 'a', when: {}, url: destination }],
    },
    find_links: { tag: ['a', 'b'], limit: 5, search: 'spring', createdAfter: '2026-01-01' },
    get_link: { shortCode: 'spring', domain: 'go.example' },
    change_link: { shortCode: 'spring', title: 'x', card: { title: 'x' } },
    delete_link: { shortCode: 'spring' },
    link_statistics: { shortCode: 'spring', include: 'all', from: '2026-01-01' },
    account_statistics: { include: ['os'], tz: 'Europe/Berlin' },
    qr_code: { shortCode: 'spring', size: 200, dark: '000' },
    usage: {},
    list_domains: { limit: 5 },
  }).map(([name, values]) => ['tools/call', { name, arguments: values }] as const),
];

const nested = (levels: number): Json => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

const oddValues: readonly (() => Json)[] = [
  ...[
    null,
    true,
    0,
    -1,
    1.5,
    1e300,
    2 ** 53,
    '',
    '\0',
    '\ud800',
    '\udfff\ud800',
    '%',
    '..',
    '/',
    '\r\n',
    [],
    {},
  ].map((value) => () => value),
  () => 'x'.repeat(20_000),
  () => '😀'.repeat(5_000),
  () => Array.from({ length: 3_000 }, (_, index) => index),
  () => Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`n${index}`, index])),
  () => nested(20),
  () => nested(1_000),
  (): Json => JSON.parse('{"__proto__":{"name":"x"},"constructor":{"prototype":1},"toString":2}'),
  () => ['', null, {}, [[]]],
];

const oddNames = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'then', 'toJSON', '', '\0', '\ud800'],
  ...[
    'id',
    'method',
    'params',
    '_meta',
    'name',
    'arguments',
    'cursor',
    'result',
    'error',
    'jsonrpc',
  ],
  ...['progressToken', 'inputResponses', 'requestState', 'task', 'shortCode', 'x'.repeat(5_000)],
  ...Object.keys(_meta),
];

const chosen = <Item>(random: Random, items: readonly Item[]): Item =>
  items[random.below(items.length)] as Item;

/** Replaces, removes or adds a value at a random place. */
const changed = (value: Json, random: Random): Json => {
  const odd = () => chosen(random, oddValues)();
  if (typeof value !== 'object' || value === null || random.below(4) === 0) return odd();
  if (Array.isArray(value)) {
    const at = random.below(value.length + 1);
    const list: readonly Json[] = value;
    return [...list.slice(0, at), changed(list[at], random), ...list.slice(at + 1)];
  }
  const entries = Object.entries(value);
  const at = random.below(entries.length + 2);
  const [name = chosen(random, oddNames), inner] = entries[at] ?? [];
  const others = entries.filter(([other]) => other !== name);
  if (random.below(5) === 0) return Object.fromEntries(others);
  return Object.fromEntries([
    ...others,
    [name, inner === undefined ? odd() : changed(inner, random)],
  ]);
};

/** Changes bytes, so that the text is often neither JSON nor UTF-8. */
const withoutForm = (text: string, random: Random): Buffer => {
  const bytes = Buffer.from(text);
  const at = random.below(bytes.length);
  const end = at + random.below(20);
  const inserted = Buffer.from(Array.from({ length: random.below(8) }, () => random.below(256)));
  return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(end)]);
};

const bodyOf = (message: Json, random: Random): Buffer => {
  const text = JSON.stringify(message);
  switch (random.below(8)) {
    case 0:
      return withoutForm(text, random);
    case 1:
      return Buffer.from(`[${Array.from({ length: 1 + random.below(50) }, () => text).join()}]`);
    case 2:
      // Repeated names.
      return Buffer.from(`${text.slice(0, -1)},"method":"tools/call","id":null}`);
    default:
      return Buffer.from(text);
  }
};

const headersOf = (method: string, params: Values, random: Random): Record<string, string> => {
  const name = Object.entries(params).find(([field]) => field === 'name' || field === 'uri')?.[1];
  const headers = Object.entries({
    'MCP-Protocol-Version': chosen(random, [revision, revision, '2025-06-18', '1', 'ÿ', '']),
    'Mcp-Method': random.below(6) === 0 ? 'tools/list' : method,
    'Mcp-Name': typeof name === 'string' && random.below(6) > 0 ? name : '=?base64?ÿ?=',
    Accept: chosen(random, ['*/*', 'text/event-stream', 'nonsense', '']),
  });
  return Object.fromEntries(headers.filter(() => random.below(8) > 0));
};

describe('command API: MCP, more', () => {
  const bench = productFixture();
  const keys = fixture(() =>
    Promise.all(Array.from({ length: keyCount }, () => bench.key('PRO', { account: 'fuzz' }))),
  );

  it(`responds to ${requests} malformed requests without 5xx and without an internal error`, async function () {
    this.timeout(600_000);
    const random = seededRandom(seed);
    const limit = pLimit(8);
    const statuses = new Map<number, number>();
    const sendOne = async (number: number, key: string): Promise<void> => {
      const [method, params] = chosen(random, calls);
      const isNew = random.below(2) === 0;
      let message: Json = {
        ...{ jsonrpc: '2.0', method, params: isNew ? { ...params, _meta } : params },
        ...(!method.startsWith('notifications/') && { id: number }),
      };
      for (let change = random.below(4); change > 0; change -= 1)
        message = changed(message, random);
      const body = bodyOf(message, random);
      const headers = isNew || random.below(4) === 0 ? headersOf(method, params, random) : {};
      const { status, text } = await sendRequest(`${bench.product.api}/mcp`, {
        method: 'POST',
        headers: {
          ...{ Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
          ...headers,
        },
        body,
      });
      const request = `${JSON.stringify(headers)} ${body.toString().slice(0, 500)}: ${text}`;
      expect(status, request).to.be.oneOf([200, 202, 400, 403, 404, 413, 415]);
      expect(text, request).not.to.match(/-32603/);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    };
    await Promise.all(
      Array.from({ length: requests }, (_, number) =>
        limit(() => sendOne(number, keys[number % keyCount]?.key ?? '')),
      ),
    );
    // The requests reach the tools, the protocol and the parser.
    for (const status of [200, 202, 400, 404]) {
      expect(statuses.get(status), `${status}`).to.be.above(20);
    }
    expect((await sendRequest(`${bench.product.api}/health/ready`)).status).to.equal(200);
    expect(bench.product.stdout()).not.to.match(/"level":"?(?:error|50|fatal|60)/);
  });

  it('lists and calls every tool with the SDK for Python, in both of its modes', async function () {
    needs('.venv/bin/python');
    this.timeout(120_000);
    const { key } = await bench.key('PRO', { account: 'python' });
    const program = projectFile('command-api', 'mcp', 'testing', 'client.py');
    const { stdout } = await promisify(execFile)(projectFile('.venv', 'bin', 'python'), [
      ...[program, `${bench.product.api}/mcp`, key],
    ]);
    const printed = JSON.parse(stdout) as Record<'legacy' | 'auto', PrintedCalls>;
    for (const [mode, { tools, errors, title, shortCode }] of Object.entries(printed)) {
      expect(tools, mode).to.have.length(10);
      expect(errors, mode).to.deep.equal(Object.fromEntries(tools.map((name) => [name, false])));
      expect(title, mode).to.equal('Python');
      const history = await bench.api(`/v2/links/${shortCode}/history`, key);
      for (const event of (history.json() as HistoryResponse).events) {
        expect(event, mode).to.include({ client: `python-${mode}` });
      }
    }
  });
});
