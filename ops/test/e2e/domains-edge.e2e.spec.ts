import { expect } from 'chai';
import { concurrently, sendRequest, statuses, type RequestOptions } from '../support/http.js';
import type { IssuedKey } from '../support/product.js';
import { connectTo, RawClient } from '../support/raw-http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { domainCalls, expectDomain, newName } from './domains-harness.js';
import { destination, passwordForm, sharedProduct, type Link } from './harness.js';

// The default domain with a host and redirects of its own is in settings.e2e.spec.ts.

const browser = 'text/html,application/xhtml+xml,*/*;q=0.8';
/** An address that is no trusted proxy. */
const untrusted = '127.0.0.9';
const forms = ['text/html;q=0.9, */*', browser];
const others = ['*/*', 'text/html;q=0', undefined];

describe('redirect edge: domains', () => {
  const bench = sharedProduct();
  const calls = domainCalls(bench);
  const { visit, onEveryEdge, locationOf } = calls;
  let pro: IssuedKey;
  let domain: string;
  let aliases = 0;

  before(async () => {
    pro = await bench.key('PRO', { account: 'edge-domains' });
    domain = await calls.activate(pro.key);
  });

  const newAlias = (): string => {
    aliases += 1;
    return `edge-alias-${aliases}`;
  };
  /** Two links with the same code. */
  const twins = async (
    body: Record<string, unknown> = {},
  ): Promise<{ readonly own: Link; readonly twin: Link; readonly code: string }> => {
    const code = newAlias();
    const own = await bench.link(pro.key, {
      ...{ alias: code, domain, url: `${destination}#own` },
      ...body,
    });
    const twin = await bench.link(pro.key, { alias: code, url: `${destination}#twin` });
    return { own, twin, code };
  };
  const accepting = (accept: string | undefined, options: RequestOptions = {}): RequestOptions => ({
    ...options,
    headers: { ...options.headers, ...(accept !== undefined && { Accept: accept }) },
  });

  describe('are determined', () => {
    it('by the host in any spelling; every other host is the default domain', async () => {
      const { own, twin, code } = await twins();
      for (const [host, location] of [
        ...[domain, domain.toUpperCase(), `${domain}.:443`].map((host) => [host, own.url] as const),
        ...['localhost', '[::1]:8081', `www.${domain}`, `${domain}..`, newName()].map(
          (host) => [host, twin.url] as const,
        ),
      ]) {
        for (const method of ['GET', 'GET', 'HEAD']) {
          const { headers } = await visit(host, code, { method });
          expect(headers.location, `${method} ${host}`).to.equal(location);
        }
      }
      await bench.expectClicks(`${code}?domain=${domain}`, pro.key, 6);
      await bench.expectClicks(code, pro.key, 10);
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
      for (const [forwarded, host, location, direct] of [
        [`${domain.toUpperCase()}.:443, other.example`, 'edge', own.url, twin.url],
        ['other', domain, twin.url, own.url],
        // Without the header, a trusted proxy passes the host on.
        [undefined, domain, own.url, own.url],
      ] as const) {
        const headers = forwarded === undefined ? {} : { 'X-Forwarded-Host': forwarded };
        expect((await visit(host, code, { headers })).headers.location).to.equal(location);
        const untrustedVisit = await visit(host, code, { headers, localAddress: untrusted });
        expect(untrustedVisit.headers.location).to.equal(direct);
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
          for (let round = 0; round < 2; round += 1) {
            for (const [host, url] of [
              [domain, own.url],
              ['localhost', twin.url],
              [domain.toUpperCase(), own.url],
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
      expect(preview.text).to.include(own.url.replaceAll('&', '&amp;')).and.not.include('#twin');
      expect((await visit('localhost', `${only.shortCode}+`)).status).to.equal(404);
    });

    it('links with passwords, apart from the same code elsewhere', async () => {
      const { own, twin, code } = await twins({ password: 'open sesame' });
      const form = await visit(domain, code, accepting(browser));
      expect(form.text).to.include('<form method="post">').and.not.include('example.com');
      expect((await visit(domain, code, passwordForm('wrong one'))).status).to.equal(401);
      const entered = await visit(domain, code, passwordForm('open sesame'));
      expect([entered.status, entered.headers.location]).to.deep.equal([303, own.url]);
      expect(await locationOf('localhost', code)).to.equal(twin.url);
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
    });

    it('pages for Microsoft Office that refresh to a path of the same host', async () => {
      const { code } = await twins();
      const agent = 'Mozilla/4.0 (compatible; ms-office; MSOffice 16)';
      const { text } = await visit(domain, code, { headers: { 'User-Agent': agent } });
      expect(text)
        .to.match(/refresh/i)
        .and.not.include(`${domain}/`);
    });

    it('codes with characters that were pasted after them, and the routes of the edge', async () => {
      const { own, code } = await twins();
      for (const pasted of [')', '%E2%80%9D']) {
        expect(await locationOf(domain, code + pasted), pasted).to.equal(own.url);
      }
      expect((await visit(domain, 'health')).json()).to.deep.equal({ status: 'pass' });
      expect((await visit(domain, 'robots.txt')).status).to.equal(200);
      expect((await visit(domain, 'favicon.ico')).status).to.equal(204);
    });

    it('redirects for browsers instead of pages: of /, unknown and expired links', async () => {
      const own = await calls.activate(pro.key);
      const make = (body: object = {}): Promise<Link> =>
        bench.link(pro.key, { domain: own, alias: newAlias(), ...body });
      const [used, disabled, deleted, blocked] = [
        await make({ maxClicks: 1 }),
        await make(),
        await make(),
        await make(),
      ];
      const scheduled = await make({ startsAt: new Date(Date.now() + 86_400_000).toISOString() });
      const pathOf = ({ shortCode }: Link, suffix = ''): string =>
        `${shortCode}${suffix}?domain=${own}`;
      expect((await visit(own, used.shortCode)).status).to.equal(302);
      await bench.change(pathOf(disabled), pro.key, { disabled: true });
      await bench.api(`/v2/links/${pathOf(deleted)}`, pro.key, { method: 'DELETE' });
      const reason = { reason: 'phishing' };
      await bench.admin('POST', `/admin/links/${pathOf(blocked, '/block')}`, reason);
      const pages = [
        ['', 404],
        ['unknown-code', 404],
        ...[used, disabled, deleted, blocked].map(({ shortCode }) => [shortCode, 410] as const),
      ] as const;
      const expectPages = (): Promise<void> =>
        onEveryEdge(async (edge) => {
          for (const [path, status] of pages) {
            const page = await visit(own, path, accepting(browser), edge);
            expect([page.status, page.headers.location], path).to.deep.equal([status, undefined]);
            expect(page.headers['content-type']).to.match(/^text\/html/);
          }
        });
      await expectPages();
      const redirects = {
        rootRedirect: 'https://example.com/root',
        notFoundRedirect: 'https://example.com/not-found',
        expiredRedirect: 'https://ü.example/expired?ä',
      };
      expectDomain(await calls.change(pro.key, own, redirects), 200);
      const notFound = { statusCode: 404, message: 'Short URL not found' };
      const toExpired = 'https://xn--tda.example/expired?%C3%A4';
      const expired = (errorType: string) => ({ statusCode: 410, errorType });
      for (const [path, location, error] of [
        ['', redirects.rootRedirect, notFound],
        ...['unknown-code', 'a.b', 'unknown-code+', scheduled.shortCode].map(
          (code) => [code, redirects.notFoundRedirect, notFound] as const,
        ),
        [used.shortCode, toExpired, expired('EXPIRED')],
        [`${used.shortCode}+`, toExpired, expired('EXPIRED')],
        [disabled.shortCode, toExpired, expired('DISABLED')],
        [deleted.shortCode, toExpired, expired('DELETED')],
      ] as const) {
        await onEveryEdge(async (edge) => {
          for (const accept of forms) {
            for (const method of ['GET', 'HEAD']) {
              const { status, headers, text } = await visit(
                own,
                path,
                accepting(accept, { method }),
                edge,
              );
              expect(headers.location, `${method} ${path} ${accept}`).to.equal(location);
              expect([status, text]).to.deep.equal([302, '']);
              expect(headers['cache-control']).to.match(/no-store/);
            }
          }
          for (const accept of others) {
            const response = await visit(own, path, accepting(accept), edge);
            expect(response.headers, path).to.not.have.property('location');
            expect(response.json()).to.include(error);
          }
        });
      }
      for (const path of [blocked.shortCode, `${blocked.shortCode}+`]) {
        const page = await visit(own, path, accepting(browser));
        expect([page.status, page.headers.location]).to.deep.equal([410, undefined]);
      }
      // Other domains keep theirs.
      expect((await visit(domain, '', accepting(browser))).status).to.equal(404);
      const none = { rootRedirect: null, notFoundRedirect: null, expiredRedirect: null };
      expectDomain(await calls.change(pro.key, own, none), 200);
      await expectPages();
    }).timeout(60_000);
  });

  it('are known to GET /tls/ask of every process while they are active', async () => {
    const pending = newName();
    expectDomain(await calls.claim(pro.key, pending), 201);
    const released = await calls.activate(pro.key);
    expect((await calls.release(released)).status).to.equal(200);
    for (const admin of bench.product.admins) {
      await eventuallyPasses(async () => {
        for (const [name, status] of [
          [`${domain.toUpperCase()}.`, 200],
          [pending, 404],
          [released, 404],
          [newName(), 404],
        ] as const) {
          // It needs no token, and accepts every Host.
          const headers = { Host: 'host.docker.internal' };
          const response = await sendRequest(`${admin}/tls/ask?domain=${name}`, { headers });
          expect([response.status, response.text], name).to.deep.equal([status, '']);
        }
      });
      // The other calls of the listener still need a known host.
      const health = await sendRequest(`${admin}/health`, { headers: { Host: domain } });
      expect(health.status).to.equal(421);
    }
  });
});
