import { expect } from 'chai';
import { openApiDocument } from '../../../../command-api/http/openapi/document.js';
import { rejection } from '../../../test/support/waiting.js';
import { scriptedClient, streamOf, testKey } from '../testing/scripted-fetch.js';
import * as exported from './index.js';
import { LinklogError } from './index.js';
import { List } from './list.js';
import { methods, operations } from './operations.js';

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

type AnyClient = Readonly<
  Record<string, Readonly<Record<string, (...args: unknown[]) => unknown>>>
>;

const isIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

describe('client: methods', () => {
  const groups: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    ...methods,
    events: { page: 'getEvents' },
  };

  it('exist for each operation of the OpenAPI document', () => {
    const ids = [...described.map(({ operationId }) => operationId), 'exportLinksFile'];
    expect(Object.keys(operations)).to.have.members(ids);
    expect(Object.values(groups).flatMap((names) => Object.values(names))).to.have.members(ids);
  });

  for (const [group, names] of Object.entries(groups)) {
    for (const [name, id] of Object.entries(names)) {
      it(`send ${id} with its method and path: ${group}.${name}`, async () => {
        const { client, requests } = scriptedClient([() => streamOf('{}\n')]);
        const operationId = id.replace('exportLinksFile', 'exportLinks');
        const operation = described.find((known) => known.operationId === operationId);
        const { method, path = '' } = operation ?? {};
        const parameters = (path.match(/\{\w+\}/g) ?? []).map(() => 'a');
        const result = (client as unknown as AnyClient)[group]?.[name]?.(...parameters);
        if (result instanceof List) await result.pages().next();
        else if (isIterable(result)) await result[Symbol.asyncIterator]().next();
        else await result;
        expect(requests).to.have.length(1);
        const [request] = requests;
        expect(request?.method).to.equal(method);
        const pattern = path.replace(/\{\w+\}/g, 'a');
        expect(request?.url).to.match(new RegExp(`^http://api[.]test${pattern}(?:[?]|$)`));
        expect(request?.headers).to.include({ Authorization: `Bearer ${testKey}` });
      });
    }
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
    await client.keys.revoke('a');
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
