import { expect } from 'chai';
import { inheritedEnvironment } from '../../config/config.js';
import { concurrently, type HttpResponse, statuses } from '../support/http.js';
import { destination, expectRefused, sharedProduct } from './harness.js';

/** `LINKLOG_ROUNDS=20` is the long form. */
const rounds = Number(inheritedEnvironment()['LINKLOG_ROUNDS'] ?? '2');

const inEachRound = (title: string, run: (round: number) => Promise<void>): void => {
  it(`${title}, in each of ${rounds} rounds`, async function () {
    this.timeout(30_000 + rounds * 10_000);
    for (let round = 1; round <= rounds; round += 1) await run(round);
  });
};

/** Repeats a call as a client does: on a busy machine, some of hundreds of calls are not completed in time. */
const untilCompleted = async (call: () => Promise<HttpResponse>): Promise<HttpResponse> => {
  for (;;) {
    const response = await call();
    if (response.status !== 503) return response;
  }
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
      untilCompleted(() =>
        bench.shorten(
          keys[racer % 2] ?? '',
          { url: `${destination}#${racer}`, alias },
          { 'Idempotency-Key': `${alias}-${racer}` },
        ),
      ),
    );
    expect(statuses(responses)).to.deep.equal({ 201: 1, 400: 299 });
    for (const response of responses) {
      if (response.status === 400) expectRefused(response, 400, 'Alias is already taken');
    }
    const winner = responses.findIndex(({ status }) => status === 201);
    const visit = await bench.visit(alias);
    expect(visit.headers.location).to.equal(`${destination}#${winner}`);
  });

  inEachRound('of 500 visitors with a limit of 5: exactly 5 redirects', async () => {
    const { key } = await bench.key('FREE', { account });
    const { shortCode } = await bench.link(key, { maxClicks: 5 });
    const responses = await concurrently(500, () => bench.visit(shortCode));
    expect(statuses(responses)).to.deep.equal({ 302: 5, 410: 495 });
    await bench.expectClicks(shortCode, key, 5);
    expect((await bench.visit(shortCode)).status).to.equal(410);
  });

  it('of a 201 with other visitors: the link redirects from the 201 on', async () => {
    const { key } = await bench.key('PRO', { account });
    for (let round = 0; round < 10; round += 1) {
      const alias = `live-before-birth-${round}`;
      let isLive = false;
      const visitUntilLive = async (): Promise<void> => {
        for (let wasLive = false; !wasLive;) {
          // Whether the 201 was received before the visit.
          wasLive = isLive;
          const { status } = await bench.visit(alias);
          expect(status).to.be.oneOf(wasLive ? [302] : [302, 404]);
        }
      };
      const visitors = concurrently(20, visitUntilLive);
      await bench.link(key, { alias });
      isLive = true;
      await visitors;
    }
  });
});
