import { expect } from 'chai';
import { inheritedEnvironment } from '../../config/config.js';
import { concurrently, statuses } from '../support/http.js';
import { destination, expectBody, expectRefused, monthly, sharedProduct } from './harness.js';

/** `LINKLOG_ROUNDS=20` is the long form. */
const rounds = Number(inheritedEnvironment()['LINKLOG_ROUNDS'] ?? '2');

const inEachRound = (title: string, run: (round: number) => Promise<void>): void => {
  it(`${title}, in each of ${rounds} rounds`, async function () {
    this.timeout(30_000 + rounds * 10_000);
    for (let round = 1; round <= rounds; round += 1) await run(round);
  });
};

describe('races', () => {
  const bench = sharedProduct();
  const account = 'races';

  inEachRound('of 300 requests for one alias: exactly one succeeds', async (round) => {
    const keys = [
      (await bench.key('PRO', { account })).key,
      (await bench.key('PRO', { account: 'races-other' })).key,
    ];
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
      `of 500 visitors with a limit of ${limit}: exactly ${limit} redirects`,
      async () => {
        const { key } = await bench.key('FREE', { account });
        const { shortCode } = await bench.link(key, { maxClicks: limit });
        const responses = await concurrently(500, () => bench.visit(shortCode));
        expect(statuses(responses)).to.deep.equal({ 302: limit, 410: 500 - limit });
        for (const response of responses.filter(({ status }) => status === 410)) {
          expect(response.json()).to.include({ errorType: 'EXPIRED', path: `/${shortCode}` });
        }
        await bench.expectClicks(shortCode, key, limit);
        expect((await bench.visit(shortCode)).status).to.equal(410);
      },
    );
  }

  inEachRound('of 100 requests with 35 links a month: exactly 35 links', async () => {
    const { key } = await bench.key('FREE', { account });
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
  });

  inEachRound('of 200 calls with 60 calls a minute: exactly 60 calls', async () => {
    const { id, key } = await bench.key('FREE', { account });
    const responses = await concurrently(200, (n) =>
      bench.api(n % 2 === 0 ? '/v2/usage' : '/v2/stats/nothing0', key),
    );
    const refused = responses.filter(({ status }) => status === 429);
    expect(refused).to.have.length(140);
    for (const { headers } of refused) expect(headers['x-ratelimit-remaining']).to.equal('0');
    const passed = responses.filter(({ status }) => status !== 429);
    const remaining = passed.map(({ headers }) => Number(headers['x-ratelimit-remaining']));
    expect(remaining.sort((a, b) => a - b)).to.deep.equal(
      Array.from({ length: 60 }, (_, index) => index),
    );
    const seen = await bench.admin('GET', `/admin/keys/${id}`);
    expect(seen.json()).to.have.nested.property('usage.minute.used', 60);
  });
});
