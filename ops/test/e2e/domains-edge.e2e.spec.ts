import { expect } from 'chai';
import { dnsServerFixture } from '../support/dns-server.js';
import {
  concurrently,
  sendRequest,
  statuses,
  type HttpResponse,
  type RequestOptions,
} from '../support/http.js';
import type { IssuedKey } from '../support/product.js';
import { connectTo, RawClient } from '../support/raw-http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { domainCalls, expectDomain, newName } from './domains-harness.js';
import { destination, passwordForm, productFixture, type Link } from './harness.js';

const browser = 'text/html,application/xhtml+xml,*/*;q=0.8';
const defaultNotFound = 'https://example.com/default?not=found';
const defaultExpired = 'https://example.com/default-expired';
/** The address of the trusted proxy. */
const proxy = '127.0.0.2';
const forms = ['text/html', 'text/html;q=0.9, */*', browser];
const others = ['*/*', 'application/json', 'text/*', 'text/html;q=0', undefined];

describe('redirect edge: domains', () => {
  const dns = dnsServerFixture();
  const bench = productFixture(() => ({
    ...{ DNS_SERVERS: dns.address, SHORT_URL_HOST: 'https://short.own.example' },
    ...{ NOT_FOUND_REDIRECT: defaultNotFound, EXPIRED_REDIRECT: defaultExpired },
    TRUSTED_PROXIES: proxy,
  }));
  const calls = domainCalls(bench, dns);
  const { visit, onEveryEdge } = calls;
  let pro: IssuedKey;
  let domain: string;
  let aliases = 0;

  before(async () => {
    pro = await bench.key('PRO', { account: 'edge-domains' });
    domain = await calls.activate(pro.key);
    await onEveryEdge(async (edge) => {
      // The rootRedirect of no other test is set.
      expect((await visit(domain, '', {}, edge)).status).to.equal(404);
    });
  });

  const newAlias = (): string => {
    aliases += 1;
    return `edge-alias-${aliases}`;
  };
  /** Two links with the same code. */
  const twins = async (
    body: Record<string, unknown> = {},
  ): Promise<{ readonly own: Link; readonly twin: Link; readonly code: string }> => {
    const alias = newAlias();
    const own = await bench.link(pro.key, { alias, domain, url: `${destination}#own`, ...body });
    const twin = await bench.link(pro.key, { alias, url: `${destination}#twin` });
    return { own, twin, code: alias };
  };
  const locationOf = ({ status, headers }: HttpResponse): string =>
    headers.location ?? String(status);
  const accepting = (accept: string | undefined, options: RequestOptions = {}): RequestOptions => ({
    ...options,
    headers: { ...options.headers, ...(accept !== undefined && { Accept: accept }) },
  });
  /** Expects a redirect for browsers only, on every edge. */
  const expectReplaced = async (
    host: string,
    path: string,
    location: string,
    error: object,
  ): Promise<void> => {
    for (const edge of bench.product.edges) {
      for (const accept of forms) {
        for (const method of ['GET', 'HEAD']) {
          const response = await visit(host, path, accepting(accept, { method }), edge);
          expect(response.headers.location, `${method} ${path} ${accept}`).to.equal(location);
          expect([response.status, response.text]).to.deep.equal([302, '']);
          expect(response.headers['cache-control']).to.match(/no-store/);
        }
      }
      for (const accept of others) {
        const response = await visit(host, path, accepting(accept), edge);
        expect(response.headers, `${path} ${String(accept)}`).to.not.have.property('location');
        expect(response.json()).to.include(error);
      }
    }
  };

  describe('are determined', () => {
    it('by the host: in any case, with port and trailing dot', async () => {
      const { own, code } = await twins();
      for (const host of [
        ...[domain, domain.toUpperCase(), `${domain}:80`, `${domain}:8443`, `${domain}.`],
        ...[`${domain}.:443`, `${domain}:`],
      ]) {
        for (const method of ['GET', 'GET', 'HEAD']) {
          const response = await visit(host, code, { method });
          expect(locationOf(response), `${method} ${host}`).to.equal(own.url);
        }
      }
      await bench.expectClicks(`${code}?domain=${domain}`, pro.key, 14);
      expect((await bench.stats(code, pro.key)).clickCount).to.equal(0);
    });

    it('as the default domain for every other host', async () => {
      const { twin, code } = await twins();
      for (const host of [
        ...['short.own.example', 'localhost', '127.0.0.1', '[::1]:8081', `www.${domain}`],
        ...[domain.slice(1), `${domain}.example`, `${domain}..`, newName()],
      ]) {
        expect(locationOf(await visit(host, code)), host).to.equal(twin.url);
      }
    });

    it('as the default domain without a host (HTTP/1.0)', async () => {
      const { own, twin, code } = await twins();
      for (const [headers, url] of [
        ['', twin.url],
        [`Host: ${domain}\r\n`, own.url],
      ] as const) {
        const connection = await connectTo(bench.product.edge);
        connection.socket.write(`GET /${code} HTTP/1.0\r\n${headers}\r\n`);
        const received = await connection.until(/\r\n\r\n/);
        expect(received).to.match(/^HTTP\/1\.[01] 302 /);
        expect(/^location: (.*)\r$/im.exec(received)?.[1]).to.equal(url);
        connection.socket.destroy();
      }
    });

    it('by X-Forwarded-Host of a trusted proxy only', async () => {
      const { own, twin, code } = await twins();
      const forwarded = (value: string, localAddress: string, host: string) =>
        visit(host, code, { headers: { 'X-Forwarded-Host': value }, localAddress });
      for (let round = 0; round < 2; round += 1) {
        for (const value of [domain, `${domain.toUpperCase()}.:443, other.example`]) {
          expect(locationOf(await forwarded(value, proxy, 'edge'))).to.equal(own.url);
          expect(locationOf(await forwarded(value, '127.0.0.1', 'edge'))).to.equal(twin.url);
        }
        expect(locationOf(await forwarded('other', proxy, domain))).to.equal(twin.url);
        expect(locationOf(await forwarded('other', '127.0.0.1', domain))).to.equal(own.url);
        // Without the header, a trusted proxy passes the host on.
        const plain = await visit(domain, code, { localAddress: proxy });
        expect(locationOf(plain)).to.equal(own.url);
      }
    });

    for (const server of ['fast path', 'node:http'] as const) {
      it(`for each request of a connection: ${server}`, async () => {
        const { own, twin, code } = await twins();
        const [edge = ''] = bench.product.edges;
        const client = new RawClient(edge);
        const send = async (host: string, path = code, method = 'GET'): Promise<string> => {
          const bytes = Buffer.from(`${method} /${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
          const request = { bytes, toHead: method === 'HEAD', last: false };
          const [response] = await client.exchange(request, 5_000);
          return response?.headers.get('location') ?? String(response?.status);
        };
        try {
          // The edge passes a connection on to node:http with the first request that is no redirect.
          if (server === 'node:http') expect(await send(domain, 'unknown-code')).to.equal('404');
          for (let round = 0; round < 4; round += 1) {
            for (const [host, url] of [
              [domain, own.url],
              ['localhost', twin.url],
              [domain.toUpperCase(), own.url],
              ['short.own.example', twin.url],
            ] as const) {
              expect(await send(host)).to.equal(url);
              expect(await send(host)).to.equal(url);
            }
          }
          if (server === 'node:http') expect(await send(domain, code, 'HEAD')).to.equal(own.url);
        } finally {
          client.end();
        }
      });
    }
  });

  describe('have', () => {
    it('previews of their own links', async () => {
      const { own, code } = await twins();
      const only = await bench.link(pro.key, { domain });
      const preview = await visit(domain, `${code}+`, accepting(browser));
      expect(preview.status).to.equal(200);
      expect(preview.text).to.include('#own').and.not.include('#twin');
      expect(preview.text).to.include(own.url.replaceAll('&', '&amp;'));
      const elsewhere = await visit('localhost', `${only.shortCode}+`);
      expect(elsewhere.status).to.equal(404);
    });

    it('links with passwords, apart from the same code elsewhere', async () => {
      const { own, twin, code } = await twins({ password: 'open sesame' });
      const form = await visit(domain, code, accepting(browser));
      expect(form.status).to.equal(200);
      expect(form.text).to.include('<form method="post">').and.not.include('example.com');
      expect((await visit(domain, code, passwordForm('wrong one'))).status).to.equal(401);
      const entered = await visit(domain, code, passwordForm('open sesame'));
      expect([entered.status, entered.headers.location]).to.deep.equal([303, own.url]);
      expect(locationOf(await visit('localhost', code))).to.equal(twin.url);
      expect((await visit('localhost', code, passwordForm('open sesame'))).status).to.equal(405);
    });

    it('exact limits, apart from the same code elsewhere', async () => {
      const { code } = await twins({ maxClicks: 5 });
      const { edges } = bench.product;
      const visits = await concurrently(12, (index) =>
        visit(domain, code, {}, edges[index % edges.length]),
      );
      expect(statuses(visits)).to.deep.equal({ 302: 5, 410: 7 });
      expect((await visit('localhost', code)).status).to.equal(302);
      const office = await visit(domain, (await twins()).code, {
        headers: { 'User-Agent': 'Mozilla/4.0 (compatible; ms-office; MSOffice 16)' },
      });
      // The page refreshes to a path of the same host.
      expect(office.text).to.not.include(`${domain}/`);
    });

    it('codes with characters that were pasted after them', async () => {
      const { own, code } = await twins();
      for (const pasted of ['.', ')', '/', '%E2%80%9D', '%20']) {
        expect(locationOf(await visit(domain, code + pasted)), pasted).to.equal(own.url);
      }
    });

    it('the routes of the edge', async () => {
      expect((await visit(domain, 'health')).json()).to.deep.equal({ status: 'pass' });
      expect((await visit(domain, 'robots.txt')).status).to.equal(200);
      expect((await visit(domain, 'favicon.ico')).status).to.equal(204);
    });
  });

  describe('redirect browsers instead of a page', () => {
    const notFound = { statusCode: 404, message: 'Short URL not found' };

    it('for /, unknown and expired links, after a PATCH', async () => {
      const own = await calls.activate(pro.key);
      const make = (body: object): Promise<Link> =>
        bench.link(pro.key, { domain: own, alias: newAlias(), ...body });
      const [used, disabled, deleted, blocked, scheduled] = [
        await make({ maxClicks: 1 }),
        await make({}),
        await make({}),
        await make({}),
        await make({ startsAt: new Date(Date.now() + 86_400_000).toISOString() }),
      ];
      const pathOf = ({ shortCode }: Link, suffix = ''): string =>
        `${shortCode}${suffix}?domain=${own}`;
      expect((await visit(own, used.shortCode)).status).to.equal(302);
      const options = { method: 'PATCH', body: { disabled: true } };
      await bench.api(`/v2/links/${pathOf(disabled)}`, pro.key, options);
      await bench.api(`/v2/links/${pathOf(deleted)}`, pro.key, { method: 'DELETE' });
      const reason = { reason: 'phishing' };
      await bench.admin('POST', `/admin/links/${pathOf(blocked, '/block')}`, reason);
      const gone = [
        [used, 'EXPIRED'],
        [disabled, 'DISABLED'],
        [deleted, 'DELETED'],
      ] as const;
      await onEveryEdge(async (edge) => {
        for (const [{ shortCode }] of [...gone, [blocked, 'BLOCKED'] as const]) {
          const page = await visit(own, shortCode, accepting(browser), edge);
          expect(page.status).to.equal(410);
          expect(page.headers['content-type']).to.match(/^text\/html/);
        }
      });
      const redirects = {
        rootRedirect: 'https://example.com/root',
        notFoundRedirect: 'https://example.com/not-found',
        expiredRedirect: 'https://ü.example/expired?ä',
      };
      expectDomain(await calls.change(pro.key, own, redirects), 200);
      await onEveryEdge(async (edge) => {
        for (const [path, location] of [
          ['', redirects.rootRedirect],
          ['unknown-code', redirects.notFoundRedirect],
          [used.shortCode, 'https://xn--tda.example/expired?%C3%A4'],
        ] as const) {
          expect(locationOf(await visit(own, path, accepting(browser), edge))).to.equal(location);
        }
      });
      await expectReplaced(own, '', redirects.rootRedirect, notFound);
      for (const path of ['unknown-code', 'a.b', 'unknown-code+', scheduled.shortCode]) {
        await expectReplaced(own, path, redirects.notFoundRedirect, notFound);
      }
      for (const [{ shortCode }, errorType] of gone) {
        const error = { statusCode: 410, errorType };
        for (const path of [shortCode, `${shortCode}+`]) {
          await expectReplaced(own, path, 'https://xn--tda.example/expired?%C3%A4', error);
        }
      }
      for (const path of [blocked.shortCode, `${blocked.shortCode}+`]) {
        const page = await visit(own, path, accepting(browser));
        expect(page.status).to.equal(410);
        expect(page.headers).to.not.have.property('location');
      }
      // Other domains keep theirs.
      expect((await visit(domain, '', accepting(browser))).status).to.equal(404);
      const none = { rootRedirect: null, notFoundRedirect: null, expiredRedirect: null };
      expectDomain(await calls.change(pro.key, own, none), 200);
      await onEveryEdge(async (edge) => {
        for (const [path, status] of [
          ['', 404],
          ['unknown-code', 404],
          [used.shortCode, 410],
        ] as const) {
          expect((await visit(own, path, accepting(browser), edge)).status).to.equal(status);
        }
      });
    }).timeout(60_000);

    it('by NOT_FOUND_REDIRECT and EXPIRED_REDIRECT on the default domain', async () => {
      const make = (body: object = {}): Promise<Link> =>
        bench.link(pro.key, { alias: newAlias(), ...body });
      const [used, blocked] = [await make({ maxClicks: 1 }), await make()];
      expect((await visit('localhost', used.shortCode)).status).to.equal(302);
      const reason = { reason: 'phishing' };
      await bench.admin('POST', `/admin/links/${blocked.shortCode}/block`, reason);
      await expectReplaced('localhost', 'unknown-code', defaultNotFound, notFound);
      const expired = { statusCode: 410, errorType: 'EXPIRED' };
      await expectReplaced('short.own.example', used.shortCode, defaultExpired, expired);
      await onEveryEdge(async (edge) => {
        const page = await visit('localhost', blocked.shortCode, accepting(browser), edge);
        expect(page.status).to.equal(410);
        expect(page.headers).to.not.have.property('location');
      });
      // An own domain has none of them.
      expect((await visit(domain, 'unknown-code', accepting(browser))).status).to.equal(404);
    });
  });

  describe('GET /tls/ask', () => {
    const ask = (
      admin: string,
      query: string,
      options: RequestOptions = {},
    ): Promise<HttpResponse> => sendRequest(`${admin}/tls/ask${query}`, options);

    it('responds with 200 to active domains and the default domain, with 404 to others', async () => {
      const pending = newName();
      expectDomain(await calls.claim(pro.key, pending), 201);
      const released = await calls.activate(pro.key);
      expect((await calls.release(released)).status).to.equal(200);
      const { admins } = bench.product;
      await eventuallyPasses(async () => {
        for (const admin of admins) {
          expect((await ask(admin, `?domain=${released}`)).status).to.equal(404);
        }
      });
      expect(admins.length).to.be.at.least(bench.product.edges.length);
      for (const admin of admins) {
        for (const [name, status] of [
          [domain, 200],
          [domain.toUpperCase(), 200],
          [`${domain}.`, 200],
          ['short.own.example', 200],
          ['SHORT.own.example', 200],
          [pending, 404],
          [released, 404],
          [`www.${domain}`, 404],
          [newName(), 404],
          ['localhost', 404],
          ['127.0.0.1', 404],
          ['', 404],
          ['%00', 404],
          ['%ff', 404],
          [`${domain}%2f`, 404],
        ] as const) {
          const response = await ask(admin, `?domain=${name}`);
          expect([response.status, response.text], name).to.deep.equal([status, '']);
        }
        for (const query of ['', '?', '?other=1', `?Domain=${domain}`]) {
          expect((await ask(admin, query)).status, query).to.equal(404);
        }
      }
    });

    it('needs no token, accepts every Host and HEAD, and rejects other methods', async () => {
      for (const admin of bench.product.admins) {
        for (const host of ['admin:8082', 'host.docker.internal', domain, 'x'.repeat(300)]) {
          const known = await ask(admin, `?domain=${domain}`, { headers: { Host: host } });
          expect(known.status, host).to.equal(200);
          const unknown = await ask(admin, '?domain=x.example', { headers: { Host: host } });
          expect(unknown.status, host).to.equal(404);
        }
        // The other calls of the listener still need a known host.
        const health = await sendRequest(`${admin}/health`, { headers: { Host: domain } });
        expect(health.status).to.equal(421);
        const head = await ask(admin, `?domain=${domain}`, { method: 'HEAD' });
        expect([head.status, head.text]).to.deep.equal([200, '']);
        for (const method of ['POST', 'PUT', 'DELETE']) {
          const response = await ask(admin, `?domain=${domain}`, { method });
          expect(response.status).to.equal(405);
          expect(response.headers.allow).to.equal('GET, HEAD');
        }
      }
    });
  });

  describe('without PostgreSQL', () => {
    it('are served, and GET /tls/ask responds', async () => {
      const { own } = await twins();
      await calls.expectServedWithoutPostgres(domain, own, 4_000);
    }).timeout(60_000);
  });
});
