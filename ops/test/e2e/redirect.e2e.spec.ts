import { expect } from 'chai';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { destination, expectError, keyFixture, sharedProduct } from './harness.js';

const agent = (userAgent: string): RequestOptions => ({ headers: { 'User-Agent': userAgent } });

const bot = agent('Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)');
const html = { headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };
const notFound = 'Short URL not found';
const expired = 'This link has expired';

describe('redirect edge', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'redirect' });

  const code = async (body: Record<string, unknown> = {}): Promise<string> =>
    (await bench.link(pro.key, body)).shortCode;

  const expectRedirect = (response: HttpResponse, location = destination): void => {
    const { date, connection, 'keep-alive': keepAlive, ...headers } = response.headers;
    expect(headers).to.deep.equal({
      location,
      'cache-control': 'private, no-store',
      'referrer-policy': 'no-referrer-when-downgrade',
      'x-content-type-options': 'nosniff',
      'content-length': '0',
    });
    expect([date, connection, keepAlive]).not.to.include(undefined);
    expect([response.status, response.text]).to.deep.equal([302, '']);
  };

  /** Expects an HTML page that loads nothing. */
  const expectPage = (response: HttpResponse, status: number, title: string): void => {
    expect(response.status).to.equal(status);
    expect(response.headers).to.include({
      ...{ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
    });
    expect(response.headers).not.to.have.property('location');
    expect(response.headers['content-security-policy']).to.match(/^default-src 'none';/);
    expect(response.text).to.include(`<title>${title}</title>`).and.include('<html lang="en">');
  };

  /** Expects a page without the destination. */
  const expectSecretivePage = (...args: Parameters<typeof expectPage>): void => {
    expectPage(...args);
    expect(args[0].text).not.to.include('example.com');
  };

  it('redirects GET and HEAD with exactly these headers, without the query', async () => {
    const { shortUrl, shortCode } = await bench.link(pro.key, { alias: 'redirect-1' });
    expectRedirect(await sendRequest(shortUrl));
    expectRedirect(await bench.visit(shortCode, { method: 'HEAD' }));
    expectRedirect(await bench.visit(`${shortCode}?utm_source=mail`));
    expectRedirect(await bench.visit('redirect%2D1'));
  });

  it('shows Microsoft Office a page that redirects its browser, counted once', async () => {
    const office = agent('Mozilla/4.0 (compatible; ms-office; MSOffice 16)');
    const visited = await code({ maxClicks: 1 });
    const page = await bench.visit(`${visited}?qr&a="b`, office);
    expectSecretivePage(page, 200, 'Opening the link');
    const [, refresh = ''] =
      /<meta http-equiv="refresh" content="0;url=([^"]+)">/.exec(page.text) ?? [];
    expect(page.text).to.include(`<a href="${refresh}">`);
    const marked = refresh.replaceAll('&amp;', '&').slice(1);
    expect(marked).to.match(new RegExp(`^${visited}\\?qr&a=.+&ms-office$`));
    // Office may open its own browser.
    expectRedirect(await bench.visit(marked, office));
    await bench.expectClicks(visited, pro.key, 1);
  });

  it('responds with 404 to unknown and invalid codes, as JSON or a page', async () => {
    for (const path of ['', 'nothing0', 'a/b', '%', '%ff', '//example.com/a', '%00', '../..//']) {
      expectError(await bench.visit(path), { status: 404, message: notFound, path: `/${path}` });
    }
    expectSecretivePage(await bench.visit('nothing0', html), 404, notFound);
    const any = { headers: { Accept: 'text/html;q=0,*/*;q=0.1' } };
    const response = await bench.visit('nothing0?secret=1', any);
    expectError(response, { status: 404, message: notFound, path: '/nothing0' });
    const head = await bench.visit('nothing0', { method: 'HEAD' });
    expect([head.status, head.text]).to.deep.equal([404, '']);
    expect(head.headers['cache-control']).to.equal('no-store');
  });

  it('responds with 405 to other methods', async () => {
    for (const [path, method, allow] of [
      [await code(), 'POST', 'GET, HEAD'],
      [await code({ maxClicks: 3 }), 'PUT', 'GET, HEAD, POST'],
      ['nothing0', 'DELETE', 'GET, HEAD'],
    ] as const) {
      const response = await bench.visit(path, { method });
      expectError(response, {
        ...{ status: 405, message: 'Method Not Allowed', path: `/${path}`, method },
      });
      expect(response.headers.allow).to.equal(allow);
    }
  });

  it('serves robots.txt and favicon.ico, which are never codes', async () => {
    const robots = await bench.visit('robots.txt');
    expect(robots.headers['content-type']).to.match(/^text\/plain/);
    expect(robots.headers['cache-control']).to.equal('no-store');
    expect(robots.text).to.match(/^User-agent: \*$/m);
    const favicon = await bench.visit('favicon.ico');
    expect(favicon.status).to.be.oneOf([200, 204]);
    expect(favicon.headers['cache-control']).to.equal('no-store');
  });

  describe('with a click limit', () => {
    it('redirects up to the limit, and responds with 410 afterwards', async () => {
      const limited = await code({ maxClicks: 2 });
      for (let click = 0; click < 2; click += 1) expectRedirect(await bench.visit(limited));
      const gone = { status: 410, message: expired, errorType: 'EXPIRED' } as const;
      for (const path of [limited, `${limited}+`]) {
        expectError(await bench.visit(path), { ...gone, path: `/${path}` });
        expectSecretivePage(await bench.visit(path, html), 410, expired);
      }
      const head = await bench.visit(limited, { method: 'HEAD' });
      expect([head.status, head.text]).to.deep.equal([410, '']);
    });

    it('shows bots a form, sends HEAD no body, and spends no click on them', async () => {
      const limited = await code({ maxClicks: 1 });
      const response = await bench.visit(limited, bot);
      expectSecretivePage(response, 200, 'A short link');
      expect(response.headers['content-security-policy']).to.include("form-action 'self' http:");
      expect(response.text)
        .to.include('<form method="post">\n<button type="submit">Continue</button>\n</form>')
        .and.not.to.include('<input');
      const head = await bench.visit(limited, { method: 'HEAD' });
      expect([head.status, head.text]).to.deep.equal([200, '']);
      expectRedirect(await bench.visit(limited));
    });

    it('redirects every client that submits the form, and counts it as a person', async () => {
      const limited = await code({ maxClicks: 3 });
      const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
      for (const headers of [{ ...bot.headers, ...form }, form, {}]) {
        const response = await bench.visit(limited, { method: 'POST', headers });
        expect(response.status, response.text).to.equal(303);
        expect(response.headers).to.include({
          ...{ location: destination, 'cache-control': 'private, no-store' },
        });
      }
      const late = await bench.visit(limited, { method: 'POST', headers: form });
      const path = `/${limited}`;
      expectError(late, {
        ...{ status: 410, message: expired, path, method: 'POST', errorType: 'EXPIRED' },
      });
      await bench.expectClicks(limited, pro.key, 3);
    });
  });

  describe('with a + after the code shows a preview', () => {
    const escaped = 'https://example.com/somewhere?a=1&amp;b=2';

    it('with destination, creation and expiry, which is not counted', async () => {
      const { shortCode, createdAt, expiresAt } = await bench.link(pro.key, { expiresIn: 3_600 });
      const response = await bench.visit(`${shortCode}+`);
      expectPage(response, 200, 'Link preview');
      expect(response.headers['content-security-policy']).to.include("form-action 'none'");
      const link = `<a href="${escaped}" rel="noopener noreferrer nofollow">${escaped}</a>`;
      for (const text of [
        link,
        `<time datetime="${createdAt}">`,
        `<time datetime="${expiresAt ?? ''}">`,
      ]) {
        expect(response.text).to.include(text);
      }
      expect((await bench.visit(`${shortCode}%2B`)).text).to.equal(response.text);
      await bench.visit(shortCode);
      await bench.expectClicks(shortCode, pro.key, 1);
    });

    it('with an escaped destination in punycode, and none of a link with a limit', async () => {
      const limited = await code({ maxClicks: 1 });
      expectSecretivePage(await bench.visit(`${limited}+`), 200, 'Link preview');
      const url = `https://exаmple.com/?a="><script>alert('1')</script>&b=</a>`;
      const { text } = await bench.visit(`${await code({ url })}+`);
      expect(text).not.to.match(/<script|'1'|"><s|exаmple/);
      expect(text.match(/<a /g)).to.have.length(1);
      expect(text).to.include('xn--').and.include('&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)');
    });
  });
});
