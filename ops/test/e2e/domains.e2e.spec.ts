import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DomainResponse } from '../../../schemas/http/domains.js';
import type { PlanName } from '../../../schemas/plans.js';
import { dnsServerFixture } from '../support/dns-server.js';
import { folderFixture } from '../support/fixtures.js';
import { concurrently, sendRequest, statuses, type HttpResponse } from '../support/http.js';
import type { IssuedKey } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { domainCalls, expectDomain, newName } from './domains-harness.js';
import {
  destination,
  expectBody,
  expectError,
  lacking,
  productFixture,
  timestampPattern,
  upgradeUrl,
  type Link,
} from './harness.js';

const invalid = 'Please provide a valid domain';
const unknown = 'Domain not found';
const ofAnother = 'The domain belongs to another account';
const unverified = 'The TXT record was not found';
const inactive = 'The domain is not active for this account';
const invalidUrl = 'Please provide a valid URL';
const unsafe = 'URL appears to be unsafe and cannot be shortened';

describe('product: domains of accounts', () => {
  const dns = dnsServerFixture();
  const folder = folderFixture();
  const bench = productFixture(async () => {
    const blocklist = path.join(folder.path, 'blocklist.txt');
    await writeFile(blocklist, 'blocked.example\n');
    return {
      ...{ DNS_SERVERS: dns.address, BLOCKLIST_FILE: blocklist },
      SHORT_URL_HOST: 'https://short.own.example',
      OWN_HOSTS: 'go.own.example:8443,www.own.example',
      ADMIN_HOSTS: 'admin.own.example',
    };
  });
  const calls = domainCalls(bench, dns);
  const { claim, verify, publish, show, change, remove, add, release } = calls;
  let accounts = 0;

  /** A key of a new account. */
  const newKey = (
    plan: PlanName = 'PRO',
    options: Omit<Parameters<typeof bench.key>[1] & object, 'account'> = {},
  ): Promise<IssuedKey> => {
    accounts += 1;
    return bench.key(plan, { account: `domains-${accounts}`, ...options });
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

  const listed = async (key: string): Promise<readonly DomainResponse[]> => {
    const response = await bench.api('/v2/domains', key);
    expect(response.status, response.text).to.equal(200);
    return (response.json() as { domains: readonly DomainResponse[] }).domains;
  };

  const locationAt = async (edge: string, domain: string, code: string): Promise<string> => {
    const { headers, status } = await calls.visit(domain, code, {}, edge);
    return headers.location ?? String(status);
  };

  beforeEach(() => {
    dns.mode = 'records';
  });

  describe('a claim', () => {
    it('gets 201 with the TXT record, and 200 with the same token when it is repeated', async () => {
      const { key } = await newKey();
      const domain = newName();
      const claimed = expectDomain(await claim(key, domain), 201);
      const { verification, createdAt } = claimed;
      expect(claimed).to.deep.equal({
        ...{ domain, status: 'pending', verification },
        ...{ rootRedirect: null, notFoundRedirect: null, expiredRedirect: null },
        ...{ linkCount: 0, createdAt, verifiedAt: null },
      });
      expect(createdAt).to.match(timestampPattern);
      expect(verification).to.have.all.keys('type', 'name', 'value');
      expect(verification).to.include({ type: 'TXT', name: `_linklog.${domain}` });
      expect(verification?.value).to.match(/^linklog=[\w-]{20,}$/);
      expect(expectDomain(await claim(key, domain), 200)).to.deep.equal(claimed);
      expect(expectDomain(await show(key, domain), 200)).to.deep.equal(claimed);
      expect(await listed(key)).to.deep.equal([claimed]);
    });

    it('accepts one domain in every spelling', async () => {
      const { key } = await newKey();
      const ascii = `xn--mnchen-3ya.${newName()}`;
      const parent = ascii.slice('xn--mnchen-3ya.'.length);
      const first = expectDomain(await claim(key, `münchen.${parent}`), 201);
      expect(first.domain).to.equal(ascii);
      for (const spelling of [ascii, `MÜNCHEN.${parent}`, `${ascii}.`, `mu\u0308nchen.${parent}`]) {
        expect(expectDomain(await claim(key, spelling), 200), spelling).to.deep.equal(first);
      }
      const inPath = encodeURIComponent(`MÜNCHEN.${parent}`);
      expect(expectDomain(await show(key, inPath), 200)).to.deep.equal(first);
      publish(first);
      expect(expectDomain(await verify(key, inPath), 200).domain).to.equal(ascii);
    });

    it('rejects names that no account can have', async () => {
      const { key } = await newKey();
      const label = 'a'.repeat(61);
      const longest = `${`${label}.`.repeat(4)}example`.slice(2);
      const invalidNames: readonly unknown[] = [
        ...['127.0.0.1', '0x7f.1', '1.2.3.4.', '[::1]', '::1', '2130706433', '10.0.0.256'],
        ...['localhost', 'example', 'com', 'co.uk', 'github.io', 'CO.UK', 'co.uk.'],
        ...['xn--55qx5d.cn', '公司.cn'],
        ...[longest.padStart(254, 'a'), `${'a'.repeat(64)}.example`],
        ...['short.own.example', 'SHORT.OWN.EXAMPLE.', 'go.own.example', 'www.own.example'],
        'admin.own.example',
        ...[
          'go.example:80',
          'go.example/path',
          'http://go.example',
          'go.example?a',
          'go.example#a',
        ],
        ...['user@go.example', 'go .example', ' go.example', 'go.example\t', 'go\\.example'],
        ...[
          'go..example',
          '.go.example',
          '-go.example',
          'go-.example',
          'go%2e.example',
          '*.example',
        ],
        ...['xn--a.example', 'a\u200d.example', '\ud800.example', 'go\u0000.example', ''],
        ...[null, 5, {}, ['go.example'], undefined],
      ];
      for (const name of invalidNames) {
        const response = await claim(key, name);
        expect(response.status, `${String(name)}: ${response.text}`).to.equal(400);
        const error = { status: 400, message: invalid, path: '/v2/domains', method: 'POST' };
        expectError(response, error);
        // The first of them are checked by the same schema.
        if (typeof name === 'string') {
          expectFailure(await add(name, 'acme'), 400, invalid);
        }
      }
      expect(await listed(key)).to.deep.equal([]);
    });

    it('accepts the longest name', async () => {
      const { key } = await newKey();
      const name = `${'a'.repeat(55)}.${`${'b'.repeat(61)}.`.repeat(3)}${'c'.repeat(3)}.example`;
      expect(name).to.have.lengthOf(253);
      expect(expectDomain(await claim(key, name), 201).domain).to.equal(name);
    });

    it('needs HOBBY or higher', async () => {
      const { key } = await newKey('FREE');
      expectBody(await claim(key, newName()), 403, {
        ...{ statusCode: 403, message: 'Custom domains require the HOBBY plan or higher.' },
        ...{ error: 'Forbidden', feature: 'customDomain', currentPlan: 'FREE', upgradeUrl },
      });
      // The body is checked before the plan.
      expectFailure(await claim(key, 'localhost'), 400, invalid);
    });

    for (const [plan, limit] of [
      ['HOBBY', 1],
      ['INDIE', 5],
    ] as const) {
      it(`counts toward the limit of ${plan}, as active and operators’ domains do`, async () => {
        const { key, account } = await newKey(plan);
        const names = Array.from({ length: limit }, newName);
        const [first = '', second, ...others] = names;
        expectDomain(await add(first, account), 201);
        if (second !== undefined) await calls.activate(key, second);
        for (const name of others) expectDomain(await claim(key, name), 201);
        const message = `At most ${limit} domains on this plan`;
        expectFailure(await claim(key, newName()), 400, message);
        // A repeated claim is not one more.
        for (const name of names) expectDomain(await claim(key, name), 200);
        expect(await listed(key)).to.have.lengthOf(limit);
        expect((await remove(key, first)).status).to.equal(204);
        expectDomain(await claim(key, newName()), 201);
        expectFailure(await claim(key, newName()), 400, message);
      });
    }

    it('is limited exactly by concurrent requests on several nodes', async () => {
      const { key } = await newKey('INDIE');
      const { apis } = bench.product;
      const responses = await concurrently(20, (index) =>
        sendRequest(`${apis[index % apis.length] ?? ''}/v2/domains`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${key}` },
          body: { domain: newName() },
        }),
      );
      expect(statuses(responses)).to.deep.equal({ 201: 5, 400: 15 });
      expect(await listed(key)).to.have.lengthOf(5);
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

  describe('scopes', () => {
    it('domains:manage allows changes, links:read allows reading', async () => {
      const root = await newKey();
      const domain = await calls.activate(root.key);
      const { account } = root;
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
  });

  describe('a verification', () => {
    it('gets 409 with the values that were found until the record is there, and 200 then', async () => {
      const { key } = await newKey();
      const domain = newName();
      const claimed = expectDomain(await claim(key, domain), 201);
      const [name, value] = [claimed.verification?.name ?? '', claimed.verification?.value ?? ''];
      expectFailure(await verify(key, domain), 409, unverified, { found: [] });
      const others = ['v=spf1 -all', 'linklog=other', value.toUpperCase(), `${value} `];
      dns.setTxt(name, ...others);
      const response = await verify(key, domain);
      expectFailure(response, 409, unverified);
      expect((response.json() as { found: string[] }).found).to.have.members(others);
      expect(expectDomain(await show(key, domain), 200)).to.deep.equal(claimed);
      dns.setTxt(name, ...others, [value.slice(0, 9), value.slice(9)]);
      const active = expectDomain(await verify(key, domain), 200);
      const { verifiedAt } = active;
      expect(active).to.deep.equal({ ...claimed, status: 'active', verifiedAt });
      expect(verifiedAt).to.match(timestampPattern);
      // Once active, the record is not needed any more.
      dns.remove(name);
      expect(expectDomain(await verify(key, domain), 200)).to.deep.equal(active);
      expect(expectDomain(await claim(key, domain), 200)).to.deep.equal(active);
    });

    it('gets 503 within 2 s while the resolver is silent or fails', async () => {
      const { key } = await newKey();
      const domain = newName();
      publish(expectDomain(await claim(key, domain), 201));
      for (const mode of ['silent', 'SERVFAIL'] as const) {
        dns.mode = mode;
        const response = await bench.api(`/v2/domains/${domain}/verify`, key, {
          ...{ method: 'POST', timeoutMs: 2_000 },
        });
        expect(response.status, `${mode}: ${response.text}`).to.equal(503);
        expect(response.headers['retry-after']).to.match(/^[1-9]\d*$/);
      }
      dns.mode = 'truncated';
      expectDomain(await verify(key, domain), 200);
    });

    it('gets 404 without a claim, and queries no DNS server then', async () => {
      const { key } = await newKey();
      const domain = newName();
      const other = await newKey();
      expectDomain(await claim(other.key, domain), 201);
      const { queries } = dns;
      for (const name of [domain, newName(), 'localhost', '%00']) {
        expectFailure(await verify(key, name), 404, unknown);
      }
      expect(dns.queries).to.equal(queries);
    });

    it('gives a claimed domain to the first account, and 409 to the others', async () => {
      const [first, second] = [await newKey(), await newKey()];
      const domain = newName();
      const claims = await Promise.all(
        [first, second].map(async ({ key }) => expectDomain(await claim(key, domain), 201)),
      );
      expect(claims[0]?.verification?.value).to.not.equal(claims[1]?.verification?.value);
      const values = claims.flatMap(({ verification }) => verification?.value ?? []);
      dns.setTxt(`_linklog.${domain}`, ...values);
      // The record of another account verifies nothing.
      dns.setTxt(`_linklog.${domain}`, values[1] ?? '');
      expectFailure(await verify(first.key, domain), 409, unverified, { found: [values[1]] });
      dns.setTxt(`_linklog.${domain}`, ...values);
      expectDomain(await verify(second.key, domain), 200);
      expectFailure(await verify(first.key, domain), 409, ofAnother);
      expectFailure(await add(domain, first.account), 409, ofAnother);
      expect(expectDomain(await show(first.key, domain), 200).status).to.equal('pending');
      expectDomain(await release(domain), 200);
      expectDomain(await verify(first.key, domain), 200);
    });

    it('gives a domain to one account when several verify at the same time', async () => {
      const { apis } = bench.product;
      for (let round = 0; round < 5; round += 1) {
        const domain = newName();
        const keys = await Promise.all([newKey(), newKey(), newKey(), newKey()]);
        const claims = await Promise.all(
          keys.map(async ({ key }) => expectDomain(await claim(key, domain), 201)),
        );
        const values = claims.flatMap(({ verification }) => verification?.value ?? []);
        dns.setTxt(`_linklog.${domain}`, ...values);
        const responses = await concurrently(8, (index) =>
          sendRequest(`${apis[index % apis.length] ?? ''}/v2/domains/${domain}/verify`, {
            method: 'POST',
            headers: { Authorization: `Bearer ${keys[index % 4]?.key ?? ''}` },
          }),
        );
        expect(statuses(responses)).to.deep.equal({ 200: 2, 409: 6 });
        const states = await Promise.all(
          keys.map(async ({ key }) => expectDomain(await show(key, domain), 200).status),
        );
        expect(states.sort()).to.deep.equal(['active', 'pending', 'pending', 'pending']);
      }
    });
  });

  describe('reading', () => {
    it('shows the domains of the account only, with the number of their links', async () => {
      const [own, other] = [await newKey(), await newKey()];
      const domain = await calls.activate(own.key);
      await calls.activate(other.key);
      const { shortCode } = await bench.link(own.key, { domain });
      await bench.link(own.key, { domain });
      await bench.link(own.key);
      expect(
        (await listed(own.key)).map(({ domain: name, linkCount }) => [name, linkCount]),
      ).to.deep.equal([[domain, 2]]);
      await bench.api(`/v2/links/${shortCode}?domain=${domain}`, own.key, { method: 'DELETE' });
      expect(expectDomain(await show(own.key, domain), 200).linkCount).to.equal(1);
      for (const name of [domain, newName(), 'localhost']) {
        expectFailure(await show(other.key, name), 404, unknown);
        expectFailure(await change(other.key, name, { rootRedirect: null }), 404, unknown);
        expectFailure(await remove(other.key, name), 404, unknown);
      }
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
      const before = expectDomain(await show(key, domain), 200);
      const { rootRedirect, ...others } = redirects;
      expect(expectDomain(await change(key, domain, others), 200)).to.deep.equal({
        ...before,
        ...others,
      });
      const after = expectDomain(await change(key, domain, { rootRedirect }), 200);
      expect(after).to.deep.equal({ ...before, ...redirects });
      expect(expectDomain(await change(key, domain, { rootRedirect }), 200)).to.deep.equal(after);
      const removed = await change(key, domain, { notFoundRedirect: null });
      expect(expectDomain(removed, 200)).to.deep.equal({ ...after, notFoundRedirect: null });
      expect(expectDomain(await show(key, domain), 200)).to.deep.equal({
        ...after,
        notFoundRedirect: null,
      });
    });

    it('is validated like url', async () => {
      const { key } = await newKey();
      const [domain, second] = [await calls.activate(key), await calls.activate(key)];
      for (const [url, reason] of [
        ['ftp://example.com', 'scheme'],
        ['https://user@example.com', 'userinfo'],
        ['https:\\\\example.com', 'scheme'],
        ['https://exa mple.com', 'whitespace'],
        ['', 'missing'],
        [5, 'missing'],
        ['https://short.own.example/a', 'ownHost'],
        ['https://go.own.example:8443/a', 'ownHost'],
        [bench.product.edge, 'ownHost'],
        [`https://${domain}/`, 'ownHost'],
        [`http://${second.toUpperCase()}./`, 'ownHost'],
      ] as const) {
        for (const field of Object.keys(redirects)) {
          const response = await change(key, domain, { [field]: url });
          expect(response.status, `${url}: ${response.text}`).to.equal(400);
          expectFailure(response, 400, invalidUrl, { reason });
        }
      }
      const long = `https://example.com/${'a'.repeat(2_048)}`;
      expectFailure(
        await change(key, domain, { rootRedirect: long }),
        400,
        'URL must be at most 2048 characters',
        { reason: 'tooLong' },
      );
      for (const body of [{}, { other: 1 }, []]) {
        const response = await change(key, domain, body);
        expect(response.status, response.text).to.equal(400);
      }
      expectFailure(await change(key, domain, {}), 400, 'Nothing to change');
      expectFailure(
        await change(key, domain, { ...redirects, rootRedirect: 'https://a.blocked.example/' }),
        400,
        unsafe,
      );
      expect(expectDomain(await show(key, domain), 200)).to.include({
        ...{ rootRedirect: null, notFoundRedirect: null, expiredRedirect: null },
      });
    });

    it('of a pending domain gets 404', async () => {
      const { key } = await newKey();
      const domain = newName();
      expectDomain(await claim(key, domain), 201);
      expectFailure(await change(key, domain, redirects), 404, unknown);
    });

    it('makes the domain an own host, to which no link leads', async () => {
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
  });

  describe('a deletion', () => {
    it('gets 204, and 409 while the domain has links', async () => {
      const { key } = await newKey();
      const domain = await calls.activate(key);
      const { shortCode } = await bench.link(key, { domain });
      expectFailure(await remove(key, domain), 409, 'The domain has links');
      const link = `/v2/links/${shortCode}?domain=${domain}`;
      expect((await bench.api(link, key, { method: 'DELETE' })).status).to.equal(204);
      const response = await remove(key, domain);
      expect([response.status, response.text]).to.deep.equal([204, '']);
      expectFailure(await show(key, domain), 404, unknown);
      expectFailure(await remove(key, domain), 404, unknown);
      expect(await listed(key)).to.deep.equal([]);
      expectFailure(await bench.shorten(key, { url: destination, domain }), 400, inactive);
      // The code stays used, for every account.
      await calls.activate(key, domain);
      const again = await bench.shorten(key, { url: destination, domain, alias: shortCode });
      expectFailure(again, 400, 'Alias is already taken');
    });

    it('of a claim gets 204, and the next claim has another token', async () => {
      const { key } = await newKey();
      const domain = newName();
      const first = expectDomain(await claim(key, domain), 201);
      expect((await remove(key, domain)).status).to.equal(204);
      expectFailure(await verify(key, domain), 404, unknown);
      const second = expectDomain(await claim(key, domain), 201);
      expect(second.verification?.value).to.not.equal(first.verification?.value);
      publish(first);
      expectFailure(await verify(key, domain), 409, unverified);
    });

    it('never leaves a created link behind, when it races with creations on several nodes', async () => {
      const { key } = await newKey();
      const { apis } = bench.product;
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
            const { shortCode } = response.json() as Link;
            expect(await locationAt(bench.product.edge, domain, shortCode)).to.equal(destination);
          }
        }
      }
    }).timeout(60_000);
  });

  describe('operators', () => {
    it('add a domain without DNS, list it and release it', async () => {
      const { key, account } = await newKey();
      const domain = newName();
      const { queries } = dns;
      const added = expectDomain(await add(domain.toUpperCase(), account), 201);
      const { createdAt } = added;
      expect(added).to.deep.equal({
        ...{ domain, account, status: 'active', verification: null },
        ...{ rootRedirect: null, notFoundRedirect: null, expiredRedirect: null },
        ...{ linkCount: 0, createdAt, verifiedAt: createdAt },
      });
      expect(dns.queries).to.equal(queries);
      expect(expectDomain(await add(domain, account), 200)).to.deep.equal(added);
      expectFailure(await add(domain, 'another'), 409, ofAnother);
      expect({ ...expectDomain(await show(key, domain), 200), account }).to.deep.equal(added);
      const link = await bench.link(key, { domain });
      const page = await bench.admin('GET', '/admin/domains?limit=1');
      const { domains, next } = page.json() as { domains: object[]; next: string | null };
      expect(domains).to.have.lengthOf(1);
      expect(next).to.be.a('string');
      const after = await bench.admin('GET', `/admin/domains?after=${next ?? ''}`);
      expect(after.status).to.equal(200);
      const listedDomains = [...domains, ...(after.json() as { domains: object[] }).domains];
      expect(listedDomains).to.deep.include({ ...added, linkCount: 1 });
      // Operators release a domain with links.
      expect((await release(domain)).status).to.equal(200);
      expectFailure(await release(domain), 404, unknown);
      expectFailure(await show(key, domain), 404, unknown);
      await calls.onEveryEdge(async (edge) => {
        expect(await locationAt(edge, domain, link.shortCode)).to.equal('404');
      });
    });

    it('need their token and an account', async () => {
      const { admin } = bench.product;
      const body = { domain: newName(), account: 'acme' };
      const anonymous = await sendRequest(`${admin}/admin/domains`, { method: 'POST', body });
      expect(anonymous.status).to.equal(401);
      for (const account of [undefined, '', null, 5]) {
        const response = await bench.admin('POST', '/admin/domains', { ...body, account });
        expect(response.status, response.text).to.equal(400);
      }
    });

    it('release a domain: only the same account gets its links back', async () => {
      const [first, second] = [await newKey(), await newKey()];
      const domain = newName();
      expectDomain(await add(domain, first.account), 201);
      const { shortCode } = await bench.link(first.key, { domain });
      const expectServed = (location: string): Promise<void> =>
        calls.onEveryEdge(async (edge) => {
          expect(await locationAt(edge, domain, shortCode)).to.equal(location);
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
      await calls.onEveryEdge(async (edge) => {
        expect(await locationAt(edge, domain, theirs.shortCode)).to.equal(theirs.url);
      });
      await expectServed('404');
      const link = `/v2/links/${shortCode}?domain=${domain}`;
      expect((await bench.api(link, second.key)).status).to.equal(404);
      expect(expectDomain(await show(second.key, domain), 200).linkCount).to.equal(1);

      expect((await release(domain)).status).to.equal(200);
      await calls.activate(first.key, domain);
      await expectServed(destination);
      await calls.onEveryEdge(async (edge) => {
        expect(await locationAt(edge, domain, theirs.shortCode)).to.equal('404');
      });
      expect(expectDomain(await show(first.key, domain), 200).linkCount).to.equal(1);
    }).timeout(60_000);

    it('lose the redirects of a domain with its release', async () => {
      const { key, account } = await newKey();
      const domain = newName();
      expectDomain(await add(domain, account), 201);
      expectDomain(await change(key, domain, { rootRedirect: 'https://example.com/' }), 200);
      expect((await release(domain)).status).to.equal(200);
      const again = expectDomain(await add(domain, account), 201);
      expect(again).to.include({ rootRedirect: null });
    });
  });
});
