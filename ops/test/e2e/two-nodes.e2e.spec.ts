import { expect } from 'chai';
import { sendRequest, concurrently, statuses, type HttpResponse } from '../support/http.js';
import type { Product } from '../support/product.js';
import {
  destination,
  expectBody,
  invalidKey,
  passwordForm,
  productFixture,
  startSecondNode,
} from './harness.js';
import { eventuallyPasses } from '../support/waiting.js';

/** Two processes that share only one PostgreSQL, as on two machines. */
describe('product: two nodes on one database', () => {
  const bench = productFixture();
  let other: Product | undefined;
  let edges: readonly [string, string];
  let apis: readonly [string, string];
  let pro: string;

  before(async () => {
    other = await startSecondNode(bench.product);
    edges = [bench.product.edge, other.edge];
    apis = [bench.product.api, other.api];
    pro = (await bench.key('PRO')).key;
  });
  after('stop both', async () => {
    try {
      await other?.stop();
    } finally {
      await other?.cleanup();
    }
  });

  const alternate = (origins: readonly [string, string], index: number): string =>
    origins[index % 2 === 0 ? 0 : 1];

  const usage = (api: string, key: string): Promise<HttpResponse> =>
    sendRequest(`${api}/v2/usage`, { headers: { Authorization: `Bearer ${key}` } });

  const enter = (edge: string, code: string, password: string): Promise<HttpResponse> =>
    sendRequest(`${edge}/${code}`, passwordForm(password));

  it('allow five guesses a minute in total, with a Retry-After of at most 30 s', async () => {
    const { shortCode } = await bench.link(pro, { password: 'secret' });
    const responses = await concurrently(40, (index) =>
      enter(alternate(edges, index), shortCode, `guess ${index}`),
    );
    // 503: the first five were being checked for so long that it was not known whether a sixth is allowed.
    const { 503: undecided = 0, ...decided } = statuses(responses);
    expect(decided).to.deep.equal({ 401: 5, 429: 35 - undecided });
    for (const { status, headers } of responses) {
      if (status === 429) expect(Number(headers['retry-after'])).to.be.within(1, 30);
    }
    // The right password is rejected too: it would be a sixth guess.
    for (const edge of edges) {
      expect((await enter(edge, shortCode, 'secret')).status).to.equal(429);
    }
  });

  it('share console sessions, and end them with their key', async () => {
    const { key, id } = await bench.key('PRO');
    const [api] = apis;
    const signedIn = await sendRequest(`${api}/console/session`, {
      method: 'POST',
      headers: { Origin: api },
      body: { key },
    });
    const [Cookie = ''] = signedIn.headers['set-cookie']?.join().split(';') ?? [];
    const status = async (api: string, path: string): Promise<number> =>
      (await sendRequest(`${api}/console/${path}`, { headers: { Cookie } })).status;
    for (const api of apis) {
      expect(await status(api, 'session')).to.equal(200);
      expect(await status(api, 'v2/usage')).to.equal(200);
    }
    await bench.admin('DELETE', `/admin/keys/${id}`);
    await eventuallyPasses(async () => {
      for (const api of apis) {
        expect(await status(api, 'session')).to.equal(204);
        expect(await status(api, 'v2/usage')).to.equal(401);
      }
    });
  });

  it('share links and keys from their 201 on', async () => {
    for (let round = 0; round < 20; round += 1) {
      const [own, other] = round % 2 === 0 ? [0, 1] : ([1, 0] as const);
      const alias = `round-${round}`;
      expect((await sendRequest(`${edges[other]}/${alias}`)).status).to.equal(404);
      const created = await sendRequest(`${apis[own]}/v2/shorten`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${pro}` },
        body: { url: destination, alias },
      });
      expect(created.status, created.text).to.equal(201);
      const visit = await sendRequest(`${edges[other]}/${alias}`);
      expect(visit.headers.location).to.equal(destination);
    }
    const { key } = await bench.key('FREE');
    expect((await usage(apis[1], key)).status).to.equal(200);
  });

  it('reject a key immediately after it is deactivated or revoked', async () => {
    const { id, key } = await bench.key('FREE');
    await bench.admin('PATCH', `/admin/keys/${id}`, { active: false });
    for (const api of apis) expectBody(await usage(api, key), 401, invalidKey);
    await bench.admin('PATCH', `/admin/keys/${id}`, { active: true });
    for (const api of apis) expect((await usage(api, key)).status).to.equal(200);
    await bench.admin('DELETE', `/admin/keys/${id}`);
    for (const api of apis) expectBody(await usage(api, key), 401, invalidKey);
  });

  it('share the limits of a key', async () => {
    const { key } = await bench.key('FREE');
    const responses = await concurrently(100, (index) => usage(alternate(apis, index), key));
    expect(statuses(responses)).to.deep.equal({ 200: 60, 429: 40 });
  });

  it('share the click limit of a link', async () => {
    const { shortCode } = await bench.link(pro, { maxClicks: 25 });
    const responses = await concurrently(100, (index) =>
      sendRequest(`${alternate(edges, index)}/${shortCode}`),
    );
    expect(statuses(responses)).to.deep.equal({ 302: 25, 410: 75 });
  });

  it('both apply a block and maintenance', async () => {
    const { shortCode } = await bench.link(pro);
    const statusAt = async (edge: string): Promise<number> =>
      (await sendRequest(`${edge}/${shortCode}`)).status;
    for (const edge of edges) expect(await statusAt(edge)).to.equal(302);
    await bench.admin('POST', `/admin/links/${shortCode}/block`, { reason: 'phishing' });
    await eventuallyPasses(async () => {
      for (const edge of edges) expect(await statusAt(edge)).to.equal(410);
    });
    await bench.admin('PATCH', '/admin/platform', { maintenance: true });
    await eventuallyPasses(async () => {
      for (const edge of edges) expect(await statusAt(edge)).to.equal(503);
      for (const api of apis) expect((await usage(api, pro)).status).to.equal(503);
    });
    await bench.admin('PATCH', '/admin/platform', { maintenance: false });
    await eventuallyPasses(async () => {
      for (const edge of edges) expect(await statusAt(edge)).to.equal(410);
      for (const api of apis) expect((await usage(api, pro)).status).to.equal(200);
    });
  });
});
