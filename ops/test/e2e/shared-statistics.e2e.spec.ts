import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import type { LinkDetails } from '../../../schemas/http/links.js';
import type { CreatedShareResponse, ShareResponse } from '../../../schemas/http/shares.js';
import type { StatsResponse } from '../../../schemas/http/statistics.js';
import { onStack } from '../support/product.js';
import { sendRequest, statuses, type HttpResponse, type RequestOptions } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import { eventually } from '../support/waiting.js';
import { eventPages } from './events-harness.js';
import {
  keyFixture,
  lacking,
  passwordForm,
  productFixture,
  sharedProduct,
  startSecondNode,
  timestampPattern,
} from './harness.js';

const asJson = { Accept: 'application/json' };
const harmful = '"><script>alert(1)</script>';

/** A new share as lists show it. */
const listed = ({ id, expiresAt, hasPassword, showDestination, createdAt }: ShareResponse) => ({
  ...{ id, expiresAt, hasPassword, showDestination, createdAt },
});

describe('shared statistics', () => {
  const bench = sharedProduct();
  const { page: events } = eventPages(bench);
  const account = 'shared-statistics';
  const pro = keyFixture(bench, 'PRO', { account });
  const other = keyFixture(bench, 'PRO', { account: `${account}-other` });

  let clients = 0;
  /** A client that no other test uses. */
  const newClient = (): { 'X-Forwarded-For': string } => {
    clients += 1;
    return { 'X-Forwarded-For': `203.0.${clients >> 8}.${clients & 255}` };
  };

  const post = (code: string, body: object = {}, key = pro.key): Promise<HttpResponse> =>
    bench.api(`/v2/links/${code}/share`, key, { method: 'POST', body });

  const share = async (code: string, body: object = {}): Promise<CreatedShareResponse> => {
    const response = await post(code, body);
    expect(response.status, response.text).to.equal(201);
    return response.json() as CreatedShareResponse;
  };

  const shareNew = async (body: object = {}, link: Record<string, unknown> = {}) => {
    const { shortCode: code } = await bench.link(pro.key, link);
    return { code, ...(await share(code, body)) };
  };

  const list = async (code: string): Promise<readonly ShareResponse[]> =>
    (
      (await bench.api(`/v2/links/${code}/share`, pro.key)).json() as {
        shares: readonly ShareResponse[];
      }
    ).shares;

  const end = (code: string, id: string, key = pro.key): Promise<HttpResponse> =>
    bench.api(`/v2/links/${code}/share/${id}`, key, { method: 'DELETE' });

  const open = (url: string, { headers, ...options }: RequestOptions = {}): Promise<HttpResponse> =>
    sendRequest(url, { ...options, headers: { ...newClient(), ...headers } });

  const openJson = async (url: string, headers: Record<string, string> = {}) =>
    (await open(url, { headers: { ...asJson, ...headers } })).json() as StatsResponse;

  const basic = (password: string, user = 'ann') => ({
    Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
  });

  const expectSafe = ({ headers, text }: HttpResponse): void => {
    expect(headers).to.include({
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    const policy = String(headers['content-security-policy']);
    expect(policy).to.match(/^default-src 'none';/);
    expect(policy).not.to.match(/script-src|unsafe|https?:|\*/);
    if (!String(headers['content-type']).startsWith('text/html')) return;
    expect(text).not.to.match(
      /<script|<link|<img|<iframe|\son\w+=|\s(?:src|href|style)=|url\(|@import/i,
    );
  };

  describe('POST /v2/links/:shortCode/share', () => {
    it('returns a secret address once, and the list has none', async () => {
      const before = Date.now();
      const { shortCode: code } = await bench.link(pro.key);
      const first = await share(code);
      expect(first).to.deep.equal({
        ...{ id: first.id, url: first.url, expiresAt: null, hasPassword: false },
        ...{ showDestination: false, createdAt: first.createdAt },
      });
      expect(first.createdAt).to.match(timestampPattern);
      expect(first.url).to.match(/^http:\/\/[^/]+\/s\/[\w-]{22}$/);
      expect(bench.product.apis).to.include(new URL(first.url).origin);
      const second = await share(code, {
        expiresIn: 60,
        password: 'sesame',
        showDestination: true,
      });
      expect(second).to.include({ hasPassword: true, showDestination: true });
      expect(Date.parse(second.expiresAt ?? '') - before).to.be.within(60_000, 75_000);
      expect(await list(code)).to.deep.equal([first, second].map(listed));
      const tables = [...(await bench.dumpTables()).values()].join('\n');
      for (const { url } of [first, second]) expect(tables).not.to.include(url.slice(-22));
      expect(tables).not.to.include('sesame');
    });

    it('refuses fields outside their bounds, unknown, foreign and deleted links, and keys without links:write', async () => {
      const { shortCode: code } = await bench.link(pro.key);
      for (const body of [
        ...[59, 315_360_001, 60.5, '60'].map((expiresIn) => ({ expiresIn })),
        ...[{ password: 'abc' }, { password: 1 }, { showDestination: 'yes' }, []],
      ]) {
        expect((await post(code, body)).status, JSON.stringify(body)).to.equal(400);
      }
      await share(code, { expiresIn: 315_360_000 });
      for (const [response, status] of [
        [await post('no-such-link'), 404],
        [await post(code, {}, other.key), 404],
        [await bench.api(`/v2/links/${code}/share`, other.key), 404],
        [await end(code, (await list(code))[0]?.id ?? '', other.key), 404],
        [await end(code, 'no-such-share'), 404],
      ] as const) {
        expect(response.status).to.equal(status);
      }
      const reader = await bench.key('PRO', { account, scopes: ['links:read', 'stats:read'] });
      expect((await post(code, {}, reader.key)).json()).to.deep.equal(lacking('links:write'));
      await bench.api(`/v2/links/${code}`, pro.key, { method: 'DELETE' });
      expect((await post(code)).json()).to.include({ statusCode: 410, errorType: 'DELETED' });
    });

    it('creates exactly 10 of 20 concurrent shares; an ended or expired one makes room', async () => {
      const { shortCode: code } = await bench.link(pro.key);
      const responses = await Promise.all(Array.from({ length: 20 }, () => post(code)));
      const refused = responses.filter(({ status }) => status === 400);
      expect(responses.filter(({ status }) => status === 201)).to.have.length(10);
      expect(refused).to.have.length(10);
      expect(refused[0]?.json()).to.include({ message: 'At most 10 shares a link' });
      const [first, second] = await list(code);
      await end(code, first?.id ?? '');
      await share(code);
      expect((await post(code)).status).to.equal(400);
      await withLedger(bench.product, (client) =>
        client.query('UPDATE ledger.shares SET expires_at = now() WHERE id = $1', [second?.id]),
      );
      await share(code);
      expect(await list(code)).to.have.length(10);
    });

    it('raises no version of the link, and its events are in the feed without secrets', async () => {
      const { code, id } = await shareNew({ password: 'sesame' });
      await end(code, id);
      const link = (await bench.api(`/v2/links/${code}`, pro.key)).json() as LinkDetails;
      expect(link.version).to.equal(1);
      await eventually('both events are in the feed', async () => {
        const { events: found } = await events(
          pro.key,
          'types=StatisticsShared,ShareEnded&limit=1000',
        );
        const own = found.filter(({ subject }) => subject === id);
        if (own.length < 2) return false;
        expect(own.map(({ type, sequence, data }) => [type, Number(sequence), data])).to.deep.equal(
          [
            [
              ...['linklog.StatisticsShared.v1', 1],
              { link: code, expiresAt: null, showDestination: false },
            ],
            ['linklog.ShareEnded.v1', 2, { link: code }],
          ],
        );
        return true;
      });
    });
  });

  describe('the page', () => {
    it('shows total, series and breakdowns without a key, a script or a request to another host', async () => {
      const { code, url } = await shareNew({}, { title: `Owner's <title>` });
      for (const language of ['de', 'fr']) {
        await bench.visit(code, {
          headers: {
            'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Firefox/128.0',
            'Accept-Language': language,
          },
        });
      }
      await bench.expectClicks(code, pro.key, 2);
      const page = await open(url);
      expect(page.status).to.equal(200);
      expect(page.headers['content-type']).to.equal('text/html; charset=utf-8');
      expectSafe(page);
      expect(page.text).to.include('<html lang="en">').and.include('<td>2</td>');
      expect(page.text).to.include('<svg').and.include('French').and.include('Firefox');
      expect(page.text).not.to.match(/visitor-days|example\.com|owner/i);
      expect((page.text.match(/<rect/g) ?? []).length).to.be.within(30, 31);
      const german = await open(url, { headers: { 'Accept-Language': 'de-AT,en;q=0.5' } });
      expect(german.text).to.include('<html lang="de">').and.include('Französisch');
      const head = await open(url, { method: 'HEAD' });
      expect([head.status, head.text]).to.deep.equal([200, '']);
      expectSafe(head);
    });

    it('returns the fields of include=all without uniques and url as JSON, in UTC or in tz', async () => {
      const { code, url } = await shareNew();
      await bench.visit(code);
      await bench.expectClicks(code, pro.key, 1);
      const {
        url: destination,
        uniques,
        ...stats
      } = (await bench.api(`/v2/stats/${code}?include=all`, pro.key)).json() as StatsResponse;
      const shown = await openJson(url);
      expect(Object.keys(shown)).to.deep.equal(Object.keys(stats));
      expect(shown).to.include({ shortCode: code, clickCount: 1 });
      expect(shown.period?.tz).to.equal('UTC');
      expect(shown.timeseries?.some((interval) => 'uniques' in interval)).to.equal(false);
      expect([destination, uniques]).not.to.include(undefined);
      const zoned = await openJson(`${url}?tz=Asia%2FKathmandu`);
      expect(zoned.period?.tz).to.equal('Asia/Kathmandu');
      expect(zoned.timeseries?.[0]?.start).to.match(/\+05:45$/);
      const wrong = await open(`${url}?tz=Mars`);
      expect([wrong.status, wrong.text.includes('IANA')]).to.deep.equal([400, true]);
      expectSafe(wrong);
    });

    it('shows the destination only with showDestination, escaped, and never that of a blocked link', async () => {
      const link = { url: `https://example.com/?q=${harmful}&b=2` };
      const { code, url } = await shareNew({ showDestination: true }, link);
      const page = await open(url);
      expectSafe(page);
      expect(page.text).to.include('q=&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;b=2');
      expect(await openJson(url)).to.include({ url: link.url });
      await bench.change(code, pro.key, { disabled: true });
      expect((await open(url)).status).to.equal(200);
      await bench.admin('POST', `/admin/links/${code}/block`, { reason: 'test' });
      const blocked = await open(url);
      expect([blocked.status, blocked.text.includes('alert')]).to.deep.equal([200, false]);
      expect(await openJson(url)).not.to.have.property('url');
    });

    it('is 404 if ended, expired, unknown or forged, and 410 if the link was deleted', async () => {
      const { code, id, url } = await shareNew();
      const expired = await share(code, { expiresIn: 60 });
      const gone = await share(code);
      await withLedger(bench.product, (client) =>
        client.query('UPDATE ledger.shares SET expires_at = now() WHERE id = $1', [expired.id]),
      );
      expect((await end(code, id)).status).to.equal(204);
      expect((await end(code, id)).status).to.equal(404);
      const [origin, token] = [new URL(url).origin, gone.url.slice(-22)];
      for (const address of [
        ...[url, expired.url, `${gone.url}/`, `${gone.url}a`, `${gone.url}%00`, `${gone.url}%zz`],
        ...['', '/', '/%', '/%e0%a4', '/..%2f', `/${token.toUpperCase()}!`, `//${token}`].map(
          (path) => `${origin}/s${path}`,
        ),
        `${origin}/s/${randomBytes(16).toString('base64url')}`,
      ]) {
        const page = await open(address);
        expect(page.status, address).to.equal(404);
        expectSafe(page);
        const json = await open(address, { headers: asJson });
        expect(json.json(), address).to.include({ statusCode: 404, message: 'Share not found' });
      }
      await bench.api(`/v2/links/${code}`, pro.key, { method: 'DELETE' });
      const deleted = await open(gone.url);
      expect(deleted.status).to.equal(410);
      expectSafe(deleted);
      expect(await openJson(gone.url)).to.include({ statusCode: 410, errorType: 'DELETED' });
    });

    it('answers other methods, large cookies and malformed forms clearly', async () => {
      const { url } = await shareNew({ password: 'sesame' });
      for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
        const response = await open(url, { method });
        expect([response.status, response.headers.allow]).to.deep.equal([405, 'GET, HEAD, POST']);
      }
      const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
      for (const [status, body, headers] of [
        [415, '{}', { 'Content-Type': 'application/json' }],
        [413, 'x'.repeat(5_000), type],
        [400, 'password=%ff', type],
        [401, '', type],
        [401, 'password=%zz', type],
        [401, `password=${'a'.repeat(500)}`, type],
        [303, 'password=sesame&password=sesam', type],
      ] as const) {
        expect((await open(url, { method: 'POST', body, headers })).status, body).to.equal(status);
      }
      for (const cookie of [
        'x'.repeat(8_000),
        'linklog_share=',
        `linklog_share=${'9'.repeat(4_000)}`,
      ]) {
        const page = await open(url, { headers: { Cookie: cookie } });
        expect([page.status, page.text.includes('<form')]).to.deep.equal([200, true]);
      }
    });
  });

  describe('a password', () => {
    it('is entered in a form; the right one sets a cookie of the path, which shows the page', async () => {
      const { url } = await shareNew({ password: 'open sesame' });
      const form = await open(url, { headers: { 'Accept-Language': 'de' } });
      expect([form.status, form.text.includes('Passwort nötig')]).to.deep.equal([200, true]);
      expect(form.text).not.to.include('<svg');
      expectSafe(form);
      const wrong = await open(url, passwordForm('open'));
      expect([wrong.status, wrong.text.includes('role="alert"')]).to.deep.equal([401, true]);
      expect(wrong.headers['set-cookie']).to.equal(undefined);
      const right = await open(`${url}?tz=Europe/Berlin`, passwordForm('open sesame'));
      const path = new URL(url).pathname;
      expect(right.status).to.equal(303);
      expect(right.headers.location).to.equal(`${path}?tz=Europe%2FBerlin`);
      const [cookie = ''] = right.headers['set-cookie'] ?? [];
      expect(cookie).to.match(
        new RegExp(
          `^linklog_share=\\d{10}\\.[\\w-]{22}; Path=${path}; Max-Age=86400; HttpOnly; SameSite=Lax$`,
        ),
      );
      const [Cookie = ''] = cookie.split(';');
      expect((await open(url, { headers: { Cookie } })).text).to.include('<svg');
      const secure = await open(
        url,
        passwordForm('open sesame', { headers: { 'X-Forwarded-Proto': 'https' } }),
      );
      expect(secure.headers['set-cookie']?.[0]).to.match(/; Secure$/);
      const another = await shareNew({ password: 'open sesame' });
      const later = Cookie.replace(/\d{10}/, (end) => String(Number(end) + 60));
      for (const [address, forged] of [
        [another.url, Cookie],
        [url, later],
        [url, Cookie.replace(/\d{10}/, '9999999999')],
        [url, Cookie.slice(0, -1)],
      ] as const) {
        expect((await open(address, { headers: { Cookie: forged } })).text).to.include('<form');
      }
    });

    it('is that of Authorization: Basic for JSON, with any user name', async () => {
      const { url } = await shareNew({ password: 'pass:wörd' });
      const missing = await open(url, { headers: asJson });
      expect(missing.status).to.equal(401);
      expect(missing.headers['www-authenticate']).to.match(/^Basic realm=/);
      expect((await open(url, { headers: { ...asJson, ...basic('pass') } })).status).to.equal(401);
      for (const user of ['', 'ann', 'Jörg']) {
        expect(await openJson(url, basic('pass:wörd', user))).to.include({ clickCount: 0 });
      }
      for (const value of [
        'Basic',
        'Basic !',
        'Basic YQ==',
        'Bearer x',
        `Basic ${'Q'.repeat(8_000)}`,
      ]) {
        const response = await open(url, { headers: { ...asJson, Authorization: value } });
        expect(response.status, value).to.equal(401);
      }
    });

    it('may be wrong ten times a minute and address, over all shares', async () => {
      const urls = await Promise.all(
        [1, 2].map(async () => (await shareNew({ password: 'sesame' })).url),
      );
      const client = newClient();
      const guess = (index: number, password = 'wrong', headers: object = client) =>
        open(urls[index % 2] ?? '', passwordForm(password, { headers: { ...headers } }));
      const guesses = await Promise.all(Array.from({ length: 30 }, (_, index) => guess(index)));
      const count = (status: number) =>
        guesses.filter((guessed) => guessed.status === status).length;
      expect([count(401), count(429)]).to.deep.equal([10, 20]);
      const refused = await guess(0, 'sesame');
      expect(refused.status).to.equal(429);
      expect(Number(refused.headers['retry-after'])).to.be.within(1, 60);
      const json = await open(urls[0] ?? '', {
        headers: { ...client, ...asJson, ...basic('sesame') },
      });
      expect(json.status).to.equal(429);
      expect((await guess(0, 'sesame', newClient())).status).to.equal(303);
    });
  });

  it('admits 60 requests a minute for each address and for each token', async () => {
    const [first, second] = [await shareNew(), await shareNew()];
    const client = newClient();
    const byAddress = await Promise.all(
      Array.from({ length: 70 }, () => open(first.url, { headers: client })),
    );
    const limited = byAddress.filter(({ status }) => status === 429);
    expect(limited).to.have.length(10);
    expect(Number(limited[0]?.headers['retry-after'])).to.be.within(1, 60);
    for (const response of limited) expectSafe(response);
    expect((await open(second.url, { headers: client })).status).to.equal(429);
    expect((await open(first.url)).status).to.equal(429);
    const byToken = await Promise.all(Array.from({ length: 70 }, () => open(second.url)));
    // A busy machine may respond with 503 to an admitted request.
    expect(statuses(byToken)).to.include({ 429: 10 });
  });

  it('answers 10,000 guessed tokens with 404 or 429', async () => {
    const { url } = await shareNew();
    const origin = new URL(url).origin;
    const counts = new Map<number, number>();
    const flooder = async (): Promise<void> => {
      for (let guess = 0; guess < 200; guess += 1) {
        const address = `${origin}/s/${randomBytes(16).toString('base64url')}`;
        const headers = { 'X-Forwarded-For': `192.0.2.${guess % 4}` };
        const { status } = await sendRequest(address, { headers });
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 50 }, flooder));
    expect([...counts.keys()]).to.have.members([404, 429]);
    // Four addresses, in at most two minutes.
    expect(counts.get(404)).to.be.within(240, 480);
    expect((await open(url)).status).to.equal(200);
  });

  it('is offered to operators for links of any account', async () => {
    const { shortCode: code } = await bench.link(pro.key);
    const path = `/admin/links/${code}/share`;
    const created = (
      await bench.admin('POST', path, { expiresIn: 60 })
    ).json() as CreatedShareResponse;
    expect((await open(created.url)).status).to.equal(200);
    expect((await bench.admin('GET', path)).json()).to.deep.equal({ shares: [listed(created)] });
    expect((await bench.admin('DELETE', `${path}/${created.id}`)).status).to.equal(204);
    expect((await open(created.url)).status).to.equal(404);
    expect((await bench.admin('POST', '/admin/links/no-such-link/share', {})).status).to.equal(404);
  });
});

describe('shared statistics on two nodes', () => {
  const bench = productFixture({ LOG_LEVEL: 'info' });
  const pro = keyFixture(bench, 'PRO');

  it('have one limit of wrong passwords and of requests, end on both, and leave no token in the log', async () => {
    // A stack has two nodes.
    const second = onStack ? null : await startSecondNode(bench.product);
    const [first = '', other = ''] = [...bench.product.apis, ...(second?.apis ?? [])];
    try {
      const { shortCode: code } = await bench.link(pro.key);
      const path = `/v2/links/${code}/share`;
      const created = await bench.api(path, pro.key, {
        method: 'POST',
        body: { password: 'sesame' },
      });
      const { id, url } = created.json() as CreatedShareResponse;
      const { pathname } = new URL(url);
      const open = (index: number, options?: RequestOptions) =>
        sendRequest((index % 2 === 0 ? first : other) + pathname, options);
      const statusesOf = async (count: number, options?: RequestOptions) => {
        const opened = Array.from({ length: count }, (_, index) => open(index, options));
        return (await Promise.all(opened)).map(({ status }) => status);
      };
      const guesses = await statusesOf(20, passwordForm('wrong'));
      expect(guesses.filter((status) => status === 401)).to.have.length(10);
      expect(guesses.filter((status) => status === 429)).to.have.length(10);
      const requests = await statusesOf(60);
      expect(requests.filter((status) => status === 200)).to.have.length(40);
      expect(requests.filter((status) => status === 429)).to.have.length(20);
      await withLedger(bench.product, (client) => client.query('DELETE FROM ledger.share_tries'));
      expect((await bench.api(`${path}/${id}`, pro.key, { method: 'DELETE' })).status).to.equal(
        204,
      );
      expect(await statusesOf(2)).to.deep.equal([404, 404]);
      const log = bench.product.stderr();
      expect(log).to.include('/s/:token').and.not.to.include(pathname);
    } finally {
      await second?.stop();
      await second?.cleanup();
    }
  });
});
