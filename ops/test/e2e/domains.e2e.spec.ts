import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DomainResponse } from '../../../schemas/http/domains.js';
import type { PlanName } from '../../../schemas/plans.js';
import { concurrently, sendRequest, statuses, type HttpResponse } from '../support/http.js';
import type { IssuedKey } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { domainCalls, expectDomain, newName } from './domains-harness.js';
import { destination, expectBody, expectError, lacking, sharedProduct } from './harness.js';

// Names of the service itself are in settings.e2e.spec.ts.

const invalid = 'Please provide a valid domain';
const unknown = 'Domain not found';
const ofAnother = 'The domain belongs to another account';
const unverified = 'The TXT record was not found';
const inactive = 'The domain is not active for this account';
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
        ...{ linkCount: 0, createdAt, verifiedAt: null },
      });
      expect(verification).to.include({ type: 'TXT', name: `_linklog.${domain}` });
      expect(verification?.value).to.match(/^linklog=[\w-]{20,}$/);
      for (const response of [await claim(key, domain), await show(key, domain)]) {
        expect(expectDomain(response, 200)).to.deep.equal(claimed);
      }
      expect(await listed(key)).to.deep.equal([claimed]);
    });

    it('accepts one domain in every spelling', async () => {
      const { key } = await newKey();
      const parent = newName();
      const first = expectDomain(await claim(key, `münchen.${parent}`), 201);
      expect(first.domain).to.equal(`xn--mnchen-3ya.${parent}`);
      const again = await claim(key, `mu\u0308NCHEN.${parent}.`);
      expect(expectDomain(again, 200)).to.deep.equal(first);
      publish(first);
      const verified = await verify(key, encodeURIComponent(`MÜNCHEN.${parent}`));
      expect(expectDomain(verified, 200).domain).to.equal(first.domain);
    });

    it('rejects names that no account can have, for owners and operators', async () => {
      const { key } = await newKey();
      const longest = `${'a'.repeat(55)}.${`${'b'.repeat(61)}.`.repeat(3)}${'c'.repeat(3)}.example`;
      for (const name of ['localhost', 'co.uk', 'go\u0000.example', `a${longest}`, null]) {
        const error = { status: 400, message: invalid, path: '/v2/domains', method: 'POST' };
        expectError(await claim(key, name), error);
        if (name !== null) expectFailure(await add(name, 'acme'), 400, invalid);
      }
      expect(await listed(key)).to.deep.equal([]);
      expect(longest).to.have.lengthOf(253);
      expect(expectDomain(await claim(key, longest), 201).domain).to.equal(longest);
    });

    it('needs HOBBY, whose limit active and operators’ domains count toward', async () => {
      const free = await newKey('FREE');
      expectBody(await claim(free.key, newName()), 403, {
        ...{ statusCode: 403, message: 'Custom domains require the HOBBY plan or higher.' },
        ...{ error: 'Forbidden', feature: 'customDomain', currentPlan: 'FREE' },
        upgradeUrl: 'https://example.com/billing',
      });
      // The body is checked before the plan.
      expectFailure(await claim(free.key, 'localhost'), 400, invalid);
      const { key, account } = await newKey('HOBBY');
      const domain = newName();
      expectDomain(await add(domain, account), 201);
      const message = 'At most 1 domains on this plan';
      expectFailure(await claim(key, newName()), 400, message);
      // A repeated claim is not one more.
      expectDomain(await claim(key, domain), 200);
      expect((await remove(key, domain)).status).to.equal(204);
      expectDomain(await claim(key, newName()), 201);
      expectFailure(await claim(key, newName()), 400, message);
    });

    it('of one name by concurrent requests is one claim', async () => {
      const { key } = await newKey('INDIE');
      const domain = newName();
      const responses = await concurrently(10, () => claim(key, domain));
      expect(statuses(responses)).to.deep.equal({ 201: 1, 200: 9 });
      const tokens = responses.map(
        (response) => (response.json() as DomainResponse).verification?.value,
      );
      expect(new Set(tokens).size).to.equal(1);
    });
  });

  it('are changed with the scope domains:manage, and read with links:read', async () => {
    const { key, account } = await newKey();
    const domain = await calls.activate(key);
    const reader = await bench.key('PRO', { account, scopes: ['links:read'] });
    const manager = await bench.key('PRO', { account, scopes: ['domains:manage'] });
    expectDomain(await show(reader.key, domain), 200);
    expect(await listed(reader.key)).to.have.lengthOf(1);
    for (const refused of [
      await claim(reader.key, newName()),
      await verify(reader.key, domain),
      await change(reader.key, domain, { rootRedirect: null }),
      await remove(reader.key, domain),
    ]) {
      expectBody(refused, 403, lacking('domains:manage'));
    }
    expectBody(await show(manager.key, domain), 403, lacking('links:read'));
    expectBody(await bench.api('/v2/domains', manager.key), 403, lacking('links:read'));
    expectDomain(await claim(manager.key, newName()), 201);
    expect((await remove(manager.key, domain)).status).to.equal(204);
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
    for (const name of [domain, newName(), 'localhost']) {
      expectFailure(await show(other.key, name), 404, unknown);
      expectFailure(await change(other.key, name, { rootRedirect: null }), 404, unknown);
      expectFailure(await remove(other.key, name), 404, unknown);
    }
  });

  describe('a verification', () => {
    it('gets 409 with the values that were found until the record is there, and 200 then', async () => {
      const { key, account } = await newKey();
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
      expect(expectDomain(await claim(key, domain), 200)).to.deep.equal(active);
      expectFailure(await add(domain, `not-${account}`), 409, ofAnother);
      const second = await newKey();
      publish(expectDomain(await claim(second.key, domain), 201));
      expectFailure(await verify(second.key, domain), 409, ofAnother);
    });

    it('gets 503 while the resolver is silent or fails', async () => {
      const { key } = await newKey();
      const domain = newName();
      publish(expectDomain(await claim(key, domain), 201));
      for (const mode of ['silent', 'SERVFAIL'] as const) {
        bench.dns.mode = mode;
        const response = await verify(key, domain);
        expect(response.status, `${mode}: ${response.text}`).to.equal(503);
        expect(response.headers['retry-after']).to.match(/^[1-9]\d*$/);
      }
      bench.dns.mode = 'truncated';
      expectDomain(await verify(key, domain), 200);
    });

    it('gets 404 without a claim, and queries no DNS server then', async () => {
      const { key } = await newKey();
      const domain = newName();
      expectDomain(await claim((await newKey()).key, domain), 201);
      const { queries } = bench.dns;
      for (const name of [domain, 'localhost', '%00']) {
        expectFailure(await verify(key, name), 404, unknown);
      }
      expect(bench.dns.queries).to.equal(queries);
    });
  });

  describe('a change', () => {
    const redirects = {
      rootRedirect: 'https://example.com/root',
      notFoundRedirect: 'https://example.com/?not=found',
      expiredRedirect: 'https://ü.example/expired',
    };

    it('sets and removes redirects, and leaves absent ones', async () => {
      const { key } = await newKey();
      const domain = await calls.activate(key);
      let expected = expectDomain(await show(key, domain), 200);
      const { rootRedirect, ...others } = redirects;
      for (const body of [others, { rootRedirect }, { rootRedirect }, { notFoundRedirect: null }]) {
        expected = { ...expected, ...body };
        expect(expectDomain(await change(key, domain, body), 200)).to.deep.equal(expected);
      }
      expect(expectDomain(await show(key, domain), 200)).to.deep.equal(expected);
    });

    it('is validated like the URL of a link, and needs an active domain', async () => {
      const { key } = await newKey();
      const domain = await calls.activate(key);
      const unsafe = 'URL appears to be unsafe and cannot be shortened';
      const long = `https://example.com/${'a'.repeat(2_048)}`;
      const tooLong = 'URL must be at most 2048 characters';
      for (const [body, message, more] of [
        ...Object.keys(redirects).map(
          (field) => [{ [field]: 'ftp://a.example' }, invalidUrl, { reason: 'scheme' }] as const,
        ),
        [{ rootRedirect: `https://${domain}/` }, invalidUrl, { reason: 'ownHost' }],
        [{ rootRedirect: bench.product.edge }, invalidUrl, { reason: 'ownHost' }],
        [{ rootRedirect: long }, tooLong, { reason: 'tooLong' }],
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
      expectFailure(await bench.shorten(key, { url: destination, domain }), 400, inactive);
      await calls.activate(key, domain);
      const again = await bench.shorten(key, { url: destination, domain, alias: shortCode });
      expectFailure(again, 400, 'Alias is already taken');
    });

    it('never leaves a created link behind, when it races with creations on several nodes', async () => {
      const { key } = await newKey();
      const { apis, edge } = bench.product;
      const send = (index: number, method: string, url: string, body?: object) =>
        sendRequest(`${apis[index % apis.length] ?? ''}${url}`, {
          ...{ method, headers: { Authorization: `Bearer ${key}` } },
          ...(body && { body }),
        });
      for (let round = 0; round < 8; round += 1) {
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
        ...{ linkCount: 0, createdAt, verifiedAt: createdAt },
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

    it('need their token and an account', async () => {
      const { admin } = bench.product;
      const body = { domain: newName(), account: 'acme' };
      const anonymous = await sendRequest(`${admin}/admin/domains`, { method: 'POST', body });
      expect(anonymous.status).to.equal(401);
      for (const account of [undefined, '', 5]) {
        const response = await bench.admin('POST', '/admin/domains', { ...body, account });
        expect(response.status, response.text).to.equal(400);
      }
    });

    it('release a domain: only the same account gets its links back', async () => {
      const [first, second] = [await newKey(), await newKey()];
      const domain = newName();
      expectDomain(await add(domain, first.account), 201);
      const { shortCode } = await bench.link(first.key, { domain });
      const expectServed = (location: string, code = shortCode): Promise<void> =>
        calls.onEveryEdge(async (edge) => {
          expect(await locationOf(domain, code, edge)).to.equal(location);
        });
      await expectServed(destination);
      expect((await release(domain)).status).to.equal(200);
      await expectServed('404');
      expectFailure(await bench.shorten(first.key, { url: destination, domain }), 400, inactive);

      expectDomain(await add(domain, second.account), 201);
      await expectServed('404');
      const taken = await bench.shorten(second.key, { url: destination, domain, alias: shortCode });
      expectFailure(taken, 400, 'Alias is already taken');
      const theirs = await bench.link(second.key, { domain, url: 'https://example.com/second' });
      await expectServed(theirs.url, theirs.shortCode);
      await expectServed('404');
      const link = `/v2/links/${shortCode}?domain=${domain}`;
      expect((await bench.api(link, second.key)).status).to.equal(404);
      const image = `/v2/qr/${shortCode}?domain=${domain}`;
      for (const { key } of [first, second]) {
        expect((await bench.api(image, key)).status).to.equal(404);
      }
      expect(expectDomain(await show(second.key, domain), 200).linkCount).to.equal(1);

      expect((await release(domain)).status).to.equal(200);
      await calls.activate(first.key, domain);
      await expectServed(destination);
      await expectServed('404', theirs.shortCode);
      expect(expectDomain(await show(first.key, domain), 200).linkCount).to.equal(1);
    }).timeout(60_000);
  });
});
