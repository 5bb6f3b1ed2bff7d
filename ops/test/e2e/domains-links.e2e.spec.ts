import { expect } from 'chai';
import type { LinkDetails } from '../../../schemas/http/links.js';
import type { AccountStatsResponse } from '../../../schemas/http/statistics.js';
import { dnsServerFixture } from '../support/dns-server.js';
import { concurrently, statuses, type HttpResponse } from '../support/http.js';
import { readQrCodes } from '../support/qr-reader.js';
import type { IssuedKey } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { domainCalls, expectDomain, newName } from './domains-harness.js';
import { destination, expectRefused, productFixture, type Link } from './harness.js';

const inactive = 'The domain is not active for this account';
const notFound = 'Short URL not found';
const reserved = 'This alias is reserved and cannot be used';
const invalidDomain = 'domain must be a host, such as go.example.com';
const elsewhere = 'https://example.com/elsewhere';

type OwnLink = Link & { readonly domain?: string };
type Results = readonly (Record<string, unknown> & { readonly success: boolean })[];

describe('product: links on domains', () => {
  const dns = dnsServerFixture();
  const bench = productFixture(() => ({
    ...{ DNS_SERVERS: dns.address, SHORT_URL_HOST: 'https://short.own.example' },
  }));
  const calls = domainCalls(bench, dns);
  let pro: IssuedKey;
  let domain: string;
  let second: string;

  before(async () => {
    pro = await bench.key('PRO', { account: 'links-on-domains' });
    domain = await calls.activate(pro.key);
    second = await calls.activate(pro.key);
  });

  const link = (body: Record<string, unknown> = {}): Promise<OwnLink> =>
    bench.link(pro.key, { domain, ...body });
  const batch = async (key: string, urls: readonly object[], headers = {}): Promise<Results> => {
    const options = { method: 'POST', body: { urls }, headers };
    const response = await bench.api('/v2/shorten/batch', key, options);
    expect(response.status, response.text).to.equal(200);
    return (response.json() as { results: Results }).results;
  };
  const bulk = async (shortCodes: readonly string[], change: object): Promise<Results> => {
    const options = { method: 'POST', body: { shortCodes, change } };
    const response = await bench.api('/v2/links/bulk', pro.key, options);
    expect(response.status, response.text).to.equal(200);
    return (response.json() as { results: Results }).results;
  };
  const expectFailure = (response: HttpResponse, status: number, message: string): void => {
    expect(response.status, response.text).to.equal(status);
    expect(response.json()).to.include({ statusCode: status, message });
  };
  const locationOf = async (on: string, code: string): Promise<string> => {
    const { headers, status } = await calls.visit(on, code);
    return headers.location ?? String(status);
  };

  describe('are created', () => {
    it('with a code of their domain, and `domain` in the link', async () => {
      const created = await link();
      const { shortCode, createdAt } = created;
      expect(created).to.deep.equal({
        ...{ shortUrl: `https://${domain}/${shortCode}`, shortCode, url: destination },
        ...{ createdAt, domain },
      });
      expect(shortCode).to.match(/^[A-Za-z0-9]{8}$/);
      // Live at 201 on every edge, and only on its domain.
      for (const edge of bench.product.edges) {
        const visit = await calls.visit(domain, shortCode, {}, edge);
        expect([visit.status, visit.headers.location]).to.deep.equal([302, destination]);
        for (const host of [second, 'short.own.example']) {
          expect((await calls.visit(host, shortCode, {}, edge)).status, host).to.equal(404);
        }
      }
      expect(await bench.link(pro.key)).to.not.have.property('domain');
    });

    it('and redirect on every edge immediately, also after a 404', async () => {
      for (let round = 0; round < 5; round += 1) {
        const alias = `live-at-201-${round}`;
        const visit = (edge: string): Promise<HttpResponse> => calls.visit(domain, alias, {}, edge);
        for (const edge of bench.product.edges) {
          expect((await visit(edge)).status).to.equal(404);
        }
        await link({ alias });
        for (const edge of bench.product.edges) {
          expect((await visit(edge)).status).to.equal(302);
        }
      }
    });

    it('and redirect on every edge immediately, although the domain was added a moment before', async () => {
      const { shortCode: alias } = await bench.link(pro.key, { alias: 'on-each-domain' });
      const rounds = Array.from({ length: 10 }, async (_, round) => {
        const added = newName();
        expectDomain(await calls.add(added, pro.account), 201);
        const url = `${elsewhere}/${round}`;
        await link({ alias, url, domain: added });
        for (const edge of bench.product.edges) {
          const visit = await calls.visit(added, alias, {}, edge);
          expect([visit.status, visit.headers.location]).to.deep.equal([302, url]);
        }
      });
      await Promise.all(rounds);
    });

    it('with every spelling of the domain', async () => {
      for (const spelling of [domain.toUpperCase(), `${domain}.`]) {
        expect(await link({ domain: spelling })).to.include({ domain });
      }
      expect(await bench.link(pro.key, { domain: null })).to.not.have.property('domain');
    });

    it('with the same alias on each domain', async () => {
      const alias = 'same-alias';
      const links = [
        await link({ alias, url: `${elsewhere}/1` }),
        await link({ alias, url: `${elsewhere}/2`, domain: second }),
        await bench.link(pro.key, { alias, url: `${elsewhere}/3` }),
      ];
      const served = await Promise.all(
        [domain, second, 'localhost'].map((host) => locationOf(host, alias)),
      );
      expect(served).to.deep.equal(links.map(({ url }) => url));
      expectRefused(
        await bench.shorten(pro.key, { url: destination, alias, domain }),
        400,
        'Alias is already taken',
      );
    });

    it('once, by concurrent requests for one alias', async () => {
      const body = { url: destination, alias: 'contested', domain };
      const responses = await concurrently(20, () => bench.shorten(pro.key, body));
      expect(statuses(responses)).to.deep.equal({ 201: 1, 400: 19 });
    });

    it('with aliases that are reserved on the default domain, except routes of the edge', async () => {
      for (const alias of ['paypal', 'login', 'docs', 'console', 'api']) {
        expectRefused(await bench.shorten(pro.key, { url: destination, alias }), 400, reserved);
        expect(await link({ alias })).to.include({ alias, domain });
        expect(await locationOf(domain, alias)).to.equal(destination);
      }
      const body = { url: destination, alias: 'health', domain };
      expectRefused(await bench.shorten(pro.key, body), 400, reserved);
      const health = await calls.visit(domain, 'health');
      expect(health.json()).to.deep.equal({ status: 'pass' });
    });

    it('with all options', async () => {
      const options = { maxClicks: 1, password: 'open sesame', title: 'x', tags: ['a'] };
      const created = await link({ ...options, expiresIn: 3_600 });
      expect(created).to.deep.include({ maxClicks: 1, title: 'x', tags: ['a'], domain });
    });

    it('only by the account that has the active domain', async () => {
      const other = await bench.key('PRO', { account: 'links-elsewhere' });
      const pending = newName();
      expectDomain(await calls.claim(pro.key, pending), 201);
      for (const [key, name] of [
        [pro.key, pending],
        [pro.key, newName()],
        [pro.key, 'short.own.example'],
        [other.key, domain],
      ] as const) {
        for (const more of [{}, { alias: 'not-created' }, { reuse: true }]) {
          const response = await bench.shorten(key, { url: destination, domain: name, ...more });
          expectRefused(response, 400, inactive);
        }
      }
      for (const name of ['localhost', '127.0.0.1', `${domain}:80`, '', 5, {}]) {
        const response = await bench.shorten(pro.key, { url: destination, domain: name });
        expect(response.status, response.text).to.equal(400);
      }
    });

    it('of a key with a lower plan, which needs no plan of its own', async () => {
      const free = await bench.key('FREE', { account: 'links-free' });
      const own = newName();
      expectDomain(await calls.add(own, 'links-free'), 201);
      const created = await bench.link(free.key, { domain: own });
      expect(await locationOf(own, created.shortCode)).to.equal(destination);
    });

    it('in a batch, with failures as items', async () => {
      const urls = [
        { url: destination, domain, alias: 'in-batch' },
        { url: destination, domain: second, alias: 'in-batch' },
        { url: destination, alias: 'in-batch' },
        { url: destination, domain: 'unknown.example' },
        { url: destination, domain, alias: 'in-batch' },
        { url: destination, domain: 'localhost' },
        { url: destination, domain, alias: 'robots.txt' },
        { url: destination, domain: domain.toUpperCase() },
      ];
      const results = await batch(pro.key, urls);
      const domains = results.map((result) =>
        result.success ? (result['domain'] ?? null) : result['message'],
      );
      expect(domains.slice(0, 5)).to.deep.equal([
        ...[domain, second, null, inactive, 'Alias is already taken'],
      ]);
      expect(results.map(({ success }) => success)).to.deep.equal([
        ...[true, true, true, false, false, false, false, true],
      ]);
      expect(results[3]).to.include({ index: 3, statusCode: 400, url: destination });
      expect(results[5]).to.include({ statusCode: 400, message: invalidDomain });
      expect(await locationOf(second, 'in-batch')).to.equal(destination);
    });

    it('and reused per domain', async () => {
      const url = 'https://example.com/reused-per-domain';
      const reuse = (on: string | null): Promise<HttpResponse> =>
        bench.shorten(pro.key, { url, reuse: true, ...(on !== null && { domain: on }) });
      const created = new Map<string | null, OwnLink>();
      for (const on of [domain, second, null]) {
        const response = await reuse(on);
        expect(response.status, response.text).to.equal(201);
        created.set(on, response.json() as OwnLink);
      }
      expect(new Set([...created.values()].map(({ shortUrl }) => shortUrl)).size).to.equal(3);
      for (const [on, first] of created) {
        const response = await reuse(on);
        expect(response.status).to.equal(200);
        expect(response.headers['linklog-reused']).to.equal('true');
        expect(response.json()).to.deep.equal(first);
      }
      const concurrent = await concurrently(20, () =>
        bench.shorten(pro.key, { url: `${url}/20`, reuse: true, domain }),
      );
      expect(statuses(concurrent)).to.deep.equal({ 201: 1, 200: 19 });
    });

    it('once with an Idempotency-Key, also after the domain was released', async () => {
      const own = await calls.activate(pro.key);
      const body = { url: destination, domain: own };
      const headers = { 'Idempotency-Key': 'on-a-domain' };
      const first = await bench.shorten(pro.key, body, headers);
      expect(first.status, first.text).to.equal(201);
      expect((await calls.release(own)).status).to.equal(200);
      const replay = await bench.shorten(pro.key, body, headers);
      expect([replay.status, replay.text]).to.deep.equal([201, first.text]);
      expect(replay.headers['idempotency-replayed']).to.equal('true');
      const other = await bench.shorten(pro.key, { ...body, domain }, headers);
      expect(other.status).to.equal(422);
      const large = Array.from({ length: 50 }, (_, index) => ({
        ...{ url: destination, note: `${index}`.padEnd(2_000, 'ä') },
        domain: index % 2 === 0 ? domain : second,
      }));
      const urls = { 'Idempotency-Key': 'batch-on-domains' };
      expect(await batch(pro.key, large, urls)).to.deep.equal(await batch(pro.key, large, urls));
    });
  });

  describe('are addressed', () => {
    let own: OwnLink;
    let twin: OwnLink;
    const code = 'addressed';

    before(async () => {
      own = await link({ alias: code, title: 'own' });
      twin = await bench.link(pro.key, { alias: code, title: 'twin', url: elsewhere });
    });

    const paths = [
      ['GET', '/v2/links/:code'],
      ['PATCH', '/v2/links/:code'],
      ['DELETE', '/v2/links/:code'],
      ['GET', '/v2/links/:code/history'],
      ['GET', '/v2/stats/:code'],
      ['GET', '/v2/qr/:code'],
      ['GET', '/admin/links/:code'],
      ['PATCH', '/admin/links/:code'],
      ['DELETE', '/admin/links/:code'],
      ['GET', '/admin/links/:code/history'],
      ['POST', '/admin/links/:code/block'],
      ['POST', '/admin/links/:code/unblock'],
    ] as const;

    const send = (method: string, path: string): Promise<HttpResponse> => {
      const body = path.includes('block') ? { reason: 'a test' } : { title: 'changed' };
      const options = { method, ...(['PATCH', 'POST'].includes(method) && { body }) };
      return path.startsWith('/admin')
        ? bench.admin(method, path, options.body)
        : bench.api(path, pro.key, options);
    };

    it('on every path: 404 for another domain, 400 for an invalid one', async () => {
      const only = await link();
      for (const [method, path] of paths) {
        const at = path.replace(':code', only.shortCode);
        for (const query of ['', `?domain=${second}`, '?domain=unknown.example']) {
          expectFailure(await send(method, at + query), 404, notFound);
        }
        for (const query of ['localhost', '1.2.3.4', `${domain}%3a80`, '', `${domain}%2f${code}`]) {
          const response = await send(method, `${at}?domain=${query}`);
          expectFailure(response, 400, invalidDomain);
        }
        const twice = await send(method, `${at}?domain=${domain}&domain=${second}`);
        expect(twice.status, `${method} ${path}: ${twice.text}`).to.equal(400);
      }
      const details = await bench.api(`/v2/links/${only.shortCode}?domain=${domain}`, pro.key);
      expect(details.json()).to.include({ version: 1, status: 'active' });
    });

    it('on every path, in every spelling, and leaves the same code elsewhere', async () => {
      // The visits below change its clicks.
      const readTwin = async (): Promise<object> => {
        const details = (await bench.api(`/v2/links/${code}`, pro.key)).json() as LinkDetails;
        return { ...details, clickCount: null, lastAccessed: null };
      };
      const before = await readTwin();
      expect(before).to.include({ title: 'twin', domain: null, shortUrl: twin.shortUrl });
      for (const spelling of [domain, domain.toUpperCase(), `${domain}.`]) {
        const query = `?domain=${spelling}`;
        const get = await send('GET', `/v2/links/${code}${query}`);
        expect(get.json()).to.include({ domain, shortUrl: own.shortUrl, url: destination });
        const patched = await bench.api(`/v2/links/${code}${query}`, pro.key, {
          ...{ method: 'PATCH', body: { title: `as ${spelling}` } },
        });
        expect(patched.json()).to.include({ domain, title: `as ${spelling}` });
        expect((await send('GET', `/v2/stats/${code}${query}`)).json()).to.include({
          ...{ shortCode: code, url: destination },
        });
      }
      const query = `?domain=${domain}`;
      const adminLink = await send('GET', `/admin/links/${code}${query}`);
      expect(adminLink.json()).to.include({ domain, account: pro.account });
      const blocked = await send('POST', `/admin/links/${code}/block${query}`);
      expect(blocked.status, blocked.text).to.equal(200);
      await calls.onEveryEdge(async (edge) => {
        const visit = await calls.visit(domain, code, {}, edge);
        expect(visit.json()).to.include({ statusCode: 410, errorType: 'BLOCKED' });
      });
      expect(await locationOf('localhost', code)).to.equal(elsewhere);
      expect((await send('POST', `/admin/links/${code}/unblock${query}`)).status).to.equal(200);
      expect((await send('PATCH', `/admin/links/${code}${query}`)).status).to.equal(200);
      const operators = await send('GET', `/admin/links/${code}/history${query}`);
      const { events } = operators.json() as { events: { type: string; subject: string }[] };
      expect(new Set(events.map(({ subject }) => subject))).to.deep.equal(
        new Set([`${domain}/${code}`]),
      );
      expect(events.map(({ type }) => type.replace(/^linklog\.|\.v\d+$/g, ''))).to.deep.equal([
        ...['LinkCreated', 'LinkDescribed', 'LinkDescribed', 'LinkDescribed'],
        ...['LinkBlocked', 'LinkUnblocked', 'LinkDescribed'],
      ]);
      const owners = await send('GET', `/v2/links/${code}/history${query}`);
      expect((owners.json() as { events: object[] }).events).to.have.lengthOf(events.length);
      expect((await send('DELETE', `/v2/links/${code}${query}`)).status).to.equal(204);
      const visit = await calls.visit(domain, code);
      expect(visit.json()).to.include({ errorType: 'DELETED' });
      expect(await readTwin()).to.deep.equal(before);
    });

    it('by QR codes, which contain the short URL on the domain', async () => {
      const { shortCode, shortUrl } = await link();
      const images = [];
      for (const query of ['', '&mark=1']) {
        const response = await send('GET', `/v2/qr/${shortCode}?domain=${domain}${query}`);
        expect(response.status, response.text).to.equal(200);
        images.push({ format: 'png' as const, bytes: response.bytes });
      }
      expect(await readQrCodes(images)).to.deep.equal([shortUrl, `${shortUrl}?qr`]);
    });

    it('by statistics, apart from the same code elsewhere', async () => {
      const alias = 'counted-apart';
      await link({ alias });
      await bench.link(pro.key, { alias });
      for (const host of [domain, domain, domain, 'localhost']) await locationOf(host, alias);
      await bench.expectClicks(`${alias}?domain=${domain}`, pro.key, 3);
      await bench.expectClicks(alias, pro.key, 1);
    });

    it('in bulk as domain/code', async () => {
      const { shortCode } = await link({ alias: 'in-bulk' });
      await bench.link(pro.key, { alias: shortCode });
      const results = await bulk(
        [
          ...[`${domain}/${shortCode}`, shortCode, `${second}/${shortCode}`],
          ...[`${domain.toUpperCase()}/unknown1`, `localhost/${shortCode}`, `${domain}/`],
          `${domain}/${shortCode}/x`,
        ],
        { addTags: ['bulk'] },
      );
      expect(results.map(({ success }) => success)).to.deep.equal([
        ...[true, true, false, false, false, false, false],
      ]);
      expect(results[0]).to.deep.include({ index: 0, shortCode, domain, tags: ['bulk'] });
      expect(results[1]).to.deep.include({ shortCode, domain: null, tags: ['bulk'] });
      expect(results[2]).to.include({
        ...{ shortCode: `${second}/${shortCode}`, statusCode: 404, message: notFound },
      });
      const deleted = await bulk([`${domain}/${shortCode}`], { delete: true });
      expect(deleted[0]).to.include({ success: true, domain, status: 'deleted' });
      const remaining = await bench.api(`/v2/links/${shortCode}`, pro.key);
      expect(remaining.json()).to.include({ status: 'active' });
    });

    it('in bulk only once, in every spelling', async () => {
      const { shortCode } = await link();
      for (const other of [domain, domain.toUpperCase(), `${domain}.`]) {
        const response = await bench.api('/v2/links/bulk', pro.key, {
          method: 'POST',
          body: {
            shortCodes: [`${domain}/${shortCode}`, `${other}/${shortCode}`],
            change: { addTags: ['twice'] },
          },
        });
        expect(response.status, `${other}: ${response.text}`).to.equal(400);
      }
    });

    it('of another account as unknown', async () => {
      const other = await bench.key('PRO', { account: 'addresses-others' });
      const { shortCode } = await link();
      for (const path of [`/v2/links/${shortCode}`, `/v2/stats/${shortCode}`]) {
        expectFailure(await bench.api(`${path}?domain=${domain}`, other.key), 404, notFound);
      }
    });
  });

  describe('are selected', () => {
    it('by the filter of the list and of the statistics of the account', async () => {
      const owner = await bench.key('PRO', { account: 'filtered' });
      const [first, other] = [
        await calls.activate(owner.key),
        await calls.activate(owner.key),
      ] as const;
      const on = async (name: string | null, alias: string): Promise<OwnLink> =>
        bench.link(owner.key, { alias, ...(name !== null && { domain: name }) });
      const [filtered1, filtered2] = [await on(first, 'filter-1'), await on(first, 'filter-2')];
      await on(other, 'filter-1');
      await on(null, 'filter-1');
      for (const [host, code, visits] of [
        [first, 'filter-1', 3],
        [first, 'filter-2', 1],
        [other, 'filter-1', 2],
        ['localhost', 'filter-1', 4],
      ] as const) {
        for (let visit = 0; visit < visits; visit += 1) await locationOf(host, code);
      }
      const listOf = async (query: string): Promise<readonly string[]> => {
        const response = await bench.api(`/v2/links?${query}`, owner.key);
        expect(response.status, response.text).to.equal(200);
        const { links } = response.json() as { links: readonly LinkDetails[] };
        return links.map(({ domain: name, shortCode }) => `${name ?? ''}/${shortCode}`);
      };
      await eventuallyPasses(async () => {
        expect(await listOf(`domain=${first}`)).to.deep.equal([
          ...[`${first}/filter-2`, `${first}/filter-1`],
        ]);
        expect(await listOf(`domain=${first.toUpperCase()}.&sort=clicks`)).to.deep.equal([
          ...[`${first}/filter-1`, `${first}/filter-2`],
        ]);
        expect(await listOf('')).to.have.lengthOf(4);
        expect(await listOf(`domain=${first}&search=filter-2`)).to.have.lengthOf(1);
        expect(await listOf(`domain=${domain}`)).to.deep.equal([]);
      });
      const firstPage = await bench.api(`/v2/links?domain=${first}&limit=1`, owner.key);
      const { next } = firstPage.json() as { next: string };
      expect(await listOf(`domain=${first}&limit=1&after=${next}`)).to.deep.equal([
        `${first}/filter-1`,
      ]);
      const elsewherePage = await bench.api(`/v2/links?limit=1&after=${next}`, owner.key);
      expect(elsewherePage.status).to.equal(400);

      const statsOf = async (query: string): Promise<AccountStatsResponse> => {
        const response = await bench.api(`/v2/stats?include=links${query}`, owner.key);
        expect(response.status, response.text).to.equal(200);
        return response.json() as AccountStatsResponse;
      };
      await eventuallyPasses(async () => {
        const total = await statsOf('');
        expect(total).to.include({ linkCount: 4, clickCount: 10 });
        expect(total.links?.map(({ clicks }) => clicks)).to.deep.equal([4, 3, 2, 1]);
        const some = await statsOf(`&domain=${first}`);
        expect(some).to.include({ linkCount: 2, clickCount: 4 });
        expect(some.links).to.deep.equal([
          { shortCode: filtered1.shortCode, domain: first, url: destination, clicks: 3 },
          { shortCode: filtered2.shortCode, domain: first, url: destination, clicks: 1 },
        ]);
        expect(some.period).to.include({ clickCount: 4 });
      });
      expect(await statsOf(`&domain=${domain}`)).to.include({ linkCount: 0, clickCount: 0 });
      for (const path of ['/v2/links', '/v2/stats']) {
        expectFailure(await bench.api(`${path}?domain=localhost`, owner.key), 400, invalidDomain);
      }
    }).timeout(60_000);
  });
});
