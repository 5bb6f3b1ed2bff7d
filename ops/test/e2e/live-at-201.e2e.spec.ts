import { expect } from 'chai';
import { concurrently, statuses } from '../support/http.js';
import { destination, keyFixture, sharedProduct } from './harness.js';

const times = 30;

describe('a 201', () => {
  const bench = sharedProduct();
  const account = 'live-at-201';
  const pro = keyFixture(bench, 'PRO', { account });

  it(`of ${times} links means that they redirect immediately, and have statistics`, async () => {
    for (let time = 0; time < times; time += 1) {
      const url = `${destination}#${time}`;
      const { shortCode, createdAt } = await bench.link(pro.key, { url });
      const visit = await bench.visit(shortCode);
      expect([visit.status, visit.headers.location]).to.deep.equal([302, url]);
      expect(await bench.stats(shortCode, pro.key)).to.include({ url, createdAt });
    }
  });

  it(`of ${times} aliases means that they redirect immediately after a 404`, async () => {
    for (let time = 0; time < times; time += 1) {
      const alias = `live-alias-${time}`;
      expect((await bench.visit(alias)).status).to.equal(404);
      expect((await bench.api(`/v2/stats/${alias}`, pro.key)).status).to.equal(404);
      await bench.link(pro.key, { alias });
      expect((await bench.visit(alias)).status).to.equal(302);
      expect((await bench.stats(alias, pro.key)).shortCode).to.equal(alias);
    }
  });

  it('means that a link redirects immediately while other visitors request it', async () => {
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
      await bench.link(pro.key, { alias });
      isLive = true;
      await visitors;
    }
  });

  it(`of ${times} concurrently created links means that all redirect`, async () => {
    const links = await concurrently(times, () => bench.link(pro.key, { maxClicks: 1 }));
    const visits = await Promise.all(links.map(({ shortCode }) => bench.visit(shortCode)));
    expect(statuses(visits)).to.deep.equal({ 302: times });
    // The last click of a limit takes effect immediately too.
    const late = await Promise.all(links.map(({ shortCode }) => bench.visit(shortCode)));
    expect(statuses(late)).to.deep.equal({ 410: times });
  });

  it('of an API key means that it authenticates immediately', async () => {
    for (let time = 0; time < times; time += 1) {
      const { key } = await bench.key('HOBBY', { account });
      expect((await bench.link(key, { alias: `live-key-${time}` })).alias).to.be.a('string');
    }
  });
});
