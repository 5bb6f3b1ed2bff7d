import { expect } from 'chai';
import type { LinkDetails } from '../../../schemas/http/links.js';
import type { AccountStatsResponse } from '../../../schemas/http/statistics.js';
import { newId } from '../../platform/new-id.js';
import { runLinklogCli } from '../support/command-line.js';
import { openConsole, signIn, signInAsOperator } from '../support/console.js';
import { browserFixture } from '../support/fixtures.js';
import type { HttpResponse } from '../support/http.js';
import { createImportedLinks } from '../support/imported-links.js';
import { startLinklogCli } from '../support/process.js';
import { serversFor } from '../support/product.js';
import { waitUntilProjected } from '../support/projected.js';
import { readQrCodes } from '../support/qr-reader.js';
import { eventuallyPasses } from '../support/waiting.js';
import { expectError, keyFixture, passwordForm, productFixture } from './harness.js';

const domain = 'codes.example.com';
const long = 'x'.repeat(190);
const longest = '🎉'.repeat(190);

/** The links of the tests: their subjects. */
const codes = ['1', 'a', 'Abc', 'abc', 'café', '🎉', 'a.b', long];
const subjects = [...codes, longest, '#️⃣', '~', `${domain}/café`, `${domain}/${longest}`];

const destinationOf = (subject: string): string =>
  `https://example.com/${subjects.indexOf(subject)}`;

/** The path of a link in the API, after `/v2/…/`. */
const addressOf = (subject: string): string => {
  const [code = '', on] = subject.split('/').reverse();
  return encodeURIComponent(code) + (on === undefined ? '' : `?domain=${on}`);
};

describe('product: codes of imported links', function () {
  this.timeout(60_000);
  const bench = productFixture({ SHORT_URL_HOST: 'https://sho.rt' });
  const browser = browserFixture();
  const pro = keyFixture(bench, 'PRO', { account: `imported-${newId()}` });

  before('create the links', async () => {
    const { account } = pro;
    expect((await bench.admin('POST', '/admin/domains', { domain, account })).status).to.equal(201);
    const links = subjects.map((code) => ({ code, url: destinationOf(code), title: 'Imported' }));
    await createImportedLinks(bench.product, pro, links);
  });

  const visit = (path: string, host = 'sho.rt', options = {}): Promise<HttpResponse> =>
    bench.visit(path, { headers: { Host: host }, ...options });
  const visitLink = (subject: string, end = ''): Promise<HttpResponse> => {
    const [code = '', host] = subject.split('/').reverse();
    return visit(encodeURIComponent(code) + end, host);
  };
  const details = async (subject: string): Promise<LinkDetails> => {
    const response = await bench.api(`/v2/links/${addressOf(subject)}`, pro.key);
    expect(response.status, response.text).to.equal(200);
    return response.json() as LinkDetails;
  };
  const runCli = async (run: typeof runLinklogCli, args: readonly string[]): Promise<string> => {
    const { dataDir } = bench.product;
    const env = { ...(await serversFor(dataDir)), DATA_DIR: dataDir };
    const said = await run(args, { SHORT_URL_HOST: 'https://sho.rt', ...env });
    expect([said.exitCode, said.stderr], args.join(' ')).to.deep.equal([0, '']);
    return said.stdout;
  };
  const cli = (...args: readonly string[]): Promise<string> => runCli(runLinklogCli, args);
  const json = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse(await cli(...args, '--json'));

  it('redirect, percent-encoded', async () => {
    for (const subject of subjects) {
      for (let visits = 1; visits <= 2; visits += 1) {
        const { status, headers } = await visitLink(subject);
        expect([status, headers.location], subject).to.deep.equal([302, destinationOf(subject)]);
      }
    }
  });

  it('redirect in NFD, and with characters that were pasted after them', async () => {
    for (const path of ['cafe%CC%81', 'caf%C3%A9.', 'caf%c3%a9%E2%80%9D', 'a.b.', 'a.b~)']) {
      const { headers } = await visit(path);
      const subject = path.startsWith('a') ? 'a.b' : 'café';
      expect(headers.location, path).to.equal(destinationOf(subject));
    }
  });

  it('respond with 404, never 500, to malformed and other codes', async () => {
    for (const path of [
      ...['%', '%ff', 'caf%E9', '%ED%A0%BC', '%00', 'a%E2%80%AEb', 'a%2Fb', '%2E', '%2e%2e'],
      ...['a%20b', 'a%E2%80%8Bb', '%25', `${long}x`, `${encodeURIComponent(longest)}x`],
    ]) {
      expect((await visit(path)).status, path).to.equal(404);
      for (const call of ['links', 'stats', 'qr']) {
        const response = await bench.api(`/v2/${call}/${path}`, pro.key);
        expect([response.status, call, path]).to.deep.equal([404, call, path]);
      }
      expect((await bench.admin('GET', `/admin/links/${path}/history`)).status).to.equal(404);
    }
    expectError(await bench.api('/v2/events?shortCode=a%20b', pro.key), {
      ...{ status: 400, message: 'shortCode must be a short code', path: '/v2/events' },
    });
  });

  it('have previews', async () => {
    for (const subject of subjects) {
      for (const end of ['+', '%2B']) {
        const { status, text } = await visitLink(subject, end);
        expect(status, subject).to.equal(200);
        expect(text).to.include(`<a href="${destinationOf(subject)}"`);
      }
    }
  });

  it('have exact click limits, passwords, and pages for Microsoft Office', async () => {
    await createImportedLinks(bench.product, pro, [
      { code: 'límite', maxClicks: 1 },
      { code: '🔑' },
    ]);
    const limited = encodeURIComponent('límite');
    expect((await visit(limited)).status).to.equal(302);
    expect((await visit(limited)).status).to.equal(410);
    const secret = encodeURIComponent('🔑');
    expect((await bench.change(secret, pro.key, { password: 'open sesame' })).status).to.equal(200);
    await eventuallyPasses(async () => {
      expect((await visit(secret)).status).to.equal(200);
    });
    expect((await visit(secret, 'sho.rt', passwordForm('wrong'))).status).to.equal(401);
    expect((await visit(secret, 'sho.rt', passwordForm('open sesame'))).status).to.equal(303);
    const office = { headers: { 'User-Agent': 'Mozilla/4.0 (compatible; ms-office)' } };
    const { text } = await bench.visit('caf%C3%A9', office);
    expect(text).to.include('content="0;url=/caf%C3%A9?ms-office"');
  });

  it('have statistics', async () => {
    await waitUntilProjected(bench.product.edges);
    const query = 'include=timeseries,triggers';
    for (const subject of subjects) {
      const separator = subject.includes('/') ? '&' : '?';
      const path = `/v2/stats/${addressOf(subject)}${separator}${query}`;
      const stats = (await bench.api(path, pro.key)).json();
      // `café` and `a.b` were also visited as pasted codes.
      const clickCount = subject === 'café' ? 5 : subject === 'a.b' ? 4 : 2;
      expect(stats, subject).to.deep.include({ clickCount, url: destinationOf(subject) });
      expect(stats).to.have.deep.property('triggers', [{ value: 'link', clicks: clickCount }]);
    }
    const top = await bench.api('/v2/stats?include=links&limit=100', pro.key);
    const { links = [] } = top.json() as AccountStatsResponse;
    const named = links.map((link) => `${link.domain ? `${link.domain}/` : ''}${link.shortCode}`);
    expect(named).to.include.members(subjects);
  });

  it('are in responses as text, and in short URLs percent-encoded', async () => {
    for (const subject of subjects) {
      const [code = '', on] = subject.split('/').reverse();
      expect(await details(subject)).to.deep.include({
        ...{ shortCode: code, alias: code, domain: on ?? null, status: 'active' },
        shortUrl: `https://${on ?? 'sho.rt'}/${encodeURIComponent(code)}`,
      });
    }
    expect(await details('cafe\u0301')).to.deep.equal(await details('café'));
  });

  it('are listed, page by page, and found', async () => {
    const list = async (query: string): Promise<string[]> => {
      const found: string[] = [];
      for (let next: string | null = ''; next !== null;) {
        const response = await bench.api(
          `/v2/links?limit=2&${query}${next && `&after=${next}`}`,
          pro.key,
        );
        expect(response.status, response.text).to.equal(200);
        const page = response.json() as { links: LinkDetails[]; next: string | null };
        found.push(
          ...page.links.map((link) => (link.domain ? `${link.domain}/` : '') + link.shortCode),
        );
        ({ next } = page);
      }
      return found;
    };
    for (const sort of ['created', 'clicks']) {
      const found = await list(`search=imported&sort=${sort}`);
      expect(found, sort).to.have.members(subjects);
    }
    expect(await list(`search=${encodeURIComponent('CAFE\u0301')}`)).to.have.members([
      ...['café', `${domain}/café`],
    ]);
    expect(await list(`domain=${domain}`)).to.have.members(subjects.slice(-2));
  });

  it('have QR codes, with less error correction for the longest ones', async () => {
    const images: { readonly format: 'png'; readonly bytes: Buffer }[] = [];
    for (const subject of subjects) {
      const separator = subject.includes('/') ? '&' : '?';
      const path = `/v2/qr/${addressOf(subject)}${separator}size=800&ecc=H`;
      const { status, bytes } = await bench.api(path, pro.key);
      expect(status, subject).to.equal(200);
      images.push({ format: 'png', bytes });
    }
    const urls = await Promise.all(
      subjects.map(async (subject) => (await details(subject)).shortUrl),
    );
    expect(await readQrCodes(images)).to.deep.equal(urls);
    const { qrCodes } = await bench.usage(pro.key);
    const path = `/v2/qr/${encodeURIComponent(longest)}`;
    expectError(await bench.api(`${path}?size=100`, pro.key), {
      ...{ status: 400, message: 'size must be at least 149 for this short URL', path },
    });
    expect((await bench.usage(pro.key)).qrCodes).to.equal(qrCodes);
  });

  it('are edited by API and in bulk, and have events', async () => {
    for (const subject of subjects) {
      const path = `/v2/links/${addressOf(subject)}`;
      const options = { method: 'PATCH', body: { note: 'a note' }, headers: { 'If-Match': '"1"' } };
      const changed = await bench.api(path, pro.key, options);
      expect(changed.status, changed.text).to.equal(200);
      expect(changed.json()).to.include({ note: 'a note', version: 2 });
      const history = await bench.api(path.replace(/\?|$/, '/history$&'), pro.key);
      expect(history.json()).to.have.property('events').with.length(2);
    }
    // In NFD, and as `domain/code`.
    const change = {
      shortCodes: [...subjects, 'unknown'].map((code) => code.normalize('NFD')),
      change: { addTags: ['bulk'] },
    };
    const bulk = await bench.api('/v2/links/bulk', pro.key, { method: 'POST', body: change });
    const { results } = bulk.json() as { results: { success: boolean; shortCode: string }[] };
    expect(results.map(({ success }) => success)).to.deep.equal([
      ...subjects.map(() => true),
      false,
    ]);
    expect(results[codes.indexOf('café')]).to.include({ shortCode: 'café', version: 3 });
    for (const [query, subject] of [
      [`shortCode=${encodeURIComponent('cafe\u0301')}`, 'café'],
      [`shortCode=${encodeURIComponent(longest)}&domain=${domain}`, `${domain}/${longest}`],
    ] as const) {
      await eventuallyPasses(async () => {
        const page = await bench.api(`/v2/events?${query}`, pro.key);
        const { events } = page.json() as { events: { subject: string; type: string }[] };
        expect(events.map(({ subject: found }) => found)).to.deep.equal([
          subject,
          subject,
          subject,
        ]);
      });
    }
  });

  it('are shown, edited, blocked and unblocked by the command line', async () => {
    for (const subject of subjects) {
      const [code = '', on = 'sho.rt'] = subject.split('/').reverse();
      const spellings = [
        subject,
        `https://${on}/${encodeURIComponent(code)}+`,
        subject.normalize('NFD'),
      ];
      for (const text of spellings) {
        expect(await json('links', 'show', text), text).to.include({ shortCode: code });
      }
      expect(await cli('links', 'edit', spellings[1] ?? '', '--title', 'by command')).to.include(
        'by command',
      );
      expect(await json('stats', subject)).to.include({ shortCode: code });
    }
    expect(await cli('links', 'block', 'cafe\u0301', '--reason', 'a test')).to.equal(
      'Blocked: café\n',
    );
    await eventuallyPasses(async () => {
      expect((await visitLink('café')).status).to.equal(410);
    });
    await cli('links', 'unblock', 'https://sho.rt/café', '--reason', 'a test');
    expect(await cli('links', 'history', 'café')).to.include('LinkUnblocked');
    await eventuallyPasses(async () => {
      expect((await visitLink('café')).status).to.equal(302);
    });
  });

  it('are opened and found in both consoles', async () => {
    const { api, admin, adminToken } = bench.product;
    const owners = await openConsole(browser, api);
    await signIn(owners.page, pro.key);
    for (const code of ['café', '🎉', 'a.b', '#️⃣']) {
      await owners.page.goto(`${api}/console/links/${encodeURIComponent(code)}/history`);
      await owners.page.getByText('Link created').waitFor();
    }
    await owners.page.goto(`${api}/console/links`);
    await owners.page.getByLabel('Search').fill('https://sho.rt/caf%C3%A9');
    await owners.page.getByRole('button', { name: 'Search' }).click();
    const cell = owners.page.getByRole('cell', { name: /^sho\.rt/ });
    await cell.getByRole('link', { name: /café$/ }).click();
    await owners.page.waitForURL('**/console/links/caf%C3%A9');
    expect(owners.faults).to.deep.equal([]);
    await owners.page.context().close();

    const operators = await openConsole(browser, admin);
    await signInAsOperator(operators.page, adminToken, 'ann');
    await operators.page.goto(`${admin}/console/links`);
    await operators.page.getByLabel('Short code or short URL').fill('https://sho.rt/cafe%CC%81+');
    await operators.page.getByRole('button', { name: 'Show the link' }).click();
    await operators.page.waitForURL('**/console/links/caf%C3%A9');
    await operators.page.getByText('Link created').waitFor();
    expect(operators.faults).to.deep.equal([]);
    await operators.page.context().close();
  });

  it('are subjects of the audit tools', async () => {
    const now = new Date().toISOString();
    for (const subject of subjects) {
      const [code = ''] = subject.split('/').reverse();
      expect(await json('audit', 'as-of', now, subject)).to.include({
        shortCode: code,
        state: 'active',
      });
    }
    expect(await cli('audit', 'verify')).to.include('every row matches the log');
    const streamed = (...args: readonly string[]): Promise<string> =>
      runCli((words, env) => startLinklogCli(words, env).ended, args);
    const history = await streamed('audit', 'history', 'https://sho.rt/caf%C3%A9', '--json');
    expect(JSON.parse(history)).to.include({ shortCode: 'café', domain: null });
    const events = await streamed(
      'audit',
      'replay',
      '--code',
      'cafe\u0301',
      '--type',
      'LinkCreated',
    );
    expect(JSON.parse(events)).to.include({ subject: 'café' });
  });

  it('are deleted by API and command line', async () => {
    for (const [index, subject] of subjects.entries()) {
      if (index % 2 === 0) {
        const options = { method: 'DELETE' };
        const deleted = await bench.api(`/v2/links/${addressOf(subject)}`, pro.key, options);
        expect(deleted.status, subject).to.equal(204);
      } else
        expect(await cli('links', 'delete', subject, '--yes')).to.equal(`Deleted: ${subject}\n`);
    }
    await eventuallyPasses(async () => {
      const visits = await Promise.all(subjects.map((subject) => visitLink(subject)));
      expect(visits.map(({ status }) => status)).to.deep.equal(subjects.map(() => 410));
    });
  });
});
