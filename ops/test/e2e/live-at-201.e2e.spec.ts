import { expect } from 'chai';
import { concurrently, statuses } from '../support/http.js';
import { keyFixture, destination, sharedProduct } from './harness.js';

const times = 50;

describe('command API: 201 means live', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO');

  it(`${times} links redirect immediately, and have statistics`, async () => {
    for (let time = 0; time < times; time += 1) {
      const url = `${destination}#${time}`;
      const link = await bench.link(pro.key, { url });
      const visit = await bench.visit(link.shortCode);
      expect([visit.status, visit.headers.location]).to.deep.equal([302, url]);
      expect(await bench.stats(link.shortCode, pro.key)).to.include({
        url,
        createdAt: link.createdAt,
      });
    }
  });

  it(`${times} aliases redirect immediately after a 404`, async () => {
    for (let time = 0; time < times; time += 1) {
      const alias = `alias-${time}`;
      expect((await bench.visit(alias)).status).to.equal(404);
      expect((await bench.api(`/v2/stats/${alias}`, pro.key)).status).to.equal(404);
      await bench.link(pro.key, { alias });
      expect((await bench.visit(alias)).status).to.equal(302);
      expect((await bench.stats(alias, pro.key)).shortCode).to.equal(alias);
    }
  });

  it('links redirect immediately while other visitors request them', async () => {
    for (let round = 0; round < 10; round += 1) {
      const alias = `hot-before-birth-${round}`;
      let isLive = false;
      const visitUntilLive = async (): Promise<void> => {
        for (;;) {
          const wasLive = isLive;
          const { status } = await bench.visit(alias);
          if (wasLive) {
            // The 201 was received before the visit.
            expect(status).to.equal(302);
            return;
          }
          expect(status).to.be.oneOf([302, 404]);
        }
      };
      const visitors = concurrently(20, visitUntilLive);
      await bench.link(pro.key, { alias });
      isLive = true;
      await visitors;
    }
  });

  it(`${times} concurrently created links all redirect`, async () => {
    const links = await concurrently(times, () => bench.link(pro.key, { maxClicks: 1 }));
    const visits = await Promise.all(links.map(({ shortCode }) => bench.visit(shortCode)));
    expect(statuses(visits)).to.deep.equal({ 302: times });
  });

  it('a new API key authenticates immediately', async () => {
    for (let time = 0; time < times; time += 1) {
      const { key } = await bench.key('HOBBY');
      expect((await bench.link(key, { alias: `new-key-${time}` })).alias).to.be.a('string');
    }
  });

  it('the last click of a limit takes effect immediately', async () => {
    for (let time = 0; time < times; time += 1) {
      const { shortCode } = await bench.link(pro.key, { maxClicks: 1 });
      expect((await bench.visit(shortCode)).status).to.equal(302);
      expect((await bench.visit(shortCode)).status).to.equal(410);
    }
  });
});
