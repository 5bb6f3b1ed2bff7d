// Own products: two processes that share only one PostgreSQL, as on two machines.
import { expect } from 'chai';
import { inheritedEnvironment } from '../../config/config.js';
import {
  sendRequest,
  concurrently,
  statuses,
  type HttpResponse,
  type RequestOptions,
} from '../support/http.js';
import { onStack, type IssuedKey, type Product } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, productFixture, startSecondNode } from './harness.js';

/** `LINKLOG_ROUNDS=50` is the long form. */
const rounds = Number(inheritedEnvironment()['LINKLOG_ROUNDS'] ?? '2');
const elsewhere = 'https://example.com/elsewhere';

const inEachRound = (title: string, run: (round: number) => Promise<void>): void => {
  it(`${title}, in each of ${rounds} rounds`, async function () {
    this.timeout(60_000 + rounds * 10_000);
    for (let round = 1; round <= rounds; round += 1) await run(round);
  });
};

const redirects = (responses: readonly HttpResponse[]): number => statuses(responses)[302] ?? 0;

describe('two nodes on one database', () => {
  const bench = productFixture();
  let other: Product | undefined;
  let apis: readonly string[];
  let edges: readonly string[];
  let pro: IssuedKey;

  before('start another node', async function () {
    this.timeout(120_000);
    const { product } = bench;
    if (!onStack) other = await startSecondNode(product);
    apis = [...product.apis, ...(other?.apis ?? [])];
    edges = [...product.edges, ...(other?.edges ?? [])];
    expect([apis, edges].map(({ length }) => length)).to.deep.equal([2, 2]);
  });
  beforeEach(async () => {
    pro = await bench.key('PRO');
  });
  after('stop the other node', async () => {
    try {
      await other?.stop();
    } finally {
      await other?.cleanup();
    }
  });

  const call = (n: number, { key }: { key: string }, path: string, options: RequestOptions = {}) =>
    sendRequest(`${apis[n % apis.length] ?? ''}/v2${path}`, {
      ...options,
      headers: { Authorization: `Bearer ${key}`, ...options.headers },
    });

  const change = (n: number, code: string, body: object, headers = {}): Promise<HttpResponse> =>
    call(n, pro, `/links/${code}`, { method: 'PATCH', body, headers });

  const createLink = async (body: Record<string, unknown> = {}): Promise<string> =>
    (await bench.link(pro.key, body)).shortCode;

  const visit = (n: number, code: string, headers = {}): Promise<HttpResponse> =>
    sendRequest(`${edges[n % edges.length] ?? ''}/${code}`, { headers });

  /** Loads the link into the memory of each edge. */
  const cacheOnEdges = async (code: string): Promise<void> => {
    for (const response of await concurrently(edges.length, (n) => visit(n, code))) {
      expect(response.status).to.equal(302);
    }
  };

  const expectClicks = (code: string, clickCount: number): Promise<void> =>
    eventuallyPasses(async () => {
      expect((await bench.stats(code, pro.key)).clickCount).to.equal(clickCount);
    });

  const expectGoneEverywhere = async (code: string): Promise<void> => {
    for (const response of await concurrently(edges.length, (n) => visit(n, code))) {
      expect(response.status).to.equal(410);
    }
  };

  inEachRound('let one of ten edits with one If-Match win', async (round) => {
    const code = await createLink();
    await cacheOnEdges(code);
    const responses = await concurrently(10, (n) =>
      change(n, code, { url: `${elsewhere}#${n}` }, { 'If-Match': '"1"' }),
    );
    expect(statuses(responses)).to.deep.equal({ 200: 1, 412: 9 });
    const url = `${elsewhere}#${responses.findIndex(({ status }) => status === 200)}`;
    const details = await call(round, pro, `/links/${code}`);
    expect(details.json()).to.include({ url, version: 2 });
    await eventuallyPasses(async () => {
      for (const { headers } of await concurrently(edges.length, (n) => visit(n, code))) {
        expect(headers.location).to.equal(url);
      }
    });
  });

  inEachRound(
    'never redirect more of 500 visitors than a limit that is raised meanwhile',
    async (round) => {
      const code = await createLink({ maxClicks: 5 });
      const [responses, raise] = await Promise.all([
        concurrently(500, (n) => visit(n, code)),
        change(round, code, { maxClicks: 9 }),
      ]);
      expect(raise.status).to.equal(200);
      await eventuallyPasses(async () => {
        responses.push(...(await concurrently(edges.length, (n) => visit(n, code))));
        expect(redirects(responses)).to.equal(9);
      });
      await expectGoneEverywhere(code);
      expect((await call(round, pro, `/links/${code}`)).json()).to.include({ status: 'expired' });
      await expectClicks(code, 9);
    },
  );

  it('redirect to a restored link on every edge', async () => {
    const code = await createLink();
    await cacheOnEdges(code);
    for (let round = 0; round < 4; round += 1) {
      const remove = await call(round, pro, `/links/${code}`, { method: 'DELETE' });
      expect(remove.status).to.equal(204);
      await eventuallyPasses(() => expectGoneEverywhere(code));
      const restoration = await call(round + 1, pro, `/links/${code}/restore`, { method: 'POST' });
      expect(restoration.status, restoration.text).to.equal(200);
      await eventuallyPasses(() => cacheOnEdges(code));
    }
  });

  it('share links from their 201 on, and keys from each change on', async () => {
    for (let round = 0; round < 20; round += 1) {
      const alias = `round-${round}`;
      expect((await visit(round + 1, alias)).status).to.equal(404);
      const options = { method: 'POST', body: { url: destination, alias } };
      const created = await call(round, pro, '/shorten', options);
      expect(created.status, created.text).to.equal(201);
      expect((await visit(round + 1, alias)).headers.location).to.equal(destination);
    }
    const { id, key } = await bench.key('FREE');
    const expectStatus = async (status: number): Promise<void> => {
      for (const n of [0, 1]) expect((await call(n, { key }, '/usage')).status).to.equal(status);
    };
    await expectStatus(200);
    for (const active of [false, true]) {
      await bench.admin('PATCH', `/admin/keys/${id}`, { active });
      await expectStatus(active ? 200 : 401);
    }
    await bench.admin('DELETE', `/admin/keys/${id}`);
    await expectStatus(401);
  });

  it('apply a block and maintenance on both', async () => {
    const code = await createLink();
    const expectStatuses = (ofEdge: number, ofApi: number): Promise<void> =>
      eventuallyPasses(async () => {
        for (const n of [0, 1]) {
          expect((await visit(n, code)).status).to.equal(ofEdge);
          expect((await call(n, pro, '/usage')).status).to.equal(ofApi);
        }
      });
    await expectStatuses(302, 200);
    await bench.admin('POST', `/admin/links/${code}/block`, { reason: 'phishing' });
    await expectStatuses(410, 200);
    await bench.admin('PATCH', '/admin/platform', { maintenance: true });
    await expectStatuses(503, 503);
    await bench.admin('PATCH', '/admin/platform', { maintenance: false });
    await expectStatuses(410, 200);
  });
});
