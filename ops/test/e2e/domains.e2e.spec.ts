import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DomainResponse } from '../../../schemas/http/domains.js';
import type { PlanName } from '../../../schemas/plans.js';
import { concurrently, sendRequest, type HttpResponse } from '../support/http.js';
import type { IssuedKey } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { domainCalls, expectDomain, newName } from './domains-harness.js';
import { destination, expectBody, expectError, sharedProduct } from './harness.js';

// Names of the service itself are in settings.e2e.spec.ts.

const invalid = 'Please provide a valid domain';
const unknown = 'Domain not found';
const inactive = 'The domain is not active for this account';
const unverified = 'The TXT record was not found';
const invalidUrl = 'Please provide a valid URL';
const none = { rootRedirect: null, notFoundRedirect: null, expiredRedirect: null };

describe('product: domains of accounts', () => {
  const bench = sharedProduct();
  const calls = domainCalls(bench);
  const { claim, verify, publish, show, change, remove, add, release, locationOf } = calls;
  let accounts = 0;

  /** A key of a new account. */
  const newKey = (plan: PlanName = 'PRO'): Promise<IssuedKey> => {
    accounts += 1;
    return bench.key(plan, { account: `domains-${accounts}` });
  };
  const expectFailure = (
    response: HttpResponse,
    status: number,
    message: string,
    more: object = {},
  ): void => {
    expect(response.status, response.text).to.equal(status);
    expect(response.json()).to.deep.include({ statusCode: status, message, ...more });
  };
  const listed = async (key: string): Promise<readonly DomainResponse[]> =>
    ((await bench.api('/v2/domains', key)).json() as { domains: readonly DomainResponse[] })
      .domains;

  afterEach(() => {
    bench.dns.mode = 'records';
  });

  describe('a claim', () => {
    it('gets 201 with the TXT record, and 200 with the same token when it is repeated', async () => {
      const { key } = await newKey();
      const domain = newName();
      const claimed = expectDomain(await claim(key, domain), 201);
      const { verification, createdAt } = claimed;
      expect(claimed).to.deep.equal({
        ...{ domain, status: 'pending', verification, ...none },
        ...{ caseInsensitive: false, linkCount: 0, createdAt, verifiedAt: null },
      });
      expect(verification).to.include({ type: 'TXT', name: `_linklog.${domain}` });
      expect(verification?.value).to.match(/^linklog=[\w-]{20,}$/);
      for (const response of [await claim(key, domain), await show(key, domain)]) {
        expect(expectDomain(response, 200)).to.deep.equal(claimed);
      }
      expect(await listed(key)).to.deep.equal([claimed]);
    });

    it('is rejected for a name that no account can have, and by the plan', async () => {
      const { key } = await newKey();
      for (const name of ['localhost', 'co.uk', null]) {
        const error = { status: 400, message: invalid, path: '/v2/domains', method: 'POST' };
        expectError(await claim(key, name), error);
        if (name !== null) expectFailure(await add(name, 'acme'), 400, invalid);
      }
      const free = await newKey('FREE');
      expectBody(await claim(free.key, newName()), 403, {
        ...{ statusCode: 403, message: 'Custom domains require the HOBBY plan or higher.' },
        ...{ error: 'Forbidden', feature: 'customDomain', currentPlan: 'FREE' },
        upgradeUrl: 'https://example.com/billing',
      });
      const { key: hobby, account } = await newKey('HOBBY');
      expectDomain(await add(newName(), account), 201);
      expectFailure(await claim(hobby, newName()), 400, 'At most 1 domains on this plan');
    });
  });

  it('are shown to their account only, with the number of their links', async () => {
    const [own, other] = [await newKey(), await newKey()];
    const domain = await calls.activate(own.key);
    await calls.activate(other.key);
    const { shortCode } = await bench.link(own.key, { domain });
    await bench.link(own.key, { domain });
    await bench.link(own.key);
    const counts = (await listed(own.key)).map(({ domain: name, linkCount }) => [name, linkCount]);
    expect(counts).to.deep.equal([[domain, 2]]);
    await bench.api(`/v2/links/${shortCode}?domain=${domain}`, own.key, { method: 'DELETE' });
    expect(expectDomain(await show(own.key, domain), 200).linkCount).to.equal(1);
    expectFailure(await show(other.key, domain), 404, unknown);
    expectFailure(await change(other.key, domain, { rootRedirect: null }), 404, unknown);
    expectFailure(await remove(other.key, domain), 404, unknown);
  });

  it('are listed page by page, by name', async () => {
    const { key, account } = await newKey();
    const names = ['b', 'a', 'c'].map((label) => `${label}.${newName()}`);
    for (const name of names) expectDomain(await add(name, account), 201);
    const page = async (query: string) => {
      const response = await bench.api(`/v2/domains?limit=2${query}`, key);
      const { domains, next } = response.json() as {
        readonly domains: readonly DomainResponse[];
        readonly next: string | null;
      };
      return { names: domains.map(({ domain }) => domain), next };
    };
    const [b = '', a = '', c = ''] = names;
    expect(await page('')).to.deep.equal({ names: [a, b], next: b });
    expect(await page(`&after=${b}`)).to.deep.equal({ names: [c], next: null });
  });

  describe('a verification', () => {
    it('gets 409 with the values that were found until the record is there, and 200 then', async () => {
      const { key } = await newKey();
      const domain = newName();
      const claimed = expectDomain(await claim(key, domain), 201);
      const { name = '', value = '' } = claimed.verification ?? {};
      expectFailure(await verify(key, domain), 409, unverified, { found: [] });
      const others = ['v=spf1 -all', 'linklog=other', value.toUpperCase(), `${value} x`];
      bench.dns.setTxt(name, ...others);
      const response = await verify(key, domain);
      expectFailure(response, 409, unverified);
      expect((response.json() as { found: string[] }).found).to.have.members(others);
      bench.dns.setTxt(name, ...others, [value.slice(0, 9), value.slice(9)]);
      const active = expectDomain(await verify(key, domain), 200);
      const { verifiedAt } = active;
      expect(active).to.deep.equal({ ...claimed, status: 'active', verifiedAt });
      // Once active, the record is not needed any more.
      bench.dns.remove(name);
      expect(expectDomain(await verify(key, domain), 200)).to.deep.equal(active);
    });

    it('gets 503 while the resolver fails', async () => {
      const { key } = await newKey();
      const domain = newName();
      publish(expectDomain(await claim(key, domain), 201));
      bench.dns.mode = 'SERVFAIL';
      const response = await verify(key, domain);
      expect(response.status, response.text).to.equal(503);
      expect(response.headers['retry-after']).to.match(/^[1-9]\d*$/);
    });
  });

  describe('a change', () => {
    const redirects = {
      rootRedirect: 'https://example.com/root',
      notFoundRedirect: 'https://example.com/?not=found',
      expiredRedirect: 'https://ü.example/expired',
    };

    it('is validated like the URL of a link, and needs an active domain', async () => {
      const { key } = await newKey();
      const domain = await calls.activate(key);
      const unsafe = 'URL appears to be unsafe and cannot be shortened';
      for (const [body, message, more] of [
        ...Object.keys(redirects).map(
          (field) => [{ [field]: 'ftp://a.example' }, invalidUrl, { reason: 'scheme' }] as const,
        ),
        [{ rootRedirect: bench.product.edge }, invalidUrl, { reason: 'ownHost' }],
        [{ ...redirects, rootRedirect: 'https://evil-domain.example/' }, unsafe, {}],
        [{}, 'Nothing to change', {}],
      ] as const) {
        expectFailure(await change(key, domain, body), 400, message, more);
      }
      expect(expectDomain(await show(key, domain), 200)).to.include(none);
      const pending = newName();
      expectDomain(await claim(key, pending), 201);
      expectFailure(await change(key, pending, redirects), 404, unknown);
    });
  });

  it('are own hosts while they are active, to which no link leads', async () => {
    const { key } = await newKey();
    const other = await newKey();
    const domain = await calls.activate(key);
    await eventuallyPasses(async () => {
      for (const url of [`https://${domain}/a`, `http://${domain}`]) {
        const response = await bench.shorten(other.key, { url });
        expectFailure(response, 400, invalidUrl, { reason: 'ownHost' });
      }
    });
    expect((await remove(key, domain)).status).to.equal(204);
    await eventuallyPasses(async () => {
      const { status } = await bench.shorten(other.key, { url: `https://${domain}/a` });
      expect(status).to.equal(201);
    });
  });

  describe('a deletion', () => {
    it('gets 409 while the domain has links, and 204 without; codes stay used', async () => {
      const { key } = await newKey();
      const domain = await calls.activate(key);
      const { shortCode } = await bench.link(key, { domain });
      expectFailure(await remove(key, domain), 409, 'The domain has links');
      const link = `/v2/links/${shortCode}?domain=${domain}`;
      expect((await bench.api(link, key, { method: 'DELETE' })).status).to.equal(204);
      const response = await remove(key, domain);
      expect([response.status, response.text]).to.deep.equal([204, '']);
      expectFailure(await show(key, domain), 404, unknown);
      expect(await listed(key)).to.deep.equal([]);
    });

    it('keeps a link that is restored later unreachable, until the account has the domain again', async () => {
      const [{ key }, other] = [await newKey(), await newKey()];
      const domain = await calls.activate(key);
      const { shortCode } = await bench.link(key, { domain });
      const link = `/v2/links/${shortCode}`;
      const query = `?domain=${domain}`;
      expect((await bench.api(link + query, key, { method: 'DELETE' })).status).to.equal(204);
      expect((await remove(key, domain)).status).to.equal(204);
      expectDomain(await add(domain, other.account), 201);
      const restored = await bench.api(`${link}/restore${query}`, key, { method: 'POST' });
      expect(restored.json()).to.include({ domain, status: 'active' });
      const expectServed = (location: string): Promise<void> =>
        calls.onEveryEdge(async (edge) => {
          expect(await locationOf(domain, shortCode, edge)).to.equal(location);
        });
      await expectServed('404');
      expect(expectDomain(await show(other.key, domain), 200).linkCount).to.equal(0);
      expect((await release(domain)).status).to.equal(200);
      await calls.activate(key, domain);
      await expectServed(destination);
    }).timeout(60_000);

    it('never leaves a created link behind, when it races with creations on several nodes', async () => {
      const { key } = await newKey();
      const { apis, edge } = bench.product;
      const send = (index: number, method: string, url: string, body?: object) =>
        sendRequest(`${apis[index % apis.length] ?? ''}${url}`, {
          ...{ method, headers: { Authorization: `Bearer ${key}` } },
          ...(body && { body }),
        });
      for (let round = 0; round < 4; round += 1) {
        const domain = await calls.activate(key);
        const creations = concurrently(6, async (index) => {
          await sleep(3 + 2 * index);
          return send(index, 'POST', '/v2/shorten', { url: destination, domain });
        });
        const [removed, created] = await Promise.all([
          sleep(round).then(() => send(round, 'DELETE', `/v2/domains/${domain}`)),
          creations,
        ]);
        const links = created.filter(({ status }) => status === 201);
        for (const response of created) {
          expect(response.status, response.text).to.be.oneOf([201, 400]);
        }
        if (removed.status === 204) expect(links, removed.text).to.have.lengthOf(0);
        else {
          expectFailure(removed, 409, 'The domain has links');
          expect(links).to.have.lengthOf(6);
          for (const response of links) {
            const { shortCode } = response.json() as { shortCode: string };
            expect(await locationOf(domain, shortCode, edge)).to.equal(destination);
          }
        }
      }
    }).timeout(60_000);
  });

  describe('operators', () => {
    it('add a domain without DNS, list it and release it with its links', async () => {
      const { key, account } = await newKey();
      const domain = newName();
      const { queries } = bench.dns;
      const added = expectDomain(await add(domain.toUpperCase(), account), 201);
      const { createdAt } = added;
      expect(added).to.deep.equal({
        ...{ domain, account, status: 'active', verification: null, ...none },
        ...{ caseInsensitive: false, linkCount: 0, createdAt, verifiedAt: createdAt },
      });
      expect(bench.dns.queries).to.equal(queries);
      expect(expectDomain(await add(domain, account), 200)).to.deep.equal(added);
      expect({ ...expectDomain(await show(key, domain), 200), account }).to.deep.equal(added);
      await bench.link(key, { domain });
      const found: object[] = [];
      for (let after: string | null = ''; after !== null;) {
        const page = await bench.admin('GET', `/admin/domains?limit=20${after}`);
        expect(page.status, page.text).to.equal(200);
        const { domains, next } = page.json() as { domains: object[]; next: string | null };
        found.push(...domains);
        after = next === null ? null : `&after=${next}`;
      }
      expect(found).to.deep.include({ ...added, linkCount: 1 });
      expect((await release(domain)).status).to.equal(200);
      expectFailure(await release(domain), 404, unknown);
      expectFailure(await show(key, domain), 404, unknown);
    });

    it('release a domain: only the same account gets its links back', async () => {
      const [first, second] = [await newKey(), await newKey()];
      const domain = newName();
      expectDomain(await add(domain, first.account), 201);
      const { shortCode } = await bench.link(first.key, { domain });
      const expectServed = (location: string): Promise<void> =>
        calls.onEveryEdge(async (edge) => {
          expect(await locationOf(domain, shortCode, edge)).to.equal(location);
        });
      await expectServed(destination);
      expect((await release(domain)).status).to.equal(200);
      await expectServed('404');
      expectFailure(await bench.shorten(first.key, { url: destination, domain }), 400, inactive);

      expectDomain(await add(domain, second.account), 201);
      await expectServed('404');
      const taken = await bench.shorten(second.key, { url: destination, domain, alias: shortCode });
      expectFailure(taken, 400, 'Alias is already taken');
      const link = `/v2/links/${shortCode}?domain=${domain}`;
      expect((await bench.api(link, second.key)).status).to.equal(404);
      const image = `/v2/qr/${shortCode}?domain=${domain}`;
      for (const { key } of [first, second]) {
        expect((await bench.api(image, key)).status).to.equal(404);
      }
      expect(expectDomain(await show(second.key, domain), 200).linkCount).to.equal(0);

      expect((await release(domain)).status).to.equal(200);
      await calls.activate(first.key, domain);
      await expectServed(destination);
    }).timeout(60_000);
  });
});
