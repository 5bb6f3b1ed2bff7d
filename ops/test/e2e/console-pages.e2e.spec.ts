import { expect } from 'chai';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { projectFile } from '../../platform/files/project-file.js';
import { browserFixture } from '../support/fixtures.js';
import {
  faultsInAllModes,
  openConsole,
  loadError,
  signIn,
  type ConsolePage,
} from '../support/console.js';
import { developerRoutes, openRoute } from '../support/console-pages.js';
import { walkNewcomersPath } from '../support/newcomer.js';
import type { IssuedKey } from '../support/product.js';
import { readQrCodes } from '../support/qr-reader.js';
import { eventually } from '../support/waiting.js';
import { destination, productFixture } from './harness.js';

describe('the console’s pages', () => {
  const bench = productFixture();
  const browser = browserFixture();
  let opened: ConsolePage;
  let page: Page;
  let key: IssuedKey;
  /** The faults that a test expects. */
  let provoked: readonly string[];

  beforeEach(async () => {
    key = await bench.key('PRO', { account: `console-${Date.now()}` });
    opened = await openConsole(browser, bench.product.api, { acceptDownloads: true });
    ({ page } = opened);
    provoked = [];
  });

  afterEach(async () => {
    await page.context().close();
    expect(opened.faults).to.deep.equal(provoked);
  });

  const goTo = (name: string): Promise<void> =>
    page.getByRole('link', { name, exact: true }).first().click();

  const createLink = async (url: string, alias: string): Promise<void> => {
    await page.getByLabel('Destination').fill(url);
    await page.getByLabel('Alias').fill(alias);
    await page.getByRole('button', { name: 'Create the link' }).click();
  };

  const button = (name: string) => page.getByRole('button', { name, exact: true });

  const linkIsLive = () => page.getByText('Your link is live').waitFor();

  it('load at most 100 KB of compressed JavaScript, in each console and language', async () => {
    const assets = projectFile('dist', 'command-api', 'console', 'client', 'assets');
    const scripts = (await readdir(assets)).filter((name) => name.endsWith('.js'));
    const packed = await Promise.all(
      scripts.map(async (name) => {
        const { length } = gzipSync(await readFile(path.join(assets, name)));
        return { name, length };
      }),
    );
    const [entries, catalogues] = [/^(?:index|operators)-/, /^texts-/];
    const sizesOf = (pattern: RegExp): readonly number[] =>
      packed.filter(({ name }) => pattern.test(name)).map(({ length }) => length);
    const shared = packed.filter(({ name }) => !entries.test(name) && !catalogues.test(name));
    expect([sizesOf(entries).length, sizesOf(catalogues).length]).to.deep.equal([2, 2]);
    // A browser loads one of the consoles, and the texts of one language.
    const loaded = shared.reduce((sum, { length }) => sum + length, 0);
    const largest = Math.max(...sizesOf(entries)) + Math.max(...sizesOf(catalogues));
    expect(loaded + largest).to.be.within(1, 100_000);
  });

  it('sign in with a key, by keyboard alone, and do not store it', async () => {
    await page.getByLabel('API key').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('ll_wrong');
    await page.keyboard.press('Enter');
    await page.getByText('Invalid or inactive API key.').waitFor();
    provoked = [loadError(401)];
    await page.getByLabel('API key').fill('');
    await page.getByLabel('API key').focus();
    await page.keyboard.type(key.key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();

    const stored = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
    );
    const cookies = JSON.stringify(await page.context().cookies());
    expect(stored + cookies).not.to.include(key.key);
    expect(stored).to.match(/^\[\{\},\{\},"",/);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.context().cookies()).to.deep.equal([]);
  });

  it('create a link that redirects immediately', async () => {
    await signIn(page, key.key);
    await goTo('New link');
    await page.getByText('More options').click();
    const texts = { title: 'عنوان 🎉', note: 'two\nlines', tags: ['sale', 'وسم'] };
    await page.getByLabel('Title').fill(texts.title);
    await page.getByLabel('Tags').fill(texts.tags.join(', '));
    await page.getByLabel('Note').fill(texts.note);
    await createLink(destination, 'from-the-console');
    await linkIsLive();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    const response = await bench.visit('from-the-console');
    expect(response.headers.location).to.equal(destination);
    const details = await bench.api('/v2/links/from-the-console', key.key);
    expect(details.json()).to.deep.include(texts);
  });

  it('show why a link is rejected, and keep the input', async () => {
    await signIn(page, key.key);
    await goTo('New link');
    await createLink(destination, 'login');
    await page.getByText('This alias is reserved and cannot be used').waitFor();
    provoked = [loadError(400)];
    expect(await page.getByLabel('Destination').inputValue()).to.equal(destination);
    expect(await page.getByLabel('Alias').inputValue()).to.equal('login');
    expect(await faultsInAllModes(page)).to.deep.equal([]);
  });

  it('create many links, and save them without formulas', async () => {
    await signIn(page, key.key);
    await goTo('New link');
    await goTo('Many links');
    const lines = Array.from({ length: 51 }, (_, index) => `https://example.com/${index}`);
    await page
      .getByLabel('Destinations')
      .fill([...lines, '=HYPERLINK("x")', '<img src=x>'].join('\n'));
    await page.getByLabel('Tags').fill('many, =1+1');
    await page.getByRole('button', { name: 'Create 53 links' }).click();
    await page.getByText('51 of 53 created').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    const table = await readFile(await download.path(), 'utf8');
    expect(table.split('\r\n')).to.have.length(55);
    const code = /([^/,]+),\r\n/.exec(table)?.[1] ?? '';
    const details = await bench.api(`/v2/links/${code}`, key.key);
    expect(details.json()).to.deep.include({ tags: ['many', '=1+1'] });
    expect(table).to.include(`"'=HYPERLINK(""x"")",,The URL must start with http:// or https://.`);
  });

  it('export the links of the current filter, and save statistics as CSV', async () => {
    const own = await bench.key('PRO', { account: 'exporting' });
    for (const alias of ['to-export', 'not-to-export']) {
      await bench.link(own.key, { alias, tags: alias === 'to-export' ? ['wanted'] : [] });
    }
    expect((await bench.visit('to-export')).status).to.equal(302);
    await bench.expectClicks('to-export', own.key, 1);
    await signIn(page, own.key);
    const download = async (role: 'button' | 'link', name: string): Promise<string> => {
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole(role, { name, exact: true }).click(),
      ]);
      return readFile(await saved.path(), 'utf8');
    };
    expect(await download('button', 'Download CSV of Clicks over time')).to.match(
      /^\ufeffstart,clicks,bots\r\n[^]*T00:00:00[+-]\d\d:\d\d,1,0\r\n/,
    );
    expect(await download('button', 'Download CSV of Countries')).to.equal(
      '\ufeffvalue,clicks\r\n,1\r\n',
    );
    await page.goto(`${bench.product.api}/console/links?tag=wanted`);
    const links = await download('link', 'Export');
    expect(links.split('\r\n')).to.have.length(3);
    expect(links).to.match(/^domain,code,.*\r\n,to-export,to-export,https:/);
    expect(await faultsInAllModes(page)).to.deep.equal([]);
  });

  it('compare the breakdowns of two periods, and save both as CSV for the browser’s locale', async () => {
    const own = await bench.key('PRO', { account: `comparing-${Date.now()}` });
    const { shortCode } = await bench.link(own.key);
    await bench.visit(shortCode, { headers: { Referer: 'https://news.example/' } });
    await bench.expectClicks(shortCode, own.key, 1);
    await page.context().close();
    opened = await openConsole(browser, bench.product.api, {
      acceptDownloads: true,
      locale: 'de-DE',
    });
    ({ page } = opened);
    await page.getByLabel('API-Schlüssel').fill(own.key);
    await button('Anmelden').click();
    await page.getByRole('heading', { name: 'Übersicht' }).waitFor();
    // The compared period is today.
    const day = (days: number): string =>
      new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const period = `period=custom&from=${day(1)}&to=${day(2)}&interval=day&tz=UTC&compare=1`;
    await page.goto(`${bench.product.api}/console/links/${shortCode}?${period}`);
    const card = page.getByRole('region', { name: 'Herkunft' });
    const row = card.getByRole('listitem');
    await row.getByText('news.example').waitFor();
    expect(await row.textContent()).to.match(/^news\.example-100\s%\s*1 →davor: 1\s*0$/);
    await page.getByText('verglichen mit').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      card.getByRole('button', { name: 'CSV herunterladen' }).click(),
    ]);
    expect(saved.suggestedFilename()).to.equal(`${shortCode}-referrers-${day(1)}-${day(1)}.csv`);
    expect(await readFile(await saved.path(), 'utf8')).to.equal(
      '\ufeffvalue;clicks;compared_clicks\r\nnews.example;0;1\r\n',
    );
    await page.goto(`${bench.product.api}/console?${period}`);
    const top = page.getByRole('region', { name: 'Meistgeklickte Links' });
    await top.getByRole('listitem').getByText('davor: 1').waitFor();
  });

  it('request a new session when the session ends, and continue', async () => {
    await signIn(page, key.key);
    await goTo('New link');
    await page.context().clearCookies();
    await createLink(destination, 'after-a-break');
    await page.getByText('Your session has ended').waitFor();
    provoked = [loadError(401)];
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await page.getByRole('dialog').getByLabel('API key').fill(key.key);
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
    await linkIsLive();
  });

  it('show no data of the previous account after a sign-in', async () => {
    const other = await bench.key('FREE', { account: 'another' });
    await signIn(page, key.key);
    await goTo('New link');
    await page.context().clearCookies();
    await createLink('https://example.com/secret', 'for-the-first');
    provoked = [loadError(401)];
    await page.getByRole('dialog').getByLabel('API key').fill(other.key);
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect((await bench.visit('for-the-first')).status).to.equal(404);
  });

  it('report a missing network, and retry', async () => {
    await signIn(page, key.key);
    await goTo('New link');
    await page.context().setOffline(true);
    await createLink(destination, 'back-online');
    await page.getByText('The service cannot be reached.').waitFor();
    provoked = ['Failed to load resource: net::ERR_INTERNET_DISCONNECTED'];
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Create the link' }).click();
    await linkIsLive();
  });

  it('count down while the rate limit is reached', async () => {
    const { key: free } = await bench.key('FREE');
    await signIn(page, free);
    await goTo('New link');
    await Promise.all(Array.from({ length: 60 }, () => bench.api('/v2/usage', free)));
    await createLink(destination, '');
    await page.getByText(/Rate limit exceeded\. .* You can try again in \d+ s\./).waitFor();
    provoked = [loadError(429)];
    expect(await faultsInAllModes(page)).to.deep.equal([]);
  });

  it('report maintenance', async () => {
    await signIn(page, key.key);
    // Pending requests of the overview would get 503 too.
    await page.goto(`${bench.product.api}/console/new`, { waitUntil: 'networkidle' });
    await bench.admin('PATCH', '/admin/platform', { maintenance: true });
    try {
      await createLink(destination, '');
      await page.getByText('Service is temporarily unavailable for maintenance').waitFor();
      provoked = [loadError(503)];
      expect(await faultsInAllModes(page)).to.deep.equal([]);
    } finally {
      await bench.admin('PATCH', '/admin/platform', { maintenance: false });
    }
  });

  it('lead a new user from the printed address to the first click and the sign-out', async () => {
    const { ready, edge } = bench.product;
    const { console: address } = ready as { readonly console: string };
    // In a stack, the address is that of the node that created the first key.
    await page.context().close();
    opened = await openConsole(browser, new URL(address).origin, { acceptDownloads: true });
    ({ page } = opened);
    await walkNewcomersPath(page, { address, edge });
    expect(await page.context().cookies()).to.deep.equal([]);
  });

  it('show the account of a one-time address, and confirm before they end a session', async () => {
    const other = await bench.key('HOBBY', { account: 'another-one', name: '<b>theirs</b>' });
    const issued = await bench.admin('POST', '/admin/console', { key: other.id });
    const { url } = issued.json() as { readonly url: string };
    await signIn(page, key.key);
    await page.goto('about:blank');
    await page.goto(url);
    await page.getByText('account another-one, key <b>theirs</b>.').waitFor();
    await page.getByText('That session ends.').waitFor();
    expect(page.url()).not.to.include('#');
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await button('No, thanks').click();
    await page.getByRole('banner').getByText(key.account).waitFor();

    await page.goto('about:blank');
    await page.goto(url);
    await button('Open it').click();
    await page.getByRole('banner').getByText('another-one').waitFor();
    await page.goto('about:blank');
    await page.goto(url);
    await page.getByText('This address was used').waitFor();
    provoked = [loadError(401)];
  });

  it('are accessible while they load, and without data', async () => {
    await signIn(page, key.key);
    const { api } = bench.product;
    for (const path of ['', '/links', '/domains', '/keys']) {
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route('**/console/v2/**', async (route) => {
        await released;
        await route.continue();
      });
      await page.goto(`${api}/console${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await faultsInAllModes(page), `${path}, waiting`).to.deep.equal([]);
      release();
      await page.unroute('**/console/v2/**');
      await page.getByText(/Begin here|^This account has no domains|^Created \w+ \d/).waitFor();
      expect(await faultsInAllModes(page), `${path}, empty`).to.deep.equal([]);
    }
    await page.goto(`${api}/console/links/nothing0`);
    await page.getByText('Short URL not found').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    provoked = [loadError(404), loadError(404)];
  });

  it('report a missing network on every page', async () => {
    const { shortCode } = await bench.link(key.key);
    await signIn(page, key.key);
    await page.goto(`${bench.product.api}/console/links/${shortCode}`);
    await page.locator('.plot canvas').waitFor();
    await page.context().setOffline(true);
    for (const name of ['History', 'Overview', 'Keys', 'Links', 'Domains', 'Webhooks']) {
      await goTo(name);
      await page.getByText('The service cannot be reached.').first().waitFor();
      expect(await faultsInAllModes(page), name).to.deep.equal([]);
    }
    await page.context().setOffline(false);
    await button('Try again').first().click();
    await page.getByText('The service cannot be reached.').waitFor({ state: 'detached' });
    expect(new Set(opened.faults)).to.deep.equal(
      new Set(['Failed to load resource: net::ERR_INTERNET_DISCONNECTED']),
    );
    provoked = [...opened.faults];
  });

  it('keep the period in the URL, so that Back works', async () => {
    await bench.link(key.key);
    await signIn(page, key.key);
    const period = page.getByRole('combobox', { name: 'Period' });
    await period.selectOption('7d');
    await page.waitForURL(/period=7d/);
    await page.reload();
    expect(await period.inputValue()).to.equal('7d');
    await page.goBack();
    await page.waitForURL(/console$/);
    expect(await period.inputValue()).to.equal('30d');

    const zone = page.getByLabel('Time zone');
    await zone.focus();
    await zone.selectOption('Asia/Tokyo');
    await page.waitForURL(/\?tz=Asia%2FTokyo$/);
    await period.selectOption('custom');
    await page.getByLabel('Compare').check();
    await page.waitForURL(/period=custom.*compare=1/);
    await page.getByText('As a table').click();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await page.getByRole('region').getByRole('link').first().click();
    await page.waitForURL(/interval=hour|period=custom&from=/);
  });

  it('find links among 2,000 by the query of the URL, page by page', async function () {
    this.timeout(120_000);
    const make = async (batch: number): Promise<void> => {
      const urls = Array.from({ length: 50 }, (_, index) => ({
        url: `https://${index === 7 ? 'other' : 'www'}.example/${batch}/${index}`,
        title: `number ${batch * 50 + index}`,
        ...(index === 9 && { tags: ['nine', 'مفتاح'] }),
      }));
      const call = { method: 'POST', body: { urls } };
      const { status } = await bench.api('/v2/shorten/batch', key.key, call);
      expect(status).to.equal(200);
    };
    // The newest two batches fill two pages of the list, so their order matters.
    const batches = Array.from({ length: 38 }, (_, batch) => batch).values();
    const work = async (): Promise<void> => {
      for (const batch of batches) await make(batch);
    };
    await Promise.all([work(), work(), work(), work()]);
    await make(38);
    await make(39);
    const newest = 'number 1999';
    await eventually('both batches are listed', async () => {
      const listed = await bench.api('/v2/links?limit=100', key.key);
      const { links } = listed.json() as { readonly links: readonly { readonly title: string }[] };
      return links.filter(({ title }) => /^number 19\d\d$/.test(title)).length === 100;
    });
    await signIn(page, key.key);
    await goTo('Links');
    await page.getByText(newest, { exact: true }).waitFor();
    expect(await page.locator('tbody tr').count()).to.equal(50);
    expect(await faultsInAllModes(page)).to.deep.equal([]);

    await goTo('Next page');
    await page.getByText('number 1949', { exact: true }).waitFor();
    expect(await page.getByText(newest, { exact: true }).count()).to.equal(0);
    await page.goBack();
    await page.getByText(newest, { exact: true }).waitFor();

    await page.getByLabel('Search').fill('NUMBER EXAMPLE/1');
    await page.getByLabel('Destination host').fill('OTHER.example');
    await page.keyboard.press('Enter');
    await page.waitForURL(/search=NUMBER\+EXAMPLE%2F1&destination=OTHER.example$/);
    // One link each of the batches 1 and 10 to 19.
    await page.getByText('number 957', { exact: true }).waitFor();
    expect(await page.locator('tbody tr').count()).to.equal(11);
    await page.reload();
    expect(await page.getByLabel('Search').inputValue()).to.equal('NUMBER EXAMPLE/1');
    await page.getByRole('link', { name: /Without the destination/ }).click();
    await eventually('a page is full', async () => (await page.locator('tbody tr').count()) === 50);
    expect(await page.getByLabel('Destination host').inputValue()).to.equal('');
    await goTo('Show all');
    await page.getByRole('link', { name: 'مفتاح' }).first().click();
    await page.waitForURL(/\?tag=/);
    await page.getByText('number 1909', { exact: true }).waitFor();
    await page.getByLabel('Search').fill('none has this');
    await page.keyboard.press('Enter');
    await page.getByText('No more links match.').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await page.goBack();
    await page.getByText('number 1909', { exact: true }).waitFor();
    expect(await page.getByLabel('Search').inputValue()).to.equal('');
  });

  it('change the selected links together', async () => {
    const aliases = ['bulk-one', 'bulk-two', 'bulk-three'];
    for (const alias of aliases) await bench.link(key.key, { alias, title: `the ${alias}` });
    await signIn(page, key.key);
    await goTo('Links');
    await eventually('all links are listed', async () => {
      await page.reload();
      await page.locator('tbody tr, h2').first().waitFor();
      return (await page.locator('tbody tr').count()) === aliases.length;
    });
    await page.getByLabel('Select all on this page').check();
    await page.getByLabel('Select bulk-three').uncheck();
    await page.getByText('2 links selected').waitFor();

    await button('Add tags').click();
    await page.getByRole('dialog').getByLabel('Tags').fill('=cmd, نص');
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: '=cmd' }).first().waitFor();
    await page.getByLabel('Select all on this page').check();
    await button('Disable').click();
    await eventually(
      'all three are disabled',
      async () =>
        (await page.locator('tbody').getByText('Disabled', { exact: true }).count()) === 3,
    );
    const changed = await bench.api('/v2/links/bulk-two', key.key);
    expect(changed.json()).to.deep.include({ status: 'disabled', tags: ['=cmd', 'نص'] });

    // The page does not learn of the deletion before the change.
    await page.route('**/console/session/changes', (route) => route.fulfill({ status: 204 }));
    await bench.api('/v2/links/bulk-one', key.key, { method: 'DELETE' });
    await page.getByLabel('Select bulk-one').check();
    await page.getByLabel('Select bulk-two').check();
    await button('Enable').click();
    await page.getByRole('alert').getByText('bulk-one').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await page.getByLabel('Select bulk-two').check();
    await button('Delete').click();
    const dialog = page.getByRole('dialog', { name: 'Delete 2 links?' });
    await dialog.getByText('the bulk-two').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByLabel('Select bulk-two').waitFor({ state: 'detached' });
    await eventually(
      'the link is deleted',
      async () => (await bench.visit('bulk-two')).status === 410,
    );
    expect((await bench.visit('bulk-three')).status).to.equal(410);
  });

  it('show user input as text only, on every page', async function () {
    this.timeout(120_000);
    const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>\u202Egnp.exe \u2066';
    // 2,048 characters: each percent-encoded angle bracket counts as three.
    const long = `https://example.com/<svg/onload=alert(3)>${'x'.repeat(2_003)}`;
    await bench.api('/v2/keys', key.key, { method: 'POST', body: { name: `${hostile} مفتاح 🎉` } });
    const { shortCode } = await bench.link(key.key, {
      url: long,
      title: hostile,
      note: `${hostile}\n=HYPERLINK("javascript:alert(4)")`,
      tags: ['<b>tag</b>', '\u202Egat', 'وسم 🎉'],
    });
    await bench.visit(shortCode, { headers: { Referer: 'https://xn--<script>.example/' } });
    for (let site = 0; site < 8; site += 1) {
      await bench.visit(shortCode, { headers: { Referer: `https://site-${site}.example/` } });
    }
    await bench.expectClicks(shortCode, key.key, 9);
    await signIn(page, key.key);
    const routes = developerRoutes(shortCode);
    for (const route of routes) {
      await openRoute(page, bench.product.api, route);
      expect(await faultsInAllModes(page), route.name).to.deep.equal([]);
      expect(await page.locator('main img, main script, main b, main svg').count()).to.equal(0);
    }
    await page.goto(`${bench.product.api}/console/links/${shortCode}`);
    await page.getByRole('button', { name: /^All \d+ Referrers$/ }).click();
    await page.getByRole('dialog').getByText('site-7.example').waitFor();
    expect(await faultsInAllModes(page), 'all referrers').to.deep.equal([]);
    await button('Close').click();
    await button('Languages').click();
    await page.goto(`${bench.product.api}/console/links/${shortCode}/settings`);
    expect(await page.getByLabel('Title').inputValue()).to.equal(hostile);
    expect(await page.getByLabel('Destination').inputValue()).to.equal(long);
  });

  it('are accessible in German, in all modes', async function () {
    this.timeout(120_000);
    const { shortCode } = await bench.link(key.key, { tags: ['deutsch'] });
    await bench.visit(shortCode);
    await bench.expectClicks(shortCode, key.key, 1);
    await page.context().close();
    opened = await openConsole(browser, bench.product.api, {
      locale: 'de-DE',
    });
    ({ page } = opened);
    await page.getByLabel('API-Schlüssel').fill(key.key);
    await button('Anmelden').click();
    await button('Abmelden').waitFor();
    for (const route of developerRoutes(shortCode)) {
      await openRoute(page, bench.product.api, route);
      expect(await faultsInAllModes(page), route.name).to.deep.equal([]);
    }
  });

  it('show a new change of an operator, and keep what is typed', async () => {
    const { shortCode } = await bench.link(key.key);
    await signIn(page, key.key);
    await page.goto(`${bench.product.api}/console/links/${shortCode}/settings`);
    await page.getByLabel('Title').fill('not saved yet');
    const block = `/admin/links/${shortCode}/block`;
    expect((await bench.admin('POST', block, { reason: 'phishing' })).status).to.equal(200);
    await page.getByText('It does not redirect because it was blocked.').waitFor();
    expect(await page.getByLabel('Title').inputValue()).to.equal('not saved yet');
  });

  it('create a QR code of a link, and save it as PNG and as SVG', async () => {
    const { shortCode, shortUrl } = await bench.link(key.key);
    await signIn(page, key.key);
    await page.goto(`${bench.product.api}/console/links/${shortCode}`);
    await goTo('QR code');
    await button('Create the QR code').click();
    await page.getByAltText(`QR code of ${shortCode}`).waitFor();
    const preview = page.getByRole('img', { name: 'Preview' });
    expect(await preview.count()).to.equal(0);
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    const save = async (type: string): Promise<Buffer> => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        button(`Save as ${type}`).click(),
      ]);
      return readFile(await download.path());
    };
    const images = [
      { format: 'png', bytes: await save('PNG') },
      { format: 'svg', bytes: await save('SVG') },
    ] as const;
    expect(await readQrCodes(images)).to.deep.equal([`${shortUrl}?qr`, `${shortUrl}?qr`]);
    await page.getByLabel('Margin').fill('2');
    await preview.waitFor();
  });

  it('change a link, show its history, disable, enable and delete it', async () => {
    const title = '<img src=x onerror=alert(1)> مرحبا 🎉';
    const { shortCode } = await bench.link(key.key);
    await signIn(page, key.key);
    await page.goto(`${bench.product.api}/console/links/${shortCode}/settings`);
    await page.getByLabel('Destination').fill('https://example.com/changed');
    await page.getByLabel('Title').fill(title);
    await button('Save').click();
    await page.getByRole('heading', { name: title }).waitFor();
    await eventually('the link redirects to the new destination', async () => {
      const { headers } = await bench.visit(shortCode);
      return headers.location === 'https://example.com/changed';
    });
    await goTo('History');
    await page.getByText('Link edited').waitFor();
    expect(await page.locator('main img').count()).to.equal(0);

    await goTo('Settings');
    await button('Disable').click();
    await button('Enable').waitFor();
    await eventually(
      'the link is disabled',
      async () => (await bench.visit(shortCode)).status === 410,
    );
    await button('Enable').click();
    await button('Disable').waitFor();
    await eventually(
      'the link redirects',
      async () => (await bench.visit(shortCode)).status === 302,
    );
    await button('Delete').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('because it was deleted').first().waitFor();
    await eventually(
      'the link is deleted',
      async () => (await bench.visit(shortCode)).status === 410,
    );
  });

  it('keep the input when the link was changed concurrently', async () => {
    const { shortCode } = await bench.link(key.key);
    await signIn(page, key.key);
    await page.goto(`${bench.product.api}/console/links/${shortCode}/settings`);
    await page.getByLabel('Title').fill('Mine');
    await bench.change(shortCode, key.key, { title: 'Another’s' });
    await button('Save').click();
    await page.getByRole('alert').waitFor();
    provoked = [loadError(412)];
    expect(await page.getByLabel('Title').inputValue()).to.equal('Mine');
  });

  const copySecret = async (): Promise<string> => {
    const dialog = page.getByRole('dialog', { name: 'Keep this key' });
    const secret = (await dialog.locator('code').textContent()) ?? '';
    await dialog.getByRole('button').last().click();
    return secret;
  };

  it('create a key with fewer scopes, rotate it, and revoke it', async () => {
    await signIn(page, key.key);
    await goTo('Keys');
    await page.getByLabel('Name').fill('only statistics');
    for (const scope of [
      'Create links',
      'Read links',
      'Change and delete',
      'Create QR',
      'Manage keys',
      'Manage domains',
      'Read events',
      'Manage webhooks',
    ]) {
      await page.getByLabel(scope).uncheck();
    }
    await button('Create key').click();
    await page.getByRole('dialog').waitFor();
    expect(await faultsInAllModes(page), 'the new key').to.deep.equal([]);
    const secret = await copySecret();
    expect((await bench.shorten(secret, { url: destination })).status).to.equal(403);
    expect((await bench.api('/v2/stats', secret)).status).to.equal(200);

    const row = page.getByRole('group', { name: 'only statistics' });
    const renamed = page.getByRole('group', { name: 'statistics alone' });
    const dialog = page.getByRole('dialog');
    await row.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByLabel('Name').fill('statistics alone');
    expect(await faultsInAllModes(page), 'change').to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await renamed.getByRole('button', { name: 'Rotate' }).click();
    await dialog.waitFor();
    expect(await faultsInAllModes(page), 'rotate').to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    const next = await copySecret();
    expect((await bench.api('/v2/stats', next)).status).to.equal(200);
    await eventually(
      'the old secret is rejected',
      async () => (await bench.api('/v2/stats', secret)).status === 401,
    );

    await renamed.getByRole('button', { name: 'Revoke' }).click();
    await dialog.waitFor();
    expect(await faultsInAllModes(page), 'revoke').to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await renamed.waitFor({ state: 'detached' });
    await eventually(
      'the key is revoked',
      async () => (await bench.api('/v2/stats', next)).status === 401,
    );
  });

  it('confirm before a key is deactivated, and name the effect on the session', async () => {
    await bench.api('/v2/keys', key.key, { method: 'POST', body: { name: 'the other' } });
    await signIn(page, key.key);
    await goTo('Keys');
    const other = page.getByRole('group', { name: 'the other' });
    const dialog = page.getByRole('dialog');
    await other.getByRole('button', { name: 'Deactivate' }).click();
    await dialog.getByText('Calls with the other are rejected').waitFor();
    expect(await faultsInAllModes(page), 'deactivate').to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.getByText('inactive', { exact: true }).count()).to.equal(0);
    await other.getByRole('button', { name: 'Deactivate' }).click();
    await dialog.getByRole('button', { name: 'Deactivate' }).click();
    await page.getByRole('status').getByText('The key was deactivated.').waitFor();
    await page.getByText('inactive', { exact: true }).waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Activate');
    await other.getByRole('button', { name: 'Activate' }).click();
    await page.getByText('The key was activated.').waitFor();

    const own = page.getByRole('group', { name: key.name });
    await own.getByRole('button', { name: 'Deactivate' }).click();
    await dialog.getByText('you will be signed out, and only an operator can undo this').waitFor();
    await dialog.getByRole('button', { name: 'Deactivate' }).click();
    await page.getByText('Your session has ended').waitFor();
    provoked = opened.faults.filter((fault) => fault === loadError(401));
    await bench.admin('PATCH', `/admin/keys/${key.id}`, { active: true });
  });

  it('select the scopes of a new key by a preset', async () => {
    await signIn(page, key.key);
    await goTo('Keys');
    const preset = page.getByLabel('Preset');
    expect(await preset.inputValue()).to.equal('read');
    expect(await page.getByLabel('Read statistics').isChecked()).to.equal(true);
    expect(await page.getByLabel('Manage keys').isChecked()).to.equal(false);
    await page.getByLabel('Manage keys').check();
    expect(await preset.inputValue()).to.equal('custom');
    await preset.selectOption('create');
    await page.getByLabel('Name').fill('creates links');
    await button('Create key').click();
    const secret = await copySecret();
    expect((await bench.shorten(secret, { url: destination })).status).to.equal(201);
    expect((await bench.api('/v2/keys', secret)).status).to.equal(403);
    expect(await preset.inputValue()).to.equal('read');
    await page.getByRole('listitem').filter({ hasText: 'creates links' }).waitFor();
  });

  it('name the scope that a page needs', async () => {
    const { key: reader } = await bench.key('PRO', { scopes: ['links:read'] });
    await signIn(page, reader);
    await page.getByText('This needs the scope “Read statistics” (stats:read)').waitFor();
    expect(await page.locator('main').getByRole('link', { name: 'New link' }).count()).to.equal(0);
    for (const [name, scope] of [
      ['keys', 'keys:manage'],
      ['domains', 'domains:manage'],
      ['webhooks', 'webhooks:manage'],
      ['imports', 'links:import'],
    ] as const) {
      await page.goto(`${bench.product.api}/console/${name}`);
      await page.getByText(`(${scope})`).waitFor();
      expect(await page.locator('main form').count(), name).to.equal(0);
    }
    expect(await faultsInAllModes(page)).to.deep.equal([]);
  });

  it('list the sessions, and end one or all', async () => {
    const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    const other = await openConsole(browser, bench.product.api, { userAgent });
    const signOut = page.getByRole('button', { name: 'Sign out Firefox' });
    await signIn(page, key.key);
    for (const isLast of [false, true]) {
      await signIn(other.page, key.key);
      await goTo('Sessions');
      const section = page.getByRole('region', { name: 'Sessions' });
      await section.getByText('this session').waitFor();
      await signOut.waitFor();
      if (isLast) continue;
      expect(await faultsInAllModes(page)).to.deep.equal([]);
      await signOut.click();
      await section.getByText('The session was ended.').waitFor();
      await signOut.waitFor({ state: 'detached' });
      await goTo('Overview');
      await other.page.getByText('Your session has ended').waitFor();
      await other.page.reload();
    }
    await button('Sign out everywhere').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('including this one').waitFor();
    await dialog.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByText('You are signed out everywhere.').waitFor();
    await page.getByLabel('API key').waitFor();
    expect(page.url()).to.equal(`${bench.product.api}/console`);
    await other.page.reload();
    await other.page.getByLabel('API key').waitFor();
    await other.page.context().close();
  });
});
