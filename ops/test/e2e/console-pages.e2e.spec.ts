import { expect } from 'chai';
import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../support/browser.js';
import {
  faultsOfPage,
  openConsole,
  refusedWith,
  signIn,
  type ConsolePage,
} from '../support/console.js';
import type { IssuedKey } from '../support/product.js';
import { eventually } from '../support/waiting.js';
import { destination, withProduct } from './harness.js';

describe('the console’s pages', () => {
  const bench = withProduct();
  let browser: Browser;
  let opened: ConsolePage;
  let page: Page;
  let key: IssuedKey;
  /** The faults that a test brings about itself. */
  let provoked: readonly string[];

  before(async () => {
    browser = await launchBrowser();
  });

  after(() => browser.close());

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

  const makeLink = async (url: string, alias: string): Promise<void> => {
    await page.getByLabel('Destination').fill(url);
    await page.getByLabel('Alias').fill(alias);
    await page.getByRole('button', { name: 'Make the link' }).click();
  };

  const button = (name: string) => page.getByRole('button', { name, exact: true });

  const made = () => page.getByText('Your link is live').waitFor();

  it('sign in a person with a key, by keyboard alone, and keep it nowhere', async () => {
    await page.getByLabel('API key').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('ll_wrong');
    await page.keyboard.press('Enter');
    await page.getByText('Invalid or inactive API key.').waitFor();
    provoked = [refusedWith(401)];
    await page.getByLabel('API key').fill('');
    await page.getByLabel('API key').focus();
    await page.keyboard.type(key.key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();

    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
    );
    const cookies = JSON.stringify(await page.context().cookies());
    expect(kept + cookies).not.to.include(key.key);
    expect(kept).to.match(/^\[\{\},\{\},"",/);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.context().cookies()).to.deep.equal([]);
  });

  it('make a link that redirects at once', async () => {
    await signIn(page, key.key);
    await goTo('New link');
    await makeLink(destination, 'from-the-console');
    await made();
    const answer = await bench.visit('from-the-console');
    expect(answer.headers.location).to.equal(destination);
  });

  it('say what is wrong with a link, and keep what was typed', async () => {
    await signIn(page, key.key);
    await goTo('New link');
    await makeLink(destination, 'login');
    await page.getByText('This alias is reserved and cannot be used').waitFor();
    provoked = [refusedWith(400)];
    expect(await page.getByLabel('Destination').inputValue()).to.equal(destination);
    expect(await page.getByLabel('Alias').inputValue()).to.equal('login');
  });

  it('make many links, and save them without formulas', async () => {
    await signIn(page, key.key);
    await goTo('New link');
    await goTo('Many links');
    const lines = Array.from({ length: 51 }, (_, index) => `https://example.com/${index}`);
    await page
      .getByLabel('Destinations')
      .fill([...lines, '=HYPERLINK("x")', '<img src=x>'].join('\n'));
    await page.getByRole('button', { name: 'Make 53 links' }).click();
    await page.getByText('51 of 53 made').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as CSV' }).click(),
    ]);
    const table = await readFile(await download.path(), 'utf8');
    expect(table.split('\r\n')).to.have.length(55);
    expect(table).to.include(`"'=HYPERLINK(""x"")","","Please provide a valid URL"`);
  });

  it('ask for another session in the middle of work, and go on with it', async () => {
    await signIn(page, key.key);
    await goTo('New link');
    await page.context().clearCookies();
    await makeLink(destination, 'after-a-break');
    await page.getByText('Your session has ended').waitFor();
    provoked = [refusedWith(401)];
    expect(await faultsOfPage(page)).to.deep.equal([]);
    await page.getByRole('dialog').getByLabel('API key').fill(key.key);
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
    await made();
  });

  it('show another owner nothing of the one before', async () => {
    const other = await bench.key('FREE', { account: 'another' });
    await signIn(page, key.key);
    await goTo('New link');
    await page.context().clearCookies();
    await makeLink('https://example.com/secret', 'for-the-first');
    provoked = [refusedWith(401)];
    await page.getByRole('dialog').getByLabel('API key').fill(other.key);
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect((await bench.visit('for-the-first')).status).to.equal(404);
  });

  it('say so when there is no network, and try again', async () => {
    await signIn(page, key.key);
    await goTo('New link');
    await page.context().setOffline(true);
    await makeLink(destination, 'back-online');
    await page.getByText('The service cannot be reached.').waitFor();
    provoked = ['Failed to load resource: net::ERR_INTERNET_DISCONNECTED'];
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Make the link' }).click();
    await made();
  });

  it('count down while the minute is full', async () => {
    const { key: free } = await bench.key('FREE');
    await signIn(page, free);
    await goTo('New link');
    await Promise.all(Array.from({ length: 60 }, () => bench.api('/v2/usage', free)));
    await makeLink(destination, '');
    await page.getByText(/Rate limit exceeded\. .* You can try again in \d+ s\./).waitFor();
    provoked = [refusedWith(429)];
  });

  it('say what an operator has switched off', async () => {
    await signIn(page, key.key);
    await goTo('New link');
    await bench.admin('PATCH', '/admin/platform', { maintenance: true });
    try {
      await makeLink(destination, '');
      await page.getByText('Service is temporarily unavailable for maintenance').waitFor();
      provoked = [refusedWith(503)];
    } finally {
      await bench.admin('PATCH', '/admin/platform', { maintenance: false });
    }
  });

  it('show a newcomer the first click', async () => {
    await signIn(page, key.key);
    await goTo('Make your first link');
    await makeLink(destination, 'a-newcomers');
    await made();
    await bench.visit('a-newcomers?qr');
    await goTo('Overview');
    await eventually('the click is on the page', async () => {
      await page.reload();
      await page.getByText('As a table').click();
      return (await page.getByRole('cell', { name: '1', exact: true }).count()) === 1;
    });
    await page.getByText('a-newcomers', { exact: true }).waitFor();
  });

  it('keep the period in the address, so that going back works', async () => {
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
  });

  it('make a QR code of a link, and save it as PNG', async () => {
    const { shortCode } = await bench.link(key.key);
    await signIn(page, key.key);
    await page.goto(`${bench.product.api}/console/links/${shortCode}`);
    await goTo('QR code');
    await button('Make the QR code').click();
    await page.getByAltText(`QR code of ${shortCode}`).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      button('Save as PNG').click(),
    ]);
    const png = await readFile(await download.path());
    expect(png.subarray(1, 4).toString()).to.equal('PNG');
  });

  it('change a link, show what was changed, and delete it', async () => {
    const title = '<img src=x onerror=alert(1)> مرحبا 🎉';
    const { shortCode } = await bench.link(key.key);
    await signIn(page, key.key);
    await page.goto(`${bench.product.api}/console/links/${shortCode}/settings`);
    await page.getByLabel('Destination').fill('https://example.com/changed');
    await page.getByLabel('Title').fill(title);
    await button('Save').click();
    await page.getByRole('heading', { name: title }).waitFor();
    await eventually('the link leads elsewhere', async () => {
      const { headers } = await bench.visit(shortCode);
      return headers.location === 'https://example.com/changed';
    });
    await goTo('History');
    await page.getByText('Link edited').waitFor();
    expect(await page.locator('main img').count()).to.equal(0);

    await goTo('Settings');
    await button('Delete').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('This link is deleted.').waitFor();
    await eventually('the link is gone', async () => (await bench.visit(shortCode)).status === 410);
  });

  it('keep what was typed when somebody else has changed the link', async () => {
    const { shortCode } = await bench.link(key.key);
    await signIn(page, key.key);
    await page.goto(`${bench.product.api}/console/links/${shortCode}/settings`);
    await page.getByLabel('Title').fill('Mine');
    const body = { title: 'Another’s' };
    await bench.api(`/v2/links/${shortCode}`, key.key, { method: 'PATCH', body });
    await button('Save').click();
    await page.getByRole('alert').waitFor();
    provoked = [refusedWith(412)];
    expect(await page.getByLabel('Title').inputValue()).to.equal('Mine');
  });

  const keepSecret = async (): Promise<string> => {
    const dialog = page.getByRole('dialog', { name: 'Keep this key' });
    const secret = (await dialog.locator('code').textContent()) ?? '';
    await dialog.getByRole('button').last().click();
    return secret;
  };

  it('make a key with fewer scopes, rotate it, and revoke it', async () => {
    await signIn(page, key.key);
    await goTo('Keys');
    await page.getByLabel('Name').fill('only statistics');
    for (const scope of ['Make links', 'Read links', 'Change and delete', 'Make QR', 'Manage']) {
      await page.getByLabel(scope).uncheck();
    }
    await button('Make the key').click();
    const secret = await keepSecret();
    expect((await bench.shorten(secret, { url: destination })).status).to.equal(403);
    expect((await bench.api('/v2/stats', secret)).status).to.equal(200);

    const row = page.getByRole('group', { name: 'only statistics' });
    await row.getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    const next = await keepSecret();
    expect((await bench.api('/v2/stats', next)).status).to.equal(200);
    await eventually(
      'the old secret ends',
      async () => (await bench.api('/v2/stats', secret)).status === 401,
    );

    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.waitFor({ state: 'detached' });
    await eventually(
      'the key is revoked',
      async () => (await bench.api('/v2/stats', next)).status === 401,
    );
  });

  for (const [mode, options] of [
    ['in the dark', { colorScheme: 'dark' }],
    ['on a telephone', { viewport: { width: 360, height: 740 } }],
  ] as const) {
    it(`are for everybody, ${mode}`, async () => {
      await page.context().close();
      opened = await openConsole(browser, bench.product.api, options);
      ({ page } = opened);
      await page.getByLabel('API key').waitFor();
      expect(await faultsOfPage(page), 'sign-in').to.deep.equal([]);
      await signIn(page, key.key);
      const { shortCode } = await bench.link(key.key);
      const link = `/links/${shortCode}`;
      for (const path of [
        ...['?compare=1', '/new', '/new?many', '/keys', '/nowhere'],
        ...[link, `${link}/qr`, `${link}/settings`, `${link}/history`],
      ]) {
        await page.goto(`${bench.product.api}/console${path}`, { waitUntil: 'networkidle' });
        expect(await faultsOfPage(page), path).to.deep.equal([]);
      }
    });
  }
});
