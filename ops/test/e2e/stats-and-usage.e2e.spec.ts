import { expect } from 'chai';
import { concurrently, statuses } from '../support/http.js';
import {
  keyFixture,
  destination,
  expectError,
  resetDate,
  timestampPattern,
  sharedProduct,
} from './harness.js';
import { eventuallyPasses } from '../support/waiting.js';

describe('command API: statistics and usage', () => {
  const bench = sharedProduct();

  describe('GET /v2/stats/:shortCode', () => {
    const pro = keyFixture(bench, 'PRO');

    it('returns exactly seven fields', async () => {
      const link = await bench.link(pro.key);
      const response = await bench.api(`/v2/stats/${link.shortCode}`, pro.key);
      expect(response.status).to.equal(200);
      expect(response.headers['content-type']).to.equal('application/json; charset=utf-8');
      expect(response.headers['cache-control']).to.equal('no-store');
      expect(response.json()).to.deep.equal({
        shortCode: link.shortCode,
        url: destination,
        clickCount: 0,
        createdAt: link.createdAt,
        lastAccessed: null,
        expiresAt: null,
        maxClicks: null,
      });
    });

    it('is the same before and after the link is projected', async () => {
      const link = await bench.link(pro.key, {
        alias: 'with-limits',
        expiresIn: 600,
        maxClicks: 9,
      });
      const expected = {
        shortCode: 'with-limits',
        url: destination,
        clickCount: 0,
        createdAt: link.createdAt,
        lastAccessed: null,
        expiresAt: link.expiresAt,
        maxClicks: 9,
      };
      const end = performance.now() + 700;
      while (performance.now() < end) {
        expect(await bench.stats('with-limits', pro.key)).to.deep.equal(expected);
      }
    });

    for (const maxClicks of [null, 50]) {
      it(`shows visits: ${maxClicks === null ? 'no limit' : `limit ${maxClicks}`}`, async () => {
        const { shortCode } = await bench.link(pro.key, { maxClicks });
        for (const visits of [1, 2, 12]) {
          const before = Date.now();
          const { clickCount } = await bench.stats(shortCode, pro.key);
          await concurrently(visits, () => bench.visit(shortCode));
          const after = Date.now();
          await eventuallyPasses(async () => {
            const stats = await bench.stats(shortCode, pro.key);
            expect(stats.clickCount).to.equal(clickCount + visits);
            expect(stats.lastAccessed).to.match(timestampPattern);
            expect(Date.parse(stats.lastAccessed ?? '')).to.be.within(before - 1, after + 1);
          });
        }
      });
    }

    it('returns the statistics of an expired link', async () => {
      const { shortCode } = await bench.link(pro.key, { maxClicks: 2 });
      const responses = await concurrently(5, () => bench.visit(shortCode));
      expect(statuses(responses)).to.deep.equal({ 302: 2, 410: 3 });
      await eventuallyPasses(async () => {
        const stats = await bench.stats(shortCode, pro.key);
        expect(stats).to.include({ shortCode, clickCount: 2, maxClicks: 2, url: destination });
      });
    });

    describe('responds with 404 for a code', () => {
      const notFound = { status: 404, message: 'Short URL not found' };

      it('that is unknown or invalid', async () => {
        for (const code of ['nothing0', 'ab', 'a.b', '%2e%2e', 'a%00b', 'a'.repeat(60)]) {
          const path = `/v2/stats/${code}`;
          expectError(await bench.api(path, pro.key), { ...notFound, path });
        }
      });

      it('of another account, exactly as for an unknown code', async () => {
        const { shortCode } = await bench.link(pro.key);
        const { key } = await bench.key('PRO', { account: 'other' });
        for (const code of [shortCode, 'nothing0']) {
          const path = `/v2/stats/${code}`;
          expectError(await bench.api(path, key), { ...notFound, path });
        }
        const theirs = await bench.link(key);
        expect((await bench.api(`/v2/stats/${theirs.shortCode}`, pro.key)).status).to.equal(404);
        expect((await bench.stats(theirs.shortCode, key)).clickCount).to.equal(0);
      });

      it('but not for a code of another key of the account', async () => {
        const { shortCode } = await bench.link(pro.key);
        const { key } = await bench.key('FREE');
        expect((await bench.stats(shortCode, key)).shortCode).to.equal(shortCode);
      });

      it('in another case', async () => {
        await bench.link(pro.key, { alias: 'In-A-Case' });
        expect((await bench.api('/v2/stats/in-a-case', pro.key)).status).to.equal(404);
      });
    });

    it('responds to HEAD without a body', async () => {
      const { shortCode } = await bench.link(pro.key);
      const response = await bench.api(`/v2/stats/${shortCode}`, pro.key, { method: 'HEAD' });
      expect([response.status, response.text]).to.deep.equal([200, '']);
      expect(response.headers).to.have.property('x-ratelimit-remaining');
    });

    it('ignores a body', async () => {
      const { shortCode } = await bench.link(pro.key);
      const response = await bench.api(`/v2/stats/${shortCode}`, pro.key, {
        headers: { 'Content-Type': 'text/plain' },
        body: '{"not": read',
      });
      expect(response.status).to.equal(200);
    });

    it('rejects other methods', async () => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const path = '/v2/stats/nothing0';
        const response = await bench.api(path, pro.key, { method });
        expectError(response, { status: 405, message: 'Method Not Allowed', path, method });
        expect(response.headers.allow).to.equal('HEAD, GET');
      }
    });

    it('has no other paths', async () => {
      const paths = ['/v2', '/v2/', '/v2/stats/', '/v2/stats/a/b', '/v2/usage/'];
      for (const path of [...paths, '/v2/Shorten', '/v2/STATS/x', '/v2//usage']) {
        const response = await bench.api(path, pro.key);
        expectError(response, { status: 404, message: 'Not Found', path });
      }
    });
  });

  describe('GET /v2/usage', () => {
    const table = [
      { plan: 'FREE', calls: 2_000, links: 35 },
      { plan: 'HOBBY', calls: 25_000, links: 350 },
      { plan: 'INDIE', calls: 150_000, links: 1_800 },
      { plan: 'PRO', calls: 500_000, links: 3_000 },
    ] as const;
    for (const { plan, calls, links } of table) {
      it(`shows the usage of a ${plan} key, and spends no monthly call`, async () => {
        const { key } = await bench.key(plan);
        const expected = (usedCalls: number, usedLinks: number): object => ({
          plan,
          calls: { used: usedCalls, limit: calls },
          links: { used: usedLinks, limit: links },
          qrCodes: { used: 0, limit: links },
          resetDate: resetDate(),
        });
        for (let round = 0; round < 3; round += 1) {
          const response = await bench.api('/v2/usage', key);
          expect(response.status).to.equal(200);
          expect(response.headers['content-type']).to.equal('application/json; charset=utf-8');
          expect(response.headers['cache-control']).to.equal('no-store');
          expect(response.json()).to.deep.equal(expected(0, 0));
        }
        const { shortCode } = await bench.link(key);
        await bench.stats(shortCode, key);
        expect((await bench.shorten(key, {})).status).to.equal(400);
        expect((await bench.api('/v2/usage', key)).json()).to.deep.equal(expected(3, 1));
      });
    }

    it('is per key, also within one account', async () => {
      const first = await bench.key('PRO');
      const second = await bench.key('PRO');
      await bench.link(first.key);
      const usage = (await bench.api('/v2/usage', second.key)).json();
      expect(usage).to.deep.include({ links: { used: 0, limit: 3_000 } });
    });

    it('is exact after hundreds of concurrent calls', async () => {
      const { key } = await bench.key('PRO');
      await concurrently(300, (n) =>
        bench.api(n % 2 === 0 ? '/v2/usage' : '/v2/stats/nothing0', key),
      );
      expect((await bench.api('/v2/usage', key)).json()).to.deep.include({
        calls: { used: 150, limit: 500_000 },
      });
    });
  });
});
