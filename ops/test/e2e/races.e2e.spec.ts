import { expect } from 'chai';
import { inheritedEnvironment } from '../../config/config.js';
import { concurrently, statuses, type HttpResponse } from '../support/http.js';
import { destination, expectBody, expectRefused, monthly, productFixture } from './harness.js';

/** `LINKLOG_ROUNDS=20` is the long form. */
const rounds = Number(inheritedEnvironment()['LINKLOG_ROUNDS'] ?? '5');

const inEachRound = (title: string, run: (round: number) => Promise<void>): void => {
  it(`${title}, in each of ${rounds} rounds`, async function () {
    this.timeout(30_000 + rounds * 1_000);
    for (let round = 1; round <= rounds; round += 1) await run(round);
  });
};

describe('product: races', () => {
  const bench = productFixture();

  inEachRound('300 concurrent requests for one alias: exactly one succeeds', async (round) => {
    const keys = [(await bench.key('PRO')).key, (await bench.key('PRO', { account: 'b' })).key];
    const alias = `raced-for-${round}`;
    const responses = await concurrently(300, (racer) =>
      bench.shorten(keys[racer % 2] ?? '', { url: `${destination}#${racer}`, alias }),
    );
    expect(statuses(responses)).to.deep.equal({ 201: 1, 400: 299 });
    for (const response of responses) {
      if (response.status === 400) expectRefused(response, 400, 'Alias is already taken');
    }
    const winner = responses.findIndex(({ status }) => status === 201);
    const visit = await bench.visit(alias);
    expect(visit.headers.location).to.equal(`${destination}#${winner}`);
  });

  for (const limit of [1, 5, 100]) {
    inEachRound(
      `a limit of ${limit} and 500 concurrent visitors: exactly ${limit} redirects`,
      async () => {
        const { key } = await bench.key('FREE');
        const { shortCode } = await bench.link(key, { maxClicks: limit });
        const responses = await concurrently(500, () => bench.visit(shortCode));
        expect(statuses(responses)).to.deep.equal({ 302: limit, 410: 500 - limit });
        const gone = responses.filter(({ status }) => status === 410);
        for (const response of gone) {
          expect(response.json()).to.include({ errorType: 'EXPIRED', path: `/${shortCode}` });
        }
        await bench.expectClicks(shortCode, key, limit);
        expect((await bench.visit(shortCode)).status).to.equal(410);
      },
    );
  }

  inEachRound('35 links a month and 100 concurrent requests: exactly 35', async () => {
    const { id, key } = await bench.key('FREE');
    const responses = await concurrently(100, () => bench.shorten(key, { url: destination }));
    // FREE allows 60 calls a minute and 35 links a month.
    const created = responses.filter(({ status }) => status === 201);
    const ofMinute = responses.filter(({ text }) => text.includes('Rate limit exceeded.'));
    expect([created.length, ofMinute.length]).to.deep.equal([35, 40]);
    for (const response of responses) {
      if (created.includes(response) || ofMinute.includes(response)) continue;
      expectBody(response, 429, monthly('Monthly link limit reached.', 35));
    }
    const codes = created.map((response) => (response.json() as { shortCode: string }).shortCode);
    expect(new Set(codes).size).to.equal(35);
    const usage = await bench.admin('GET', `/admin/keys/${id}`);
    expect(usage.json()).to.have.nested.property('usage.month.links', 35);
  });

  inEachRound('60 calls a minute and 200 concurrent calls: exactly 60', async () => {
    const { id, key } = await bench.key('FREE');
    const responses = await concurrently(200, (n): Promise<HttpResponse> =>
      bench.api(n % 2 === 0 ? '/v2/usage' : '/v2/stats/nothing0', key),
    );
    const refused = responses.filter(({ status }) => status === 429);
    expect(refused).to.have.length(140);
    for (const response of refused) {
      expect(response.json()).to.include({
        message: 'Rate limit exceeded. Try again in the next minute.',
      });
      expect(response.headers['x-ratelimit-remaining']).to.equal('0');
    }
    const passed = responses.filter(({ status }) => status !== 429);
    const remaining = passed.map(({ headers }) => Number(headers['x-ratelimit-remaining']));
    expect(remaining.sort((a, b) => a - b)).to.deep.equal(
      Array.from({ length: 60 }, (_, index) => index),
    );
    const seen = await bench.admin('GET', `/admin/keys/${id}`);
    expect(seen.json()).to.have.nested.property('usage.minute.used', 60);
  });
});
