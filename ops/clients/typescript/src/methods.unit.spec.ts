import { expect } from 'chai';
import { openApiDocument } from '../../../../command-api/http/openapi/document.js';
import { rejection } from '../../../test/support/waiting.js';
import { scriptedClient, streamOf, testKey } from '../testing/scripted-fetch.js';
import * as exported from './index.js';
import { LinklogError, type Linklog } from './index.js';
import { operations } from './operations.js';

const person = 'usr_6hQz1mV0bT8kXw2RfL4d';
const id = '0192f0a1-0000-7000-8000-000000000001';

/** One call of each method. */
const calls: Readonly<Record<string, (client: Linklog) => unknown>> = {
  shorten: ({ links }) => links.create({ url: 'https://example.com/' }),
  shortenBatch: ({ links }) => links.createBatch({ urls: [{ url: 'https://example.com/' }] }),
  changeLinks: ({ links }) => links.bulk({ shortCodes: ['a'], change: { disabled: true } }),
  listLinks: ({ links }) =>
    links
      .list({ tag: ['a', 'b'], limit: 5 })
      .pages()
      .next(),
  exportLinks: ({ links }) => links.export()[Symbol.asyncIterator]().next(),
  exportLinksFile: ({ links }) =>
    links.exportFile({ format: 'csv' })[Symbol.asyncIterator]().next(),
  getLink: ({ links }) => links.get('a'),
  changeLink: ({ links }) => links.change('a', { title: null }),
  deleteLink: ({ links }) => links.delete('a'),
  addCode: ({ links }) => links.addCode('a', { alias: 'b' }),
  removeCode: ({ links }) => links.removeCode('a', 'go.example.com/b'),
  getLinkHistory: ({ links }) => links.history('a', { limit: 2 }).pages().next(),
  listTags: ({ tags }) => tags.list().pages().next(),
  getQrCode: ({ qr }) => qr.get('a', { format: 'svg' }),
  getStats: ({ stats }) => stats.get('a', { include: ['countries', 'os'] }),
  getAccountStats: ({ stats }) => stats.account({ tz: 'Europe/Berlin' }),
  shareStatistics: ({ shares }) => shares.create('a'),
  getShares: ({ shares }) => shares.list('a').pages().next(),
  endShare: ({ shares }) => shares.end('a', id),
  getUsage: ({ usage }) => usage.get(),
  makeKey: ({ keys }) => keys.create({ name: 'a' }),
  getKeys: ({ keys }) => keys.list().pages().next(),
  changeKey: ({ keys }) => keys.change(id, { active: false }),
  rotateKey: ({ keys }) => keys.rotate(id, { overlapSeconds: 60 }),
  revokeKey: ({ keys }) => keys.revoke(id),
  claimDomain: ({ domains }) => domains.claim({ domain: 'go.example.com' }),
  verifyDomain: ({ domains }) => domains.verify('go.example.com'),
  getDomain: ({ domains }) => domains.get('go.example.com'),
  getDomains: ({ domains }) => domains.list({ limit: 2 }).pages().next(),
  changeDomain: ({ domains }) => domains.change('go.example.com', { rootRedirect: null }),
  releaseDomain: ({ domains }) => domains.release('go.example.com'),
  startImport: ({ imports }) => imports.start('url\n', { format: 'csv', dryRun: '1' }),
  listImports: ({ imports }) => imports.list().pages().next(),
  getImport: ({ imports }) => imports.get(id),
  stopImport: ({ imports }) => imports.stop(id),
  getImportedRows: ({ imports }) =>
    imports.rows(id, { outcome: 'invalid' })[Symbol.asyncIterator]().next(),
  getEvents: ({ events }) => events.page({ types: ['LinkCreated', 'LinkDeleted'], after: 'start' }),
  createWebhook: ({ webhooks }) => webhooks.create({ url: 'https://example.com/' }),
  getWebhooks: ({ webhooks }) => webhooks.list().pages().next(),
  getWebhook: ({ webhooks }) => webhooks.get(id),
  changeWebhook: ({ webhooks }) => webhooks.change(id, { status: 'paused' }),
  deleteWebhook: ({ webhooks }) => webhooks.delete(id),
  rotateWebhookSecret: ({ webhooks }) => webhooks.rotate(id),
  testWebhook: ({ webhooks }) => webhooks.test(id),
  getDeliveries: ({ webhooks }) => webhooks.deliveries(id, { status: 'failed' }).pages().next(),
  retryDelivery: ({ webhooks }) => webhooks.retry(id, id),
  getPeople: ({ people }) => people.list({ limit: 2 }).pages().next(),
  changePerson: ({ people }) => people.change(person, { role: 'editor' }),
  removePerson: ({ people }) => people.remove(person, { revokeKeys: '1' }),
  invitePerson: ({ invitations }) => invitations.create({ role: 'viewer' }),
  getInvitations: ({ invitations }) => invitations.list().pages().next(),
  getInvitation: ({ invitations }) => invitations.get(id),
  withdrawInvitation: ({ invitations }) => invitations.withdraw(id),
  getMe: ({ me }) => me.get(),
  replayWebhook: ({ webhooks }) => webhooks.replay(id, { after: 'start' }),
};

interface Described {
  readonly operationId?: string;
  readonly responses?: Readonly<Record<string, object>>;
}

const described = Object.entries(
  openApiDocument().paths as Readonly<Record<string, Readonly<Record<string, Described>>>>,
).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([, { operationId }]) => operationId !== undefined && path.startsWith('/v2/'))
    .map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
);

describe('client: methods', () => {
  it('exist for each operation of the OpenAPI document', () => {
    const ids = described.map(({ operationId }) => operationId);
    expect(Object.keys(operations)).to.have.members([...ids, 'exportLinksFile']);
    expect(Object.keys(calls)).to.have.members(Object.keys(operations));
  });

  for (const { operationId = '', method, path } of described) {
    it(`send ${operationId} with its method and path`, async () => {
      const { client, requests } = scriptedClient([() => streamOf('{}\n')]);
      await calls[operationId]?.(client);
      expect(requests).to.have.length(1);
      const [request] = requests;
      expect(request?.method).to.equal(method);
      const pattern = path.replace(/\{\w+\}/g, '[^/?]+');
      expect(request?.url).to.match(new RegExp(`^http://api[.]test${pattern}(?:[?]|$)`));
      expect(request?.headers).to.include({ Authorization: `Bearer ${testKey}` });
    });
  }

  it('encode parameters', async () => {
    const { client, requests } = scriptedClient([{ body: { links: [] } }]);
    await client.links.get('café/ü?#', { domain: 'go.example.com' });
    await client.links.removeCode('a', 'go.example.com/b');
    await client.links
      .list({ tag: ['a b', 'c,d'], search: 'x&y=z' })
      .pages()
      .next();
    await client.stats.get('a', { include: ['os', 'bots'] });
    await client.events.page({ types: ['LinkCreated', 'LinkVisited'] });
    expect(requests.map(({ url }) => url.replace('http://api.test/v2/', ''))).to.deep.equal([
      'links/caf%C3%A9%2F%C3%BC%3F%23?domain=go.example.com',
      'links/a/codes/go.example.com%2Fb',
      'links?tag=a+b&tag=c%2Cd&search=x%26y%3Dz',
      'stats/a?include=os&include=bots',
      'events?types=LinkCreated&types=LinkVisited',
    ]);
  });

  it('reject path parameters that would address another path', async () => {
    const { client, requests } = scriptedClient([{}]);
    for (const code of ['', '.', '..']) {
      expect(await rejection(client.links.delete(code))).to.be.instanceOf(TypeError);
    }
    expect(requests).to.have.length(0);
  });

  it('send a version as ETag, and an ETag as it is', async () => {
    const { client, requests } = scriptedClient([{}]);
    await client.links.change('a', { title: 'b' }, { ifMatch: 7 });
    await client.links.delete('a', { ifMatch: '"8"' });
    await client.links.delete('a', { ifMatch: '' });
    expect(requests.map(({ headers }) => headers['If-Match'])).to.deep.equal([
      '"7"',
      '"8"',
      undefined,
    ]);
  });

  it('send bodies as JSON, and files as bytes', async () => {
    const { client, requests } = scriptedClient([{}]);
    await client.shares.create('a');
    await client.keys.revoke(id);
    await client.imports.start(new Uint8Array([1, 2]));
    expect(requests.map(({ body, headers }) => [body, headers['Content-Type']])).to.deep.equal([
      ['{}', 'application/json'],
      [undefined, undefined],
      [new Uint8Array([1, 2]), 'application/octet-stream'],
    ]);
  });

  it('upload chunks as a stream, and end it with its request', async () => {
    let isEnded = false;
    const chunks = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for (const text of ['url\n', 'https://example.com/\n']) {
          yield await Promise.resolve(new TextEncoder().encode(text));
        }
      } finally {
        isEnded = true;
      }
    };
    const texts: string[] = [];
    const { client, requests } = scriptedClient([
      async ({ body }) => {
        texts.push(await new Response(body as ReadableStream).text());
        return new Response('{}');
      },
    ]);
    await client.imports.start(chunks());
    expect(texts).to.deep.equal(['url\nhttps://example.com/\n']);
    expect(requests[0]).to.include({ duplex: 'half' });
    expect(isEnded).to.equal(true);
  });
});

describe('client: error classes', () => {
  it('exist for each documented status, with the name of their export', async () => {
    const statuses = new Set(
      described
        .flatMap(({ responses = {} }) => Object.keys(responses))
        .filter((code) => code >= '400'),
    );
    const names = new Set<string>();
    for (const status of statuses) {
      const { client } = scriptedClient([{ status: Number(status) }], { maxRetries: 0 });
      const error = await rejection(client.links.get('a'));
      expect(error).to.be.instanceOf(LinklogError).and.not.to.have.property('name', 'LinklogError');
      const { name } = error as Error;
      names.add(name);
      const Class = (exported as unknown as Readonly<Record<string, typeof LinklogError>>)[name];
      expect(Class, name).to.be.a('function');
      expect(error).to.be.instanceOf(Class);
    }
    expect(names.size).to.equal(statuses.size).and.to.be.above(10);
  });
});

describe('client: lists', () => {
  const page = (links: readonly number[], next: string | null) => ({
    body: { links, next, count: 3 },
  });

  it('iterate over the items of all pages, and request a page only when it is needed', async () => {
    const { client, requests } = scriptedClient([
      page([1, 2], 'c1'),
      page([], 'c2'),
      page([3], null),
    ]);
    const items: unknown[] = [];
    const counts: number[] = [];
    for await (const link of client.links.list({ tag: ['a'] })) {
      items.push(link);
      counts.push(requests.length);
    }
    expect(items).to.deep.equal([1, 2, 3]);
    expect(counts).to.deep.equal([1, 1, 3]);
    expect(requests.map(({ url }) => new URL(url).searchParams.get('after'))).to.deep.equal([
      ...[null, 'c1', 'c2'],
    ]);
    expect(requests.every(({ url }) => url.includes('tag=a'))).to.equal(true);
  });

  it('have pages, and start again in each iteration', async () => {
    const { client } = scriptedClient([page([1], 'c1'), page([2], null), page([1], null)]);
    const list = client.links.list();
    const pages: unknown[] = [];
    for await (const { links, count } of list.pages()) pages.push(...links, count);
    expect(pages).to.deep.equal([1, 3, 2, 3]);
    for await (const link of list) expect(link).to.equal(1);
  });

  it('without a cursor have one page', async () => {
    const { client, requests } = scriptedClient([{ body: { webhooks: [{ id: 'a' }] } }]);
    for await (const webhook of client.webhooks.list()) expect(webhook).to.deep.equal({ id: 'a' });
    expect(requests).to.have.length(1);
  });
});
