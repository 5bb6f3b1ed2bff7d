import { expect } from 'chai';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { keyFixture, destination, expectError, productFixture } from './harness.js';

/** Visitors, although libraries classify some as bots; bots.unit.spec.ts has many more. */
const visitors = [
  undefined,
  '',
  'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36',
  'curl/8.7.1',
];

/** A crawler and a link previewer. */
const bots = [
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
];

const agent = (userAgent: string | undefined): RequestOptions =>
  userAgent === undefined ? {} : { headers: { 'User-Agent': userAgent } };

const html = { headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } };

describe('redirect edge', () => {
  const bench = productFixture();
  const pro = keyFixture(bench, 'PRO');

  const code = async (body: Record<string, unknown> = {}): Promise<string> =>
    (await bench.link(pro.key, body)).shortCode;

  const expectRedirect = (response: HttpResponse, location: string): void => {
    const { date, connection, 'keep-alive': keepAlive, ...headers } = response.headers;
    expect(headers).to.deep.equal({
      location,
      'cache-control': 'private, no-store',
      'referrer-policy': 'no-referrer-when-downgrade',
      'x-content-type-options': 'nosniff',
      'content-length': '0',
    });
    expect([date, connection, keepAlive]).not.to.include(undefined);
    expect(response.status).to.equal(302);
    expect(response.text).to.equal('');
  };

  /** Expects an HTML page that loads nothing and does not contain the destination. */
  const expectPage = (response: HttpResponse, status: number, title: string): void => {
    expect(response.status).to.equal(status);
    expect(response.headers['content-type']).to.equal('text/html; charset=utf-8');
    expect(response.headers['cache-control']).to.equal('no-store');
    expect(response.headers['content-security-policy']).to.match(/^default-src 'none';/);
    expect(response.text).to.include(`<title>${title}</title>`);
    expect(response.text).not.to.include('example.com');
  };

  it('redirects with exactly these headers and no body', async () => {
    expectRedirect(await bench.visit(await code()), destination);
  });

  it('redirects the short URL', async () => {
    const { shortUrl } = await bench.link(pro.key);
    expectRedirect(await sendRequest(shortUrl), destination);
  });

  it('redirects a HEAD the same way', async () => {
    expectRedirect(await bench.visit(await code(), { method: 'HEAD' }), destination);
  });

  it('does not forward the query', async () => {
    expectRedirect(await bench.visit(`${await code()}?utm_source=mail`), destination);
  });

  it('redirects a percent-encoded path', async () => {
    await code({ alias: 'per-cent' });
    expectRedirect(await bench.visit('per%2Dcent'), destination);
  });

  it('keeps the destination in Location unchanged', async () => {
    const destinations: readonly [string, string?][] = [
      ['https://example.com'],
      ['HTTPS://EXAMPLE.COM/Path'],
      ['http://example.com:80/a/../b/./c'],
      ['https://example.com/a%2Fb?q=%zz&r=a+b#frag%ment'],
      ['https://example.com/?a=[1]&b={2}|3^4`5"6\'7<8>9\\'],
      ['https://example.com/?next=https://other.example/'],
      ['https://example.com/a b', 'https://example.com/a%20b'],
      ['https://example.com/straße', 'https://example.com/stra%C3%9Fe'],
      ['https://example.com/?q=日本#🙂', 'https://example.com/?q=%E6%97%A5%E6%9C%AC#%F0%9F%99%82'],
      ['https://bücher.example', 'https://xn--bcher-kva.example'],
      ['https://bücher.example:8443/ü', 'https://xn--bcher-kva.example:8443/%C3%BC'],
    ];
    for (const [url, location = url] of destinations) {
      expectRedirect(await bench.visit(await code({ url })), location);
    }
  });

  describe('finds a pasted code', () => {
    it('without the characters after it', async () => {
      const known = await code();
      for (const suffix of ['.', '/', ').', '%20', '%E2%80%9D', '%E2%80%8B', '*_~', '?a=b', "'."]) {
        expectRedirect(await bench.visit(known + suffix), destination);
      }
      expectRedirect(await bench.visit(`${known}.`, { method: 'HEAD' }), destination);
      const preview = await bench.visit(`${known}.+`);
      expect(preview.text).to.include('<title>Link preview</title>');
    });

    it('only if there is no link with exactly this code', async () => {
      const url = `${destination}#exact`;
      await code({ alias: 'pasted' });
      expectRedirect(await bench.visit('pasted_'), destination);
      await code({ alias: 'pasted_', url });
      expectRedirect(await bench.visit('pasted_'), url);
      expectRedirect(await bench.visit('pasted_.'), url);
      expectRedirect(await bench.visit('pasted'), destination);
    });

    it('for every kind of link', async () => {
      const limited = await code({ maxClicks: 1 });
      expectPage(await bench.visit(`${limited}.`, agent(bots[0])), 200, 'A short link');
      expect((await bench.visit(`${limited}.`, { method: 'POST' })).status).to.equal(303);
      expect((await bench.visit(`${limited}.`)).status).to.equal(410);
      const refused = await bench.visit(`${limited}.`, { method: 'PUT' });
      expect(refused.headers.allow).to.equal('GET, HEAD, POST');
    });
  });

  describe('responds to Microsoft Office', () => {
    const office = agent('Mozilla/4.0 (compatible; ms-office; MSOffice 16)');

    /** The target of the page's refresh and link. */
    const refreshOf = (page: HttpResponse): string => {
      const [, refresh] =
        /<meta http-equiv="refresh" content="0;url=([^"]+)">/.exec(page.text) ?? [];
      const [, link] = /<a href="([^"]+)">/.exec(page.text) ?? [];
      expect(refresh).to.be.a('string').and.equal(link);
      return (refresh ?? '').replaceAll('&amp;', '&').slice(1);
    };

    it('with a page that redirects its browser to the link, counted once', async () => {
      for (const body of [{}, { maxClicks: 1 }]) {
        const visited = await code(body);
        const page = await bench.visit(`${visited}?qr&a="b`, office);
        expectPage(page, 200, 'Opening the link');
        const head = await bench.visit(visited, { ...office, method: 'HEAD' });
        expect([head.status, head.text]).to.deep.equal([200, '']);
        expect((await bench.stats(visited, pro.key)).clickCount).to.equal(0);
        const marked = refreshOf(page);
        expect(marked).to.match(new RegExp(`^${visited}\\?qr&a=.+&ms-office$`));
        // Office may open its own browser.
        expectRedirect(await bench.visit(marked, office), destination);
        await bench.expectClicks(visited, pro.key, 1);
      }
    });

    it('like to every other client for an unknown code', async () => {
      const [path, message] = ['/nothing0', 'Short URL not found'];
      expectError(await bench.visit('nothing0', office), { status: 404, message, path });
    });
  });

  describe('responds with 404', () => {
    const message = 'Short URL not found';
    const unknown = [
      ...['nothing0', 'ab', 'a'.repeat(51), 'a/b', 'a.b', 'nothing0.', 'nothing0_', 'v2/usage'],
      ...['%', '%ff', '%2e%2e', '/', '/example.com/a', '\\', '%00', '..', '../..//', ';x'],
    ];
    it('to unknown and invalid codes', async () => {
      for (const path of unknown) {
        expectError(await bench.visit(path), { status: 404, message, path: `/${path}` });
      }
    });

    it('without the query in the error’s path', async () => {
      const response = await bench.visit('nothing0?secret=1');
      expectError(response, { status: 404, message, path: '/nothing0' });
    });

    it('with a page for browsers', async () => {
      expectPage(await bench.visit('nothing0', html), 404, message);
    });

    it('with JSON for clients that do not accept text/html', async () => {
      for (const accept of ['*/*', 'application/json', 'text/*', 'text/html;q=0,*/*;q=0.1']) {
        const response = await bench.visit('nothing0', { headers: { Accept: accept } });
        expectError(response, { status: 404, message, path: '/nothing0' });
      }
    });

    it('without a body for HEAD', async () => {
      const response = await bench.visit('nothing0', { method: 'HEAD' });
      expect(response.status).to.equal(404);
      expect(response.text).to.equal('');
      expect(response.headers['cache-control']).to.equal('no-store');
    });
  });

  describe('with a click limit', () => {
    const message = 'This link has expired';

    it('redirects up to the limit, and responds with 410 afterwards', async () => {
      const limited = await code({ maxClicks: 3 });
      for (let click = 0; click < 3; click += 1) {
        expectRedirect(await bench.visit(limited), destination);
      }
      for (let later = 0; later < 3; later += 1) {
        expectError(await bench.visit(limited), {
          status: 410,
          message,
          path: `/${limited}`,
          errorType: 'EXPIRED',
        });
      }
      expectPage(await bench.visit(limited, html), 410, message);
      const head = await bench.visit(limited, { method: 'HEAD' });
      expect([head.status, head.text]).to.deep.equal([410, '']);
    });

    it('shows bots a form, sends HEAD no body, and spends no click on them', async () => {
      const limited = await code({ maxClicks: 1 });
      const [bot] = bots;
      for (const options of [agent(bot), { ...html, ...agent(bot) }]) {
        const response = await bench.visit(limited, options);
        expectPage(response, 200, 'A short link');
        expect(response.headers).not.to.have.property('location');
        expect(response.headers['content-security-policy']).to.include("form-action 'self' http:");
        expect(response.text)
          .to.include('<form method="post">\n<button type="submit">Continue</button>\n</form>')
          .and.not.to.include('<input');
      }
      for (const options of [{}, agent(bot)]) {
        const head = await bench.visit(limited, { method: 'HEAD', ...options });
        expect([head.status, head.text]).to.deep.equal([200, '']);
        expect(head.headers).not.to.have.property('location');
      }
      expect((await bench.stats(limited, pro.key)).clickCount).to.equal(0);
      expectRedirect(await bench.visit(limited), destination);
      expect((await bench.visit(limited)).status).to.equal(410);
      expect((await bench.visit(limited, agent(bot))).status).to.equal(410);
    });

    it('redirects every client that submits the form, and counts it as a person', async () => {
      const limited = await code({ maxClicks: 3 });
      const [bot] = bots;
      const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
      for (const headers of [{ 'User-Agent': bot ?? '', ...form }, form, {}]) {
        const response = await bench.visit(limited, { method: 'POST', headers });
        expect(response.status, response.text).to.equal(303);
        expect(response.headers).to.include({
          location: destination,
          'cache-control': 'private, no-store',
        });
      }
      const late = await bench.visit(limited, { method: 'POST', headers: form });
      const path = `/${limited}`;
      expectError(late, { status: 410, message, path, method: 'POST', errorType: 'EXPIRED' });
      await bench.expectClicks(limited, pro.key, 3);
    });

    it('allows GET, HEAD and POST', async () => {
      const limited = await code({ maxClicks: 3 });
      const response = await bench.visit(limited, { method: 'PUT' });
      const path = `/${limited}`;
      expectError(response, { status: 405, message: 'Method Not Allowed', path, method: 'PUT' });
      expect(response.headers.allow).to.equal('GET, HEAD, POST');
    });
  });

  describe('counts', () => {
    for (const userAgent of visitors) {
      it(`a visit by ${userAgent ?? 'no user agent'}`, async () => {
        const visited = await code();
        const limited = await code({ maxClicks: 5 });
        expect((await bench.visit(visited, agent(userAgent))).status).to.equal(302);
        expect((await bench.visit(limited, agent(userAgent))).status).to.equal(302);
        await bench.expectClicks(visited, pro.key, 1);
        await bench.expectClicks(limited, pro.key, 1);
      });
    }

    it('no visit by a bot, which is redirected', async () => {
      const visited = await code();
      for (const bot of bots) {
        expectRedirect(await bench.visit(visited, agent(bot)), destination);
      }
      // Visits are projected in order: this one comes after those of the bots.
      await bench.visit(visited);
      await bench.expectClicks(visited, pro.key, 1);
    });

    it('no HEAD', async () => {
      const visited = await code();
      for (let round = 0; round < 5; round += 1) await bench.visit(visited, { method: 'HEAD' });
      await bench.visit(visited);
      await bench.expectClicks(visited, pro.key, 1);
    });
  });

  it('rejects other methods', async () => {
    const known = await code();
    for (const path of [known, 'nothing0', '', 'health']) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const response = await bench.visit(path, { method });
        expectError(response, {
          status: 405,
          message: 'Method Not Allowed',
          path: `/${path}`,
          method,
        });
        expect(response.headers.allow, method).to.equal('GET, HEAD');
      }
    }
  });

  it('serves robots.txt and favicon.ico, which are never codes', async () => {
    const robots = await bench.visit('robots.txt');
    expect(robots.status).to.equal(200);
    expect(robots.headers['content-type']).to.match(/^text\/plain/);
    expect(robots.headers['cache-control']).to.equal('no-store');
    expect(robots.text).to.match(/^User-agent: \*$/m);
    const favicon = await bench.visit('favicon.ico');
    expect(favicon.status).to.be.oneOf([200, 204]);
    expect(favicon.headers['cache-control']).to.equal('no-store');
  });

  it('responds with 404 at its root', async () => {
    const message = 'Short URL not found';
    expectError(await bench.visit(''), { status: 404, message, path: '/' });
    expectPage(await bench.visit('', html), 404, message);
  });
});

describe('redirect edge with ROOT_REDIRECT and SHORT_URL_HOST', () => {
  const home = 'https://www.example.com/home';
  const bench = productFixture({ ROOT_REDIRECT: home, SHORT_URL_HOST: 'https://sho.rt/' });

  it('redirects its root to ROOT_REDIRECT', async () => {
    const response = await bench.visit('');
    expect(response.status).to.equal(302);
    expect(response.headers.location).to.equal(home);
    expect(response.headers['cache-control']).to.match(/no-store/);
  });

  it('removes the trailing slash of SHORT_URL_HOST', async () => {
    const { key } = await bench.key('PRO');
    const link = await bench.link(key);
    expect(link.shortUrl).to.equal(`https://sho.rt/${link.shortCode}`);
    expect((await bench.visit(link.shortCode)).headers.location).to.equal(destination);
  });

  it('rejects destinations on SHORT_URL_HOST, with the default port of either scheme', async () => {
    const { key } = await bench.key('PRO');
    for (const url of [
      'https://sho.rt/abc',
      'http://SHO.RT/abc',
      'http://sho.rt:443/',
      'https://sho.rt.',
    ]) {
      const response = await bench.shorten(key, { url });
      expect(response.status, url).to.equal(400);
    }
    expect((await bench.shorten(key, { url: 'https://sho.rt:8443/' })).status).to.equal(201);
    expect((await bench.shorten(key, { url: 'https://www.sho.rt/' })).status).to.equal(201);
  });
});
