import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LinkDetails } from '../../../schemas/http/links.js';
import type { StatsResponse } from '../../../schemas/http/statistics.js';
import { concurrently, sendRequest, statuses } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, expectError, keyFixture, passwordForm, sharedProduct } from './harness.js';

describe('further codes of a link', () => {
  const bench = sharedProduct();
  const account = 'further-codes';
  const pro = keyFixture(bench, 'PRO', { account });
  const domain = 'go.further-codes.example';
  const atDomain = { headers: { Host: domain } };

  before(() => bench.admin('POST', '/admin/domains', { domain, account }));

  const add = (code: string, body: object, key = pro.key) =>
    bench.api(`/v2/links/${code}/codes`, key, { method: 'POST', body });
  const remove = (code: string, removed: string) =>
    bench.api(`/v2/links/${code}/codes/${removed}`, pro.key, { method: 'DELETE' });
  const refused = (response: Awaited<ReturnType<typeof add>>, code: string, message: string) => {
    const path = `/v2/links/${code}/codes`;
    expectError(response, { status: 400, message, path, method: 'POST' });
  };

  it('redirect as the first one does, and are returned with the link', async () => {
    const { shortCode } = await bench.link(pro.key, { alias: 'codes-first' });
    const added = await add(shortCode, { alias: 'codes-second' });
    expect(added.status, added.text).to.equal(201);
    expect((await bench.visit('codes-second')).headers.location).to.equal(destination);
    const onDomain = await add('codes-second', { alias: 'third', domain });
    expect(onDomain.status, onDomain.text).to.equal(201);
    const link = onDomain.json() as LinkDetails;
    expect(link).to.include({ shortCode, domain: null, version: 3 });
    expect(link.codes?.map(({ code, domain: name }) => [code, name])).to.deep.equal([
      ['codes-second', undefined],
      ['third', domain],
    ]);
    expect(link.codes?.[1]?.shortUrl).to.match(new RegExp(`^https?://${domain}/third$`));
    expect((await bench.visit('third', atDomain)).headers.location).to.equal(destination);
    expect((await bench.visit('third')).status).to.equal(404);
    for (const code of [shortCode, 'codes-second', `third?domain=${domain}`]) {
      const found = (await bench.api(`/v2/links/${code}`, pro.key)).json() as LinkDetails;
      const { clickCount, lastAccessed } = link;
      expect({ ...found, clickCount, lastAccessed }).to.deep.equal(link);
    }
    const domains = await bench.api(`/v2/domains/${domain}`, pro.key);
    expect(domains.json()).to.include({ linkCount: 1 });
    const deletion = await bench.api(`/v2/domains/${domain}`, pro.key, { method: 'DELETE' });
    expect(deletion.json()).to.include({ statusCode: 409, message: 'The domain has links' });
    const statistics = await bench.api(`/v2/stats?domain=${domain}`, pro.key);
    expect(statistics.json()).to.include({ linkCount: 0 });
  });

  it('name the link in every call that takes a code', async () => {
    const { shortCode } = await bench.link(pro.key, { alias: 'every-first' });
    await add(shortCode, { alias: 'every-second' });
    await bench.visit('every-second');
    await bench.expectClicks('every-second', pro.key, 1);
    expect(await bench.stats('every-second', pro.key)).to.include({ shortCode });
    const changed = await bench.change('every-second', pro.key, { title: 'Changed' });
    expect(changed.json()).to.include({ shortCode, title: 'Changed' });
    const history = await bench.api('/v2/links/every-second/history', pro.key);
    const { events } = history.json() as { events: readonly { type: string; data: object }[] };
    expect(events.map(({ type }) => type)).to.include('linklog.LinkCodeAdded.v1');
    expect(events[1]?.data).to.deep.equal({ code: 'every-second', keyId: pro.id });
    await eventuallyPasses(async () => {
      const feed = await bench.api('/v2/events?shortCode=every-second', pro.key);
      expect((feed.json() as { events: readonly object[] }).events).to.have.length(3);
    });
    const body = { shortCodes: ['every-second'], change: { addTags: ['x'] } };
    const bulk = await bench.api('/v2/links/bulk', pro.key, { method: 'POST', body });
    expect(bulk.text).to.contain(`"shortCode":"${shortCode}"`);
    const twice = { ...body, shortCodes: ['every-second', shortCode] };
    const duplicates = await bench.api('/v2/links/bulk', pro.key, { method: 'POST', body: twice });
    expect(duplicates.status).to.equal(400);
    await eventuallyPasses(async () => {
      const listed = await bench.api('/v2/links?search=every-second', pro.key);
      expect((listed.json() as { links: readonly object[] }).links).to.have.length(1);
    });
    const exported = await bench.api('/v2/export?search=every-first', pro.key);
    expect(JSON.parse(exported.text)).to.deep.include({ codes: ['every-second'] });
    const images = await Promise.all(
      ['every-second', shortCode].map((code) => bench.api(`/v2/qr/${code}?format=svg`, pro.key)),
    );
    expect(images[0]?.text).not.to.equal(images[1]?.text);
    const admin = await bench.admin('GET', '/admin/links/every-second');
    expect(admin.json()).to.include({ shortCode, account });
  });

  it('share the password throttle and the visitor hashes of the link', async () => {
    const secured = await bench.link(pro.key, { password: 'a password' });
    const open = await bench.link(pro.key);
    await add(secured.shortCode, { alias: 'throttled-code' });
    await add(open.shortCode, { alias: 'unique-code' });
    const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
    const headers = { 'X-Forwarded-For': '198.18.68.1', 'User-Agent': firefox };
    for (let attempts = 0; attempts < 6; attempts += 1) {
      const code = attempts % 2 === 0 ? secured.shortCode : 'throttled-code';
      const { status } = await bench.visit(code, passwordForm('wrong', { headers }));
      expect(status).to.equal(attempts < 5 ? 401 : 429);
    }
    for (const code of [open.shortCode, 'unique-code']) await bench.visit(code, { headers });
    await bench.expectClicks(open.shortCode, pro.key, 2);
    const stats = await bench.api('/v2/stats/unique-code?include=uniques', pro.key);
    expect(stats.json()).to.include({ uniques: 1 });
  });

  it('are removed: visitors get 410 within a second, and no account gets the code again', async () => {
    const { shortCode } = await bench.link(pro.key, { alias: 'removed-first' });
    await add(shortCode, { alias: 'removed-second' });
    await add(shortCode, { alias: 'slashed', domain });
    expect((await bench.visit('removed-second')).status).to.equal(302);
    expect((await remove(shortCode, 'removed-second')).status).to.equal(204);
    await eventuallyPasses(async () => {
      expect((await bench.visit('removed-second')).status).to.equal(410);
    }, 1_000);
    expect((await remove('removed-first', `${domain}%2Fslashed`)).status).to.equal(204);
    expect((await bench.visit(shortCode)).status).to.equal(302);
    const link = (await bench.api(`/v2/links/${shortCode}`, pro.key)).json();
    expect(link).not.to.have.property('codes');
    expect((await bench.api('/v2/links/removed-second', pro.key)).status).to.equal(404);
    for (const code of ['removed-second', 'unknown-code', '%00', `${domain}%2Fother`]) {
      expect((await remove(shortCode, code)).status, code).to.equal(404);
    }
    refused(await add(shortCode, { alias: 'removed-second' }), shortCode, 'Alias is already taken');
    const again = await bench.shorten(pro.key, { url: destination, alias: 'removed-second' });
    expect(again.status).to.equal(400);
    expect((await remove(shortCode, shortCode)).status).to.equal(400);
    // Its codes no longer keep the domain.
    await add(shortCode, { alias: 'last', domain });
    await bench.api(`/v2/links/${shortCode}`, pro.key, { method: 'DELETE' });
    expect((await bench.visit('last', atDomain)).status).to.equal(410);
    expect((await add(shortCode, { alias: 'removed-third' })).status).to.equal(410);
  });

  it('are removed under load: 410 within a second on each edge, and each redirect is counted', async () => {
    const { shortCode } = await bench.link(pro.key);
    await add(shortCode, { alias: 'loaded-code' });
    const { edges } = bench.product;
    const visits: { readonly status: number; readonly sentAt: number }[] = [];
    let isDone = false;
    const visitors = concurrently(20, async (index) => {
      while (!isDone) {
        const sentAt = Date.now();
        const edge = edges[index % edges.length] ?? '';
        const { status } = await sendRequest(`${edge}/loaded-code`);
        visits.push({ status, sentAt });
      }
    });
    await sleep(500);
    expect((await remove(shortCode, 'loaded-code')).status).to.equal(204);
    const removedAt = Date.now();
    await sleep(2_000);
    isDone = true;
    await visitors;
    const redirects = visits.filter(({ status }) => status === 302);
    expect(redirects.length).to.be.greaterThan(20);
    const late = visits.filter(({ sentAt }) => sentAt >= removedAt + 1_000);
    expect(statuses(late)).to.have.all.keys('410');
    await bench.expectClicks(shortCode, pro.key, redirects.length);
  });

  it('have the rules of an alias: plan, reserved words, domain, quota, and one link each', async () => {
    const free = await bench.key('FREE', { account: 'codes-free' });
    const { shortCode: ofFree } = await bench.link(free.key);
    expect((await add(ofFree, { alias: 'codes-free' }, free.key)).status).to.equal(403);
    const indie = await bench.key('INDIE', { account: 'codes-quota' });
    const { shortCode } = await bench.link(indie.key);
    expect((await add(shortCode, { alias: 'codes-paid' }, indie.key)).status).to.equal(201);
    expect((await bench.usage(indie.key)).links).to.equal(2);
    const total = (await bench.api('/v2/stats', indie.key)).json();
    expect(total).to.include({ linkCount: 1 });
    const own = await bench.link(pro.key);
    for (const [body, message] of [
      [{}, 'alias must be a string'],
      [{ alias: 'ab' }, 'Alias must be between 3 and 50 characters'],
      [{ alias: 'no slash/' }, 'Alias may only contain letters, numbers, hyphens and underscores'],
      [{ alias: 'paypal' }, 'This alias is reserved and cannot be used'],
      [{ alias: 'robots', domain: 'unknown.example' }, 'The domain is not active for this account'],
      [{ alias: own.shortCode }, 'Alias is already taken'],
    ] as const) {
      refused(await add(own.shortCode, body), own.shortCode, message);
    }
    expect((await add(shortCode, { alias: 'not-mine' })).status).to.equal(404);
    expect((await add('unknown-code', { alias: 'not-mine' })).status).to.equal(404);
  });

  it('are at most 20, also if more are added at the same time', async () => {
    const { shortCode } = await bench.link(pro.key);
    const added = await concurrently(25, (index) => add(shortCode, { alias: `twenty-${index}` }));
    expect(statuses(added)).to.deep.equal({ 201: 20, 400: 5 });
    refused(
      await add(shortCode, { alias: 'twenty-one' }),
      shortCode,
      'A link has at most 20 further codes',
    );
  });

  it('belong to one link each, if 200 requests add one code to two links', async () => {
    const links = [await bench.link(pro.key), await bench.link(pro.key)] as const;
    const added = await concurrently(200, (index) =>
      add(links[index % 2 === 0 ? 0 : 1].shortCode, { alias: 'raced-code' }),
    );
    expect(statuses(added)).to.deep.equal({ 201: 1, 400: 199 });
    const winner = links[added.findIndex(({ status }) => status === 201) % 2 === 0 ? 0 : 1];
    const found = (await bench.api('/v2/links/raced-code', pro.key)).json();
    expect(found).to.include({ shortCode: winner.shortCode });
  });

  it('share the limit of the link, exactly', async () => {
    const { shortCode } = await bench.link(pro.key, { maxClicks: 100 });
    await add(shortCode, { alias: 'limit-two' });
    await add(shortCode, { alias: 'limit-three' });
    const codes = [shortCode, 'limit-two', 'limit-three'];
    const visits = await concurrently(300, (index) => bench.visit(codes[index % 3] ?? ''));
    expect(statuses(visits)).to.deep.equal({ 302: 100, 410: 200 });
    await bench.expectClicks(shortCode, pro.key, 100);
    const stats = await bench.api(`/v2/stats/limit-two?include=codes`, pro.key);
    const { codes: counted = [], period } = stats.json() as StatsResponse;
    expect(counted.map(({ value }) => value)).to.have.members(codes);
    expect(counted.reduce((sum, { clicks }) => sum + clicks, 0)).to.equal(100);
    expect(period).to.include({ clickCount: 100 });
    // A removed code keeps its clicks.
    await remove(shortCode, 'limit-three');
    const after = await bench.api(`/v2/stats/${shortCode}?include=codes`, pro.key);
    expect((after.json() as StatsResponse).codes).to.deep.equal(counted);
  });
});
