import { expect } from 'chai';
import type { LinkDetails } from '../../../schemas/http/links.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { destination, expectRefused, keyFixture, passwordForm, sharedProduct } from './harness.js';
import { importCalls } from './imports-harness.js';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const browser = { 'User-Agent': firefox, Accept: 'text/html' };
const [after, image] = ['https://after.example/?a=b', 'https://img.example/a.png'];
const card = { title: 'Sale', description: 'All "half" <price>', image };
const options = {
  redirectStatus: 307,
  expiredUrl: after,
  forwardPath: true,
  card,
} as const;
const warning = 'Browsers cache this redirect: repeated visits within 60 s are not counted';
const permanentLimited = 'A permanent redirect cannot have maxClicks or a password';

describe('options of a link', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'link-options' });
  const details = async (code: string): Promise<LinkDetails> =>
    (await bench.api(`/v2/links/${code}`, pro.key)).json() as LinkDetails;
  const change = async (code: string, body: object): Promise<object> =>
    (await bench.change(code, pro.key, body)).json() as object;

  it('are returned if they were set, by POST, the batch, GET and PATCH; null removes them', async () => {
    const created = await bench.link(pro.key, options);
    expect(created).to.deep.include(options);
    const code = created.shortCode;
    expect(await details(code)).to.deep.include(options);
    const none = { redirectStatus: null, expiredUrl: null, forwardPath: null, card: null };
    expect(await change(code, none)).not.to.have.any.keys(Object.keys(none));
    expect(await change(code, options)).to.deep.include(options);
    expect(await change(code, { forwardPath: false })).not.to.have.property('forwardPath');
    const permanent = { url: destination, redirectStatus: 301 };
    const urls = [{ url: destination, ...options }, permanent];
    const batch = await bench.api('/v2/shorten/batch', pro.key, { method: 'POST', body: { urls } });
    const { results } = batch.json() as { results: readonly object[] };
    expect(results[0]).to.deep.include(options).and.not.have.property('warning');
    expect(results[1]).to.include({ warning });
    const history = await bench.api(`/v2/links/${code}/history`, pro.key);
    const { events } = history.json() as { events: readonly { readonly data: object }[] };
    expect(events[0]?.data).to.deep.include(options);
    expect(events[1]?.data).to.deep.equal(none);
    await change(code, { forwardPath: true });
    await eventuallyPasses(async () => {
      const exported = await bench.api('/v2/export', pro.key);
      const [row = '{}'] = exported.text.split('\n').filter((line) => line.includes(code));
      expect(JSON.parse(row)).to.deep.include(options);
    });
    const admin = await bench.admin('GET', `/admin/links/${code}`);
    expect(admin.json()).to.deep.include({ redirectStatus: 307, expiredUrl: after });
  });

  it('are ignored by reuse', async () => {
    const url = 'https://reuse.link-options.example/';
    const { shortCode } = await bench.link(pro.key, { url, redirectStatus: 302 });
    const reused = await bench.shorten(pro.key, { url, reuse: true });
    expect([reused.status, reused.text]).to.satisfy(
      ([status, text]: [number, string]) => status === 201 && !text.includes(shortCode),
    );
    const optional = await bench.shorten(pro.key, { url, reuse: true, forwardPath: true });
    expectRefused(optional, 400, 'reuse can only be combined with url and domain');
  });

  it('are refused with the name of the field', async () => {
    const own = `${bench.product.edge}/abc`;
    const url = 'Please provide a valid URL';
    for (const [body, message, more] of [
      [{ redirectStatus: 304 }, 'redirectStatus must be one of: 301, 302, 303, 307, 308'],
      [{ redirectStatus: '301' }, 'redirectStatus must be one of: 301, 302, 303, 307, 308'],
      [{ expiredUrl: own }, `expiredUrl: ${url}`, { reason: 'ownHost' }],
      [{ expiredUrl: 'javascript:alert(1)' }, `expiredUrl: ${url}`, { reason: 'scheme' }],
      [{ forwardPath: 'yes' }, 'forwardPath must be true or false'],
      [{ card: 'Sale' }, 'card: must be an object'],
      [
        { card: { title: '' } },
        'card.title: must have 1 to 200 characters, none of them control characters',
      ],
      [
        { card: { ...card, title: 'x'.repeat(201) } },
        'card.title: must have 1 to 200 characters, none of them control characters',
      ],
      [
        { card: { ...card, description: 'x'.repeat(501) } },
        'card.description: must have 0 to 500 characters, none of them control characters',
      ],
      [{ card: { ...card, image: 'http://img.example/' } }, 'card.image: must be an https URL'],
      [
        { card: { ...card, image: 'javascript:alert(1)' } },
        `card.image: ${url}`,
        { reason: 'scheme' },
      ],
    ] as const) {
      expectRefused(
        await bench.shorten(pro.key, { url: destination, ...body }),
        400,
        message,
        more,
      );
    }
  });

  it('are checked by web safety where they are URLs', async () => {
    const unsafe = 'https://unsafe.link-options.example/';
    bench.safeBrowsing.listed.add('unsafe.link-options.example');
    const { shortCode } = await bench.link(pro.key);
    for (const body of [{ expiredUrl: unsafe }, { card: { ...card, image: unsafe } }]) {
      const refused = await bench.shorten(pro.key, { url: destination, ...body });
      expect(refused.status, refused.text).to.equal(400);
      const changed = await bench.change(shortCode, pro.key, body);
      expect([changed.status, changed.text]).to.deep.equal([400, changed.text]);
      expect((changed.json() as { message: string }).message).to.equal(
        (refused.json() as { message: string }).message,
      );
    }
  });

  describe('redirectStatus', () => {
    it('is the status of GET and HEAD; 301 and 308 may be cached for 60 s, with a warning', async () => {
      for (const redirectStatus of [301, 302, 303, 307, 308] as const) {
        const created = await bench.link(pro.key, { redirectStatus });
        const isPermanent = redirectStatus === 301 || redirectStatus === 308;
        expect((created as { warning?: string }).warning).to.equal(
          isPermanent ? warning : undefined,
        );
        for (const method of ['GET', 'HEAD']) {
          const visit = await bench.visit(created.shortCode, { method });
          expect(visit.status).to.equal(redirectStatus);
          expect(visit.headers.location).to.equal(destination);
          expect(visit.headers['cache-control']).to.equal(
            isPermanent ? 'private, max-age=60' : 'private, no-store',
          );
        }
        await bench.expectClicks(created.shortCode, pro.key, 1);
        expect(await details(created.shortCode)).not.to.have.property('warning');
      }
    });

    it('is changed with a warning, and on the edges within a second', async () => {
      const { shortCode } = await bench.link(pro.key);
      expect((await bench.visit(shortCode)).status).to.equal(302);
      expect(await change(shortCode, { redirectStatus: 308 })).to.include({ warning });
      await eventually('the new status', async () => {
        return (await bench.visit(shortCode)).status === 308;
      });
      expect(await change(shortCode, { title: 'x' })).not.to.have.property('warning');
      const changed = await bench.admin('PATCH', `/admin/links/${shortCode}`, {
        redirectStatus: 301,
      });
      expect(changed.json()).to.include({ redirectStatus: 301, warning });
    });

    it('cannot be permanent with a limit or a password', async () => {
      for (const limit of [{ maxClicks: 5 }, { password: 'a password' }]) {
        const body = { url: destination, redirectStatus: 301, ...limit };
        expectRefused(await bench.shorten(pro.key, body), 400, permanentLimited);
        const { shortCode } = await bench.link(pro.key, limit);
        const changed = await bench.change(shortCode, pro.key, { redirectStatus: 308 });
        expect(changed.json()).to.include({ statusCode: 400, message: permanentLimited });
      }
    });

    it('does not apply to a limited click and to a form', async () => {
      const limited = await bench.link(pro.key, { redirectStatus: 307, maxClicks: 5 });
      expect((await bench.visit(limited.shortCode, { headers: browser })).status).to.equal(302);
      const secured = await bench.link(pro.key, { redirectStatus: 307, password: 'a password' });
      const entered = await bench.visit(secured.shortCode, passwordForm('a password'));
      expect([entered.status, entered.headers.location]).to.deep.equal([303, destination]);
    });
  });

  describe('expiredUrl', () => {
    it('redirects browsers after the limit, without query and path, and is not counted', async () => {
      const { shortCode } = await bench.link(pro.key, {
        ...options,
        maxClicks: 1,
        forwardQuery: true,
      });
      expect((await bench.visit(shortCode, { headers: browser })).status).to.equal(302);
      for (const path of [shortCode, `${shortCode}/x?c=d`, shortCode]) {
        const visit = await bench.visit(path, { headers: browser });
        expect([visit.status, visit.headers.location]).to.deep.equal([302, after]);
        expect(visit.headers['cache-control']).to.include('no-store');
      }
      expect((await bench.visit(shortCode)).status).to.equal(410);
      await bench.expectClicks(shortCode, pro.key, 1);
    });

    it('redirects browsers after the end, before the expiredRedirect of the domain', async () => {
      const [domain, ofDomain] = ['go.link-options.example', 'https://domain-over.example/'];
      await bench.admin('POST', '/admin/domains', { domain, account: 'link-options' });
      const body = { expiredRedirect: ofDomain };
      await bench.api(`/v2/domains/${domain}`, pro.key, { method: 'PATCH', body });
      const ended = { url: destination, domain, expiresAt: '2021-05-01T00:00:00.000Z' };
      const links = [
        { ...ended, code: 'own-end', expiredUrl: after },
        { ...ended, code: 'plain-end' },
      ];
      const file = links.map((link) => `${JSON.stringify(link)}\n`).join('');
      await importCalls(bench).run(file, pro.key, '?format=linklog');
      for (const [code, location] of [
        ['own-end', after],
        ['plain-end', ofDomain],
      ] as const) {
        await eventuallyPasses(async () => {
          const visit = await bench.visit(code, { headers: { ...browser, Host: domain } });
          expect([visit.status, visit.headers.location]).to.deep.equal([302, location]);
        });
        expect((await bench.visit(code, { headers: { Host: domain } })).status).to.equal(410);
      }
    });

    it('does not apply to disabled, blocked and deleted links', async () => {
      for (const end of [
        (code: string) => change(code, { disabled: true }),
        (code: string) => bench.admin('POST', `/admin/links/${code}/block`, { reason: 'abuse' }),
        (code: string) => bench.api(`/v2/links/${code}`, pro.key, { method: 'DELETE' }),
      ]) {
        const { shortCode } = await bench.link(pro.key, { expiredUrl: after });
        await end(shortCode);
        await eventuallyPasses(async () => {
          const { status, headers } = await bench.visit(shortCode, { headers: browser });
          expect([status, headers.location]).to.deep.equal([410, undefined]);
        });
      }
    });
  });

  describe('forwardPath', () => {
    const url = 'https://docs.example/v1/?lang=en#top';

    it('appends the path before the query, and refuses paths that could leave the folder', async () => {
      const forwarding = { url, forwardPath: true, forwardQuery: true };
      const { shortCode } = await bench.link(pro.key, forwarding);
      for (const [path, location] of [
        ['/', url],
        ['/a/?x=y', 'https://docs.example/v1/a/?lang=en&x=y#top'],
        [`/${'x'.repeat(8_000)}`, `https://docs.example/v1/${'x'.repeat(8_000)}?lang=en#top`],
      ] as const) {
        const visit = await bench.visit(shortCode + path);
        expect([visit.status, visit.headers.location]).to.deep.equal([302, location]);
      }
      expect((await bench.visit(`${shortCode}/%2e%2E/a`)).status).to.equal(404);
      await bench.expectClicks(shortCode, pro.key, 3);
    });

    it('is kept by the password form, and is not in the visit', async () => {
      const { shortCode } = await bench.link(pro.key, {
        url,
        forwardPath: true,
        password: 'a password',
      });
      expect((await bench.visit(`${shortCode}/a`, { headers: browser })).status).to.equal(200);
      const entered = await bench.visit(`${shortCode}/a`, passwordForm('a password'));
      expect(entered.headers.location).to.equal('https://docs.example/v1/a?lang=en#top');
      const tables = await bench.dumpTables();
      for (const [name, rows] of tables) expect(rows, name).not.to.include(`${shortCode}/a`);
    });

    it('is not applied without the option: a longer path is 404, pasted characters are ignored', async () => {
      const { shortCode } = await bench.link(pro.key);
      for (const [path, status] of [
        ['/a', 404],
        ['/a/', 404],
        ['/', 302],
        ['/).', 302],
      ] as const) {
        expect((await bench.visit(shortCode + path)).status, path).to.equal(status);
      }
    });
  });

  describe('card', () => {
    const previewers = [
      'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
      'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
      'Twitterbot/1.0',
      'LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)',
      'WhatsApp/2.23.20.0',
      'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
      'TelegramBot (like TwitterBot)',
      'Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) (Applebot/0.1)',
      'Mozilla/5.0 (compatible; Pinterestbot/1.0; +http://www.pinterest.com/bot.html)',
      'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5',
    ];

    it('is a page of tags for previewers, which are no people', async () => {
      const { shortCode } = await bench.link(pro.key, { card });
      for (const agent of previewers) {
        const page = await bench.visit(shortCode, { headers: { 'User-Agent': agent } });
        expect(page.status, agent).to.equal(200);
        expect(page.headers).not.to.have.property('location');
        expect(page.headers['cache-control']).to.equal('no-store');
        expect(page.text).to.include('<meta property="og:title" content="Sale">');
        expect(page.text).to.include('content="All &quot;half&quot; &lt;price&gt;"');
        expect(page.text).to.include(`<meta name="twitter:image" content="${image}">`);
      }
      for (const agent of [firefox, 'Googlebot/2.1', 'curl/8.5.0']) {
        const visit = await bench.visit(shortCode, { headers: { 'User-Agent': agent } });
        expect(visit.status, agent).to.equal(302);
      }
      await eventuallyPasses(async () => {
        const stats = await bench.api(`/v2/stats/${shortCode}?include=bots`, pro.key);
        const { clickCount, bots } = stats.json() as { clickCount: number; bots: number };
        expect([clickCount, bots]).to.deep.equal([2, previewers.length + 1]);
      });
    });

    it('is escaped, with HTML and javascript: in every field', async () => {
      const html = '"><script>alert(1)</script>';
      const harmful = {
        title: `javascript:alert(1)${html}`,
        description: `${html}<!--'`,
        image: `https://img.example/a.png?q=${html}&b='`,
      };
      const link = await bench.link(pro.key, { card: harmful });
      expect(link).to.deep.include({ card: harmful });
      const headers = { 'User-Agent': 'Twitterbot/1.0' };
      const { status, text, headers: sent } = await bench.visit(link.shortCode, { headers });
      expect(status).to.equal(200);
      expect(text).not.to.match(/<script|<!--|=['"]?javascript:(?!alert\(1\)&quot;)|\son\w+=/i);
      expect(text).to.include('javascript:alert(1)&quot;&gt;&lt;script&gt;alert(1)');
      expect(sent['content-security-policy']).to.include("default-src 'none'");
    });

    it('does not show the destination of a link with a limit or a password', async () => {
      const headers = { 'User-Agent': 'Slackbot-LinkExpanding 1.0' };
      for (const limit of [{ maxClicks: 1 }, { password: 'a password' }]) {
        const { shortCode } = await bench.link(pro.key, { card, ...limit });
        const page = await bench.visit(shortCode, { headers });
        expect(page.status).to.equal(200);
        expect(page.text).to.include('og:title').and.not.to.include('example.com/somewhere');
        expect((await details(shortCode)).clicksLeft ?? 1).to.equal(1);
      }
    });
  });
});
