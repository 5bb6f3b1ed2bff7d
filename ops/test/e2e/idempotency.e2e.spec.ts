import { expect } from 'chai';
import { concurrently, type HttpResponse } from '../support/http.js';
import { destination, expectRefused, productFixture } from './harness.js';

const mismatch = 'Idempotency-Key was already used with another request body';
const badKey = 'Idempotency-Key must be between 1 and 255 characters';

describe('command API: Idempotency-Key', () => {
  const bench = productFixture();
  let pro: string;

  before(async () => {
    pro = (await bench.key('PRO')).key;
  });

  const post = (idempotencyKey: string, body: unknown, key = pro): Promise<HttpResponse> =>
    bench.shorten(key, body, { 'Idempotency-Key': idempotencyKey });

  const expectReplay = (again: HttpResponse, first: HttpResponse): void => {
    expect(first.status, first.text).to.equal(201);
    expect(again.status, again.text).to.equal(201);
    expect(again.text).to.equal(first.text);
    expect(again.headers['content-type']).to.equal(first.headers['content-type']);
    expect(first.headers).not.to.have.property('idempotency-replayed');
    expect(again.headers['idempotency-replayed']).to.equal('true');
  };

  it('replays the first response byte for byte', async () => {
    const body = { url: destination, alias: 'once-only', expiresIn: 600, maxClicks: 3 };
    const first = await post('again', body);
    expectReplay(await post('again', body), first);
    expectReplay(await post('again', body), first);
  });

  it('replays it even after the link expired', async () => {
    const body = { url: destination, alias: 'soon-gone', maxClicks: 1 };
    const first = await post('gone', body);
    expect((await bench.visit('soon-gone')).status).to.equal(302);
    expectReplay(await post('gone', body), first);
    expect((await bench.visit('soon-gone')).status).to.equal(410);
  });

  it('rejects another body, even an equivalent one', async () => {
    await post('other', { url: destination });
    expectRefused(await post('other', { url: `${destination}&c` }), 422, mismatch);
    expectRefused(await post('other', { url: destination, alias: null }), 422, mismatch);
  });

  it('does not store failures: a retry can succeed, also with another body', async () => {
    expectRefused(await post('failed', { url: 'no' }), 400, 'Please provide a valid URL');
    expect((await post('failed', { url: destination })).status).to.equal(201);
    const taken = { url: destination, alias: 'taken-first' };
    await bench.link(pro, taken);
    expectRefused(await post('taken', taken), 400, 'Alias is already taken');
    expectRefused(await post('taken', taken), 400, 'Alias is already taken');
    expect((await post('taken', { ...taken, alias: 'taken-never' })).status).to.equal(201);
  });

  it('does not store a monthly 429', async () => {
    const { id, key } = await bench.key('FREE');
    for (let link = 0; link < 35; link += 1) await bench.link(key);
    const refused = await post('next-month', { url: destination }, key);
    expect(refused.status).to.equal(429);
    await bench.admin('PATCH', `/admin/keys/${id}`, { plan: 'HOBBY' });
    const accepted = await post('next-month', { url: destination }, key);
    expect(accepted.status).to.equal(201);
    expect(accepted.headers).not.to.have.property('idempotency-replayed');
  });

  it('is scoped to its API key, also within one account', async () => {
    const other = (await bench.key('PRO')).key;
    const first = await post('mine', { url: destination });
    const theirs = await post('mine', { url: destination }, other);
    expect(theirs.status).to.equal(201);
    expect(theirs.headers).not.to.have.property('idempotency-replayed');
    expect(theirs.text).not.to.equal(first.text);
  });

  it('is case-sensitive', async () => {
    const first = await post('Exact', { url: destination });
    for (const key of ['exact', 'Exact.', ' '.repeat(3) + 'exacT']) {
      const response = await post(key, { url: destination });
      expect(response.headers, key).not.to.have.property('idempotency-replayed');
      expect(response.text).not.to.equal(first.text);
    }
  });

  it('must have 1 to 255 characters', async () => {
    for (const key of ['k', 'k'.repeat(255), '~!@#$%^&*()', '{"a":1}']) {
      const first = await post(key, { url: destination });
      expectReplay(await post(key, { url: destination }), first);
    }
    expectRefused(await post('', { url: destination }), 400, badKey);
    expectRefused(await post('k'.repeat(256), { url: destination }), 400, badKey);
  });

  it('is ignored on a GET', async () => {
    const { shortCode } = await bench.link(pro);
    const headers = { 'Idempotency-Key': 'k'.repeat(300) };
    for (let ask = 0; ask < 2; ask += 1) {
      const response = await bench.api(`/v2/stats/${shortCode}`, pro, { headers });
      expect(response.status).to.equal(200);
      expect(response.headers).not.to.have.property('idempotency-replayed');
    }
  });

  it('creates one link for 100 concurrent copies: the others get 409 or a replay', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { id, key } = await bench.key('PRO');
      const responses = await concurrently(100, () => post('race', { url: destination }, key));
      const created = responses.filter(
        ({ status, headers }) => status === 201 && headers['idempotency-replayed'] === undefined,
      );
      expect(created).to.have.length(1);
      const [first] = created;
      if (!first) throw new Error('no request created a link');
      const inFlight = responses.filter(({ status }) => status === 409);
      expect(inFlight.length).to.be.above(0);
      for (const response of inFlight) {
        expectRefused(response, 409, 'A request with this Idempotency-Key is still in progress');
      }
      const replays = responses.filter((response) => response !== first && response.status !== 409);
      for (const response of replays) expectReplay(response, first);
      expectReplay(await post('race', { url: destination }, key), first);
      const usage = (await bench.admin('GET', `/admin/keys/${id}`)).json();
      expect(usage).to.have.nested.property('usage.month.links', 1);
    }
  });

  it('accepts 100 concurrent requests with different keys', async () => {
    const { key } = await bench.key('PRO');
    const responses = await concurrently(100, (n) => post(`own-${n}`, { url: destination }, key));
    expect(new Set(responses.map(({ text }) => text)).size).to.equal(100);
    for (const { status } of responses) expect(status).to.equal(201);
  });
});
