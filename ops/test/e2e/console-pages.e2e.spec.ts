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

  for (const [mode, options] of [
    ['in the light', { colorScheme: 'light' }],
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
      await bench.link(key.key);
      for (const path of ['?compare=1', '/new', '/new?many', '/nowhere']) {
        await page.goto(`${bench.product.api}/console${path}`, { waitUntil: 'networkidle' });
        expect(await faultsOfPage(page), path).to.deep.equal([]);
      }
    });
  }
});
