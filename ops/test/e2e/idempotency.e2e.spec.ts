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

  it('rejects another body, even an equivalent one, and more than 255 characters', async () => {
    const tooLong = await post('k'.repeat(256), { url: destination });
    expectRefused(tooLong, 400, 'Idempotency-Key must be between 1 and 255 characters');
    const longest = 'k'.repeat(255);
    await post(longest, { url: destination });
    const mismatch = 'Idempotency-Key was already used with another request body';
    for (const body of [{ url: `${destination}&c` }, { url: destination, alias: null }]) {
      expectRefused(await post(longest, body), 422, mismatch);
    }
  });

  it('is absent if it is empty, as an If-Match is', async () => {
    const [first, second] = [
      await post('', { url: destination }),
      await post('', { url: destination }),
    ];
    expect([first.status, second.status]).to.deep.equal([201, 201]);
    expect(second.text).not.to.equal(first.text);
    const { shortCode } = first.json() as { shortCode: string };
    const options = { method: 'PATCH', headers: { 'If-Match': '' }, body: { title: 'a' } };
    expect((await bench.api(`/v2/links/${shortCode}`, pro.key, options)).status).to.equal(200);
  });

  it('creates one link for 100 concurrent copies: the others get 409 or a replay', async () => {
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
  });
});
