import { expect } from 'chai';
import { eventuallyPasses } from '../support/waiting.js';
import type { RequestOptions } from '../support/http.js';
import type { IssuedKey } from '../support/product.js';
import { RawClient } from '../support/raw-http.js';
import { domainCalls, expectDomain } from './domains-harness.js';
import { destination, sharedProduct, type Link } from './harness.js';

// The default domain with a host and redirects of its own is in settings.e2e.spec.ts.

const browser = 'text/html,application/xhtml+xml,*/*;q=0.8';
/** An address that is no trusted proxy. */
const forms = ['text/html;q=0.9, */*', browser];
const others = ['*/*', 'text/html;q=0', undefined];

describe('redirect edge: domains', () => {
  const bench = sharedProduct();
  const calls = domainCalls(bench);
  const { visit, onEveryEdge } = calls;
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
    await eventuallyPasses(() =>
      onEveryEdge(async (edge) => {
        const { headers } = await visit(own, '', accepting(browser), edge);
        expect(headers.location).to.equal(redirects.rootRedirect);
      }),
    );
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
      for (const accept of forms) {
        const response = await visit(own, path, accepting(accept));
        expect(response.headers.location, `${path} ${accept}`).to.equal(location);
        expect([response.status, response.text]).to.deep.equal([302, '']);
        expect(response.headers['cache-control']).to.match(/no-store/);
      }
      for (const accept of others) {
        const response = await visit(own, path, accepting(accept));
        expect(response.headers, path).to.not.have.property('location');
        expect(response.json()).to.include(error);
      }
    }
    for (const path of [blocked.shortCode, `${blocked.shortCode}+`]) {
      const page = await visit(own, path, accepting(browser));
      expect([page.status, page.headers.location]).to.deep.equal([410, undefined]);
    }
  }).timeout(60_000);
});
