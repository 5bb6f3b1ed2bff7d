import { expect } from 'chai';
import { concurrently, type HttpResponse } from '../support/http.js';
import { destination, expectRefused, keyFixture, sharedProduct } from './harness.js';

describe('Idempotency-Key', () => {
  const bench = sharedProduct();
  const account = 'idempotency';
  const pro = keyFixture(bench, 'PRO', { account });

  const post = (idempotencyKey: string, body: unknown, key = pro.key): Promise<HttpResponse> =>
    bench.shorten(key, body, { 'Idempotency-Key': idempotencyKey });
  const expectReplay = (again: HttpResponse, first: HttpResponse): void => {
    expect(first.status, first.text).to.equal(201);
    expect(again.status, again.text).to.equal(201);
    expect(again.text).to.equal(first.text);
    expect(first.headers).not.to.have.property('idempotency-replayed');
    expect(again.headers['idempotency-replayed']).to.equal('true');
  };

  it('replays the first response byte for byte, also after the link changed and expired', async () => {
    const body = { url: destination, alias: 'idempotency-gone', expiresIn: 600, maxClicks: 1 };
    const first = await post('gone', body);
    expectReplay(await post('gone', body), first);
    await bench.change('idempotency-gone', pro.key, { title: 'second' });
    expect((await bench.visit('idempotency-gone')).status).to.equal(302);
    expectReplay(await post('gone', body), first);
    expect((await bench.visit('idempotency-gone')).status).to.equal(410);
  });

  it('rejects another body, even an equivalent one', async () => {
    await post('other', { url: destination });
    const mismatch = 'Idempotency-Key was already used with another request body';
    for (const body of [{ url: `${destination}&c` }, { url: destination, alias: null }]) {
      expectRefused(await post('other', body), 422, mismatch);
    }
  });

  it('stores no failure: a retry can succeed, also with another body', async () => {
    expectRefused(await post('failed', { url: 'no' }), 400, 'Please provide a valid URL');
    expect((await post('failed', { url: destination })).status).to.equal(201);
    const taken = { url: destination, alias: 'idempotency-taken' };
    await bench.link(pro.key, taken);
    for (let time = 0; time < 2; time += 1) {
      expectRefused(await post('taken', taken), 400, 'Alias is already taken');
    }
    const free = { ...taken, alias: 'idempotency-free' };
    expect((await post('taken', free)).status).to.equal(201);
  });

  it('is case-sensitive, and scoped to its API key', async () => {
    const { key: other } = await bench.key('PRO', { account });
    const responses = [
      ...[await post('Exact', { url: destination }), await post('exact', { url: destination })],
      await post('Exact', { url: destination }, other),
    ];
    expect(new Set(responses.map(({ text }) => text)).size).to.equal(3);
  });

  it('has at most 255 characters, counts as absent if it is empty, and is ignored on a GET', async () => {
    for (const name of ['k'.repeat(255), '~!@#$%^&*()', '{"a":1}']) {
      const first = await post(name, { url: destination });
      expectReplay(await post(name, { url: destination }), first);
    }
    const message = 'Idempotency-Key must be between 1 and 255 characters';
    const tooLong = 'k'.repeat(256);
    expectRefused(await post(tooLong, { url: destination }), 400, message);
    const codes = [await post('', { url: destination }), await post('', { url: destination })].map(
      (response) => (response.json() as { readonly shortCode: string }).shortCode,
    );
    expect(new Set(codes).size).to.equal(2);
    const headers = { 'Idempotency-Key': tooLong };
    expect((await bench.api('/v2/usage', pro.key, { headers })).status).to.equal(200);
  });

  it('creates one link for 100 concurrent copies: the others get 409 or a replay', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { key } = await bench.key('PRO', { account });
      const responses = await concurrently(100, () => post('race', { url: destination }, key));
      const inFlight = responses.filter(({ status }) => status === 409);
      expect(inFlight.length).to.be.above(0);
      for (const response of inFlight) {
        expectRefused(response, 409, 'A request with this Idempotency-Key is still in progress');
      }
      const [first, ...others] = responses.filter(
        ({ status, headers }) => status === 201 && headers['idempotency-replayed'] === undefined,
      );
      if (!first) throw new Error('no request created a link');
      expect(others).to.deep.equal([]);
      const replays = responses.filter((response) => response !== first && response.status !== 409);
      for (const response of replays) expectReplay(response, first);
      expectReplay(await post('race', { url: destination }, key), first);
      expect(await bench.usage(key)).to.include({ links: 1 });
    }
  });

  it('creates 100 links for 100 concurrent requests with different keys', async () => {
    const responses = await concurrently(100, (n) => post(`own-${n}`, { url: destination }));
    expect(new Set(responses.map(({ text }) => text)).size).to.equal(100);
    for (const { status } of responses) expect(status).to.equal(201);
  });
});
