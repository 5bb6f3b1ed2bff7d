import { expect } from 'chai';
import { eventuallyPasses } from '../support/waiting.js';
import type { HttpResponse } from '../support/http.js';
import { destination, expectRefused, keyFixture, passwordForm, sharedProduct } from './harness.js';

const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toISOString();

describe('command API: start, end and click limit of a link', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO');

  const shorten = (body: object): Promise<HttpResponse> =>
    bench.shorten(pro.key, { url: destination, ...body });
  const patch = (code: string, body: object): Promise<HttpResponse> =>
    bench.change(code, pro.key, body);
  const list = async (query: string): Promise<readonly string[]> => {
    const response = await bench.api(`/v2/links?${query}`, pro.key);
    return (response.json() as { links: { shortCode: string }[] }).links.map(
      ({ shortCode }) => shortCode,
    );
  };

  it('accepts expiresAt with any offset instead of expiresIn', async () => {
    const expiresAt = inSeconds(3_600);
    const local = `${inSeconds(3_600 + 20_700).slice(0, 19)}+05:45`;
    const link = await bench.link(pro.key, { expiresAt });
    expect(link.expiresAt).to.equal(expiresAt);
    const other = await bench.link(pro.key, { expiresAt: local });
    expect(Date.parse(other.expiresAt ?? '')).to.be.closeTo(Date.parse(expiresAt), 2_000);
    const batch = await bench.api('/v2/shorten/batch', pro.key, {
      method: 'POST',
      body: {
        urls: [
          { url: destination, expiresAt },
          { url: destination, expiresAt: 'soon' },
        ],
      },
    });
    const { results } = batch.json() as { results: { success: boolean; expiresAt?: string }[] };
    expect(results.map(({ success }) => success)).to.deep.equal([true, false]);
    expect(results[0]?.expiresAt).to.equal(expiresAt);
  });

  it('rejects times without an offset, in the past or too late, and expiresIn with expiresAt', async () => {
    const form = (field: string): string =>
      `${field} must be a time in ISO 8601 with an offset, such as 2030-12-31T18:00:00+01:00`;
    for (const [body, message] of [
      [{ expiresAt: '2030-01-01T00:00:00' }, form('expiresAt')],
      [{ expiresAt: '2030-02-30T00:00:00Z' }, form('expiresAt')],
      [{ expiresAt: 1_900_000_000 }, form('expiresAt')],
      [{ expiresAt: inSeconds(50) }, 'expiresAt must be at least 60 seconds (1 minute) ahead'],
      [{ expiresAt: inSeconds(320_000_000) }, 'expiresAt must be at most 10 years ahead'],
      [{ startsAt: '2030-01-01' }, form('startsAt')],
      [{ expiresIn: 90, expiresAt: inSeconds(90) }, 'Give expiresIn or expiresAt, not both'],
      [
        { startsAt: inSeconds(120), expiresAt: inSeconds(120) },
        'startsAt must be before expiresAt',
      ],
      [{ startsAt: inSeconds(120), expiresIn: 60 }, 'startsAt must be before expiresAt'],
    ] as const) {
      expectRefused(await shorten(body), 400, message);
    }
  });

  it('hides a link from visitors before its start, and redirects from then on', async () => {
    const startsAt = inSeconds(4);
    const link = await bench.link(pro.key, { startsAt, expiresIn: 3_600 });
    expect(link).to.include({ startsAt });
    const code = link.shortCode;
    for (const name of [code, `${code}+`]) {
      const response = await bench.visit(name);
      expect(response.status).to.equal(404);
      expect(response.json()).to.include({ message: 'Short URL not found' });
    }
    const show = async () => (await bench.api(`/v2/links/${code}`, pro.key)).json();
    expect(await show()).to.include({ status: 'scheduled', startsAt });
    await eventuallyPasses(async () => {
      expect(await list('status=scheduled')).to.include(code);
      expect(await list('status=active')).to.not.include(code);
      expect(await list('')).to.include(code);
    });
    expect((await bench.api(`/v2/qr/${code}`, pro.key)).status).to.equal(200);
    await eventuallyPasses(async () => {
      expect((await bench.visit(code)).status).to.equal(302);
    });
    expect(Date.now()).to.be.at.least(Date.parse(startsAt));
    expect(await show()).to.include({ status: 'active', clickCount: 0 });
    expect(await list('status=active')).to.include(code);
  });

  it('hides the forms of passwords and limits before the start', async () => {
    const startsAt = inSeconds(3_600);
    for (const options of [{ password: 'open sesame' }, { maxClicks: 3 }]) {
      const { shortCode } = await bench.link(pro.key, { startsAt, ...options });
      expect((await bench.visit(shortCode)).status).to.equal(404);
      const posted = await bench.visit(shortCode, passwordForm('open sesame'));
      expect(posted.status).to.equal(404);
      expect((await patch(shortCode, { startsAt: null })).json()).to.include({ status: 'active' });
      await eventuallyPasses(async () => {
        expect((await bench.visit(shortCode)).status).to.be.oneOf([200, 302]);
      });
    }
  });

  it('changes start and end, and removes them', async () => {
    const { shortCode } = await bench.link(pro.key);
    const [startsAt, expiresAt] = [inSeconds(3_600), inSeconds(7_200)];
    expect((await patch(shortCode, { startsAt, expiresAt })).json()).to.include({
      ...{ startsAt, expiresAt, status: 'scheduled' },
    });
    const late = await patch(shortCode, { startsAt: expiresAt });
    expect(late.status).to.equal(400);
    expect(late.json()).to.include({ message: 'startsAt must be before expiresAt' });
    const twice = await patch(shortCode, { expiresIn: 90, expiresAt });
    expect(twice.json()).to.include({ message: 'Give expiresIn or expiresAt, not both' });
    expect((await patch(shortCode, { startsAt: null, expiresAt: null })).json()).to.include({
      ...{ startsAt: null, expiresAt: null, status: 'active' },
    });
    const history = await bench.api(`/v2/links/${shortCode}/history`, pro.key);
    const { events } = history.json() as { events: { data: object }[] };
    expect(events.slice(1).map(({ data }) => data)).to.deep.equal([
      { startsAt, expiresAt },
      { startsAt: null, expiresAt: null },
    ]);
  });

  describe('a click limit that is set later', () => {
    const show = async (code: string): Promise<object> =>
      (await bench.api(`/v2/links/${code}`, pro.key)).json() as object;
    const follow = async (code: string, times: number): Promise<readonly number[]> => {
      const statuses = [];
      for (let visit = 0; visit < times; visit += 1)
        statuses.push((await bench.visit(code)).status);
      return statuses;
    };
    const counted = (code: string, clickCount: number): Promise<void> =>
      eventuallyPasses(async () => {
        expect(await show(code)).to.include({ clickCount });
      });

    it('starts with the clicks counted so far, and is exact from then on', async () => {
      const { shortCode } = await bench.link(pro.key);
      expect(await follow(shortCode, 3)).to.deep.equal([302, 302, 302]);
      await counted(shortCode, 3);
      expect(await show(shortCode)).to.include({ maxClicks: null, clicksLeft: null });
      const low = await patch(shortCode, { maxClicks: 2 });
      expect(low.status).to.equal(400);
      expect(low.json()).to.include({ message: 'maxClicks must be at least 3, the clicks taken' });
      const limited = await patch(shortCode, { maxClicks: 13 });
      expect(limited.json()).to.include({ maxClicks: 13, clicksLeft: 10, status: 'active' });
      await eventuallyPasses(async () => {
        expect((await bench.visit(shortCode, { method: 'HEAD' })).status).to.equal(200);
      });
      const raced = await Promise.all(
        Array.from({ length: 30 }, async () => (await bench.visit(shortCode)).status),
      );
      expect(raced.filter((status) => status === 302)).lengthOf(10);
      expect(raced.filter((status) => status === 410)).lengthOf(20);
      expect(await show(shortCode)).to.include({ status: 'expired', clicksLeft: 0 });
      await counted(shortCode, 13);
      const history = await bench.api(`/v2/links/${shortCode}/history`, pro.key);
      const { events } = history.json() as { events: { type: string; data: object }[] };
      expect(events[1]).to.deep.include({ data: { maxClicks: 13, clicks: 3 } });
    });

    it('can be removed', async () => {
      const { shortCode } = await bench.link(pro.key, { maxClicks: 1 });
      expect(await follow(shortCode, 2)).to.deep.equal([302, 410]);
      const unlimited = await patch(shortCode, { maxClicks: null });
      expect(unlimited.json()).to.include({ maxClicks: null, clicksLeft: null, status: 'active' });
      await eventuallyPasses(async () => {
        expect((await bench.visit(shortCode, { method: 'HEAD' })).status).to.equal(302);
      });
      expect(await follow(shortCode, 3)).to.deep.equal([302, 302, 302]);
      await counted(shortCode, 4);
      expect((await patch(shortCode, { maxClicks: 4 })).json()).to.include({ status: 'expired' });
    });
  });
});
