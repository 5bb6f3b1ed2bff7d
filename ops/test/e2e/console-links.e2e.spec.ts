import { expect } from 'chai';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { browserFixture } from '../support/fixtures.js';
import {
  faultsInAllModes,
  loadError,
  openConsole,
  signIn,
  type ConsolePage,
} from '../support/console.js';
import type { IssuedKey } from '../support/product.js';
import { readQrCodes } from '../support/qr-reader.js';
import { eventually } from '../support/waiting.js';
import { destination, productFixture } from './harness.js';

/** A red square. */
const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10" fill="#c00"/></svg>';

describe('the console’s links', () => {
  const bench = productFixture();
  const browser = browserFixture();
  let opened: ConsolePage;
  let page: Page;
  let key: IssuedKey;
  /** The faults that a test expects. */
  let provoked: readonly string[];

  const open = async (locale = 'en'): Promise<void> => {
    opened = await openConsole(browser, bench.product.api, { acceptDownloads: true, locale });
    ({ page } = opened);
  };

  beforeEach(async () => {
    key = await bench.key('PRO', { account: `links-${Date.now()}`, name: 'My key' });
    provoked = [];
    await open();
    await signIn(page, key.key);
  });

  afterEach(async () => {
    await page.context().close();
    expect(opened.faults).to.deep.equal(provoked);
  });

  const goTo = (path: string) => page.goto(`${bench.product.api}/console${path}`);

  const button = (name: string) => page.getByRole('button', { name, exact: true });

  const rows = () => page.locator('tbody tr');

  const expectRows = (count: number): Promise<void> =>
    eventually(`there are ${count} rows`, async () => (await rows().count()) === count);

  const pageIsListed = async (count: number): Promise<void> => {
    await eventually('all links are listed', async () => {
      await page.reload();
      await page.locator('tbody tr, h2').first().waitFor();
      return (await rows().count()) === count;
    });
  };

  const detailsOf = async (code: string): Promise<Record<string, unknown>> =>
    (await bench.api(`/v2/links/${code}`, key.key)).json() as Record<string, unknown>;

  it('are found by days of creation, suggested tags and a pasted short URL', async () => {
    const { shortUrl } = await bench.link(key.key, {
      alias: 'found-by-url',
      tags: ['Spring sale'],
    });
    await bench.link(key.key, { alias: 'another-link', tags: ['Winter'] });
    await goTo('/links');
    await pageIsListed(2);
    await page.getByText('2 links', { exact: true }).waitFor();

    await page.getByLabel('Tag', { exact: true }).pressSequentially('spr');
    await page.locator('datalist option[value="Spring sale"]').waitFor({ state: 'attached' });
    await page.getByLabel('Tag', { exact: true }).fill('SPRING SALE');
    await page.keyboard.press('Enter');
    await expectRows(1);
    await page.getByText('1 link', { exact: true }).waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await page.getByRole('link', { name: 'Show all' }).click();

    const [today = ''] = new Date().toISOString().split('T');
    await page.getByLabel('Created to').fill('2001-01-01');
    await page.getByText('No more links match.').waitFor();
    expect(await page.getByRole('checkbox').count()).to.equal(0);
    await page.getByLabel('Created to').fill('');
    await page.getByLabel('Created from').fill(today);
    await page.waitForURL(/from=\d{4}-/);
    await expectRows(2);

    await page.getByLabel('Search').fill(` ${shortUrl}+ `);
    await page.keyboard.press('Enter');
    await expectRows(1);
    expect(await page.getByLabel('Search').inputValue()).to.equal('found-by-url');
  });

  it('are listed page by page, forth and back', async () => {
    for (const count of [50, 50, 10]) {
      const urls = Array.from({ length: count }, () => ({ url: destination }));
      await bench.api('/v2/shorten/batch', key.key, { method: 'POST', body: { urls } });
    }
    await eventually('all links are counted', async () => {
      await goTo('/links');
      await rows().first().waitFor();
      return page.getByText('110 links', { exact: true }).isVisible();
    });
    const next = page.getByRole('link', { name: 'Next page' });
    const toSecond = await next.getAttribute('href');
    await next.click();
    await eventually('the second page is loaded', async () => {
      return (await next.getAttribute('href')) !== toSecond;
    });
    const second = page.url();
    expect(await page.getByRole('link', { name: 'Previous page' }).count()).to.equal(0);
    await next.click();
    await expectRows(10);
    await page.getByRole('link', { name: 'Previous page' }).click();
    await page.waitForURL(second);
    await expectRows(50);
    await next.click();
    await expectRows(10);
    // A shared address only knows the first page.
    await page.reload();
    await expectRows(10);
    expect(await page.getByRole('link', { name: 'Previous page' }).count()).to.equal(0);
    await page.getByRole('link', { name: 'First page' }).click();
    await expectRows(50);
  });

  it('have tags that are renamed and removed on all of them', async () => {
    for (const [alias, tag] of [
      ['tagged-one', 'old'],
      ['tagged-two', 'OLD'],
      ['tagged-three', 'other'],
    ] as const) {
      await bench.link(key.key, { alias, tags: [tag] });
    }
    await goTo('/links');
    await pageIsListed(3);
    await page.getByRole('link', { name: 'Tags' }).first().click();
    await expectRows(2);
    expect(await faultsInAllModes(page), 'tags').to.deep.equal([]);
    await page.getByRole('button', { name: /^Rename old$/i }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 links are changed. Each costs one call.').waitFor();
    await dialog.getByLabel('New name').fill('new');
    expect(await faultsInAllModes(page), 'rename').to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await dialog.getByText('2 links are changed.', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    for (const code of ['tagged-one', 'tagged-two']) {
      expect(await detailsOf(code)).to.deep.include({ tags: ['new'] });
    }
    await eventually('the list has the new name', async () => {
      await page.reload();
      await rows().first().waitFor();
      return (await page.getByRole('link', { name: 'new', exact: true }).count()) === 1;
    });

    await button('Remove other').click();
    // The response to the first request is lost: the dialog continues after a failure.
    await page.route('**/console/v2/links/bulk', (route) => route.abort(), { times: 1 });
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByRole('alert').waitFor();
    provoked = ['Failed to load resource: net::ERR_FAILED'];
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await dialog.getByText('One link is changed.', { exact: true }).waitFor();
    expect(await detailsOf('tagged-three')).to.deep.include({ tags: [] });
  });

  it('are created from a typed host, with campaign parameters, start, end and limit', async () => {
    await goTo('/new');
    const field = page.getByLabel('Destination');
    await page.locator('input[name=url]:focus').waitFor();
    await page.keyboard.type('example.com/x?a=1');
    await page.getByText('Redirects to https://example.com/x?a=1').waitFor();
    await page.getByLabel('Alias').fill('with-all');
    expect(await field.inputValue()).to.equal('https://example.com/x?a=1');
    await page.getByText('Campaign parameters').click();
    await page.getByLabel('Source').fill('news letter');
    await page.getByText('More options').click();
    await page.getByLabel('Click limit').fill('5');
    await page.getByLabel('Starts').first().fill('2030-01-02T03:04');
    await page.getByLabel('Expires').selectOption('time');
    await page.getByLabel('End', { exact: true }).fill('2031-01-02T03:04');
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await button('Create the link').click();
    await page.getByText('Your link is live').waitFor();
    await page.locator('.made button:focus').waitFor();
    expect(await detailsOf('with-all')).to.deep.include({
      url: 'https://example.com/x?a=1&utm_source=news%20letter',
      maxClicks: 5,
      status: 'scheduled',
      startsAt: new Date('2030-01-02T03:04').toISOString(),
      expiresAt: new Date('2031-01-02T03:04').toISOString(),
    });

    await page.getByText('Campaign parameters').click();
    expect(await page.getByLabel('Source').inputValue()).to.equal('');
    await page.reload();
    await page.getByText('Campaign parameters').click();
    await button('Use the last values').click();
    expect(await page.getByLabel('Source').inputValue()).to.equal('news letter');

    await field.fill('https://user@example.com/');
    await button('Create the link').click();
    await page.getByText('must not contain @').waitFor();
    provoked = [loadError(400)];
  });

  it('are created from another page by the bookmarklet', async () => {
    await goTo('/new');
    await page.getByText('Create links from any page').click();
    const link = page.getByRole('link', { name: 'Shorten with Linklog' });
    const code = (await link.getAttribute('href')) ?? '';
    await link.click();
    await page.getByText('Drag it to the bookmarks bar').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);

    await page.goto(`${bench.product.api}/docs`);
    const address = page.url();
    const [form] = await Promise.all([
      page.context().waitForEvent('page'),
      page.evaluate(code.replace('javascript:', '')),
    ]);
    expect(await form.getByLabel('Destination').inputValue()).to.equal(address);
    expect(await form.getByLabel('Title').inputValue()).to.equal(await page.title());
  });

  it('ask before unsaved changes are lost', async () => {
    const { shortCode } = await bench.link(key.key);
    await goTo('/links');
    await goTo(`/links/${shortCode}`);
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Title').fill('Unsaved');
    await page.getByRole('link', { name: 'Overview' }).click();
    const dialog = page.getByRole('dialog', { name: 'Leave without saving?' });
    await dialog.waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Stay' }).click();
    expect(await page.getByLabel('Title').inputValue()).to.equal('Unsaved');
    await page.goBack();
    await dialog.getByRole('button', { name: 'Stay' }).click();
    expect(page.url()).to.match(/\/settings$/);
    // The browser asks too; the dialog of the fixture stays.
    await page.evaluate('setTimeout(() => location.assign("/console"))');
    await eventually('the browser asks', () => Promise.resolve(opened.faults.length === 1));
    provoked = [''];
    await page.getByRole('link', { name: 'Overview' }).click();
    await dialog.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  it('say why they do not redirect, and how to change that', async () => {
    const { shortCode } = await bench.link(key.key, { maxClicks: 1 });
    await bench.visit(shortCode);
    await bench.expectClicks(shortCode, key.key, 1);
    await goTo(`/links/${shortCode}`);
    await page.getByText(/click limit of 1 was reached on /).waitFor();
    await page.getByRole('link', { name: 'Change the click limit' }).click();
    await page.getByLabel('Click limit').fill('');
    await page.getByLabel('Expires').selectOption('period');
    await page.getByLabel('Period').fill('2');
    await page.getByLabel('Unit').selectOption('weeks');
    await page.getByLabel('Unit').focus();
    await page.getByLabel('Period').press('Enter');
    await page.getByRole('status').getByText('Saved').waitFor();
    await page.locator('button:focus').getByText('Save').waitFor();
    await page.getByText('click limit of 1').waitFor({ state: 'detached' });
    const { expiresAt } = await detailsOf(shortCode);
    expect(Date.parse(String(expiresAt)) - Date.now()).to.be.within(13.9 * 864e5, 14 * 864e5);
    expect(await page.getByLabel('Expires').inputValue()).to.equal('time');
    // The saved end is no change.
    await button('Save').click();
    await page.getByText('Nothing is changed yet.').waitFor();

    await bench.change(shortCode, key.key, { disabled: true });
    await goTo(`/links/${shortCode}`);
    await page.getByText('because it is disabled').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await button('Enable').click();
    await page.getByText('because it is disabled').waitFor({ state: 'detached' });

    await page.getByRole('link', { name: 'History' }).click();
    await page.getByText('by My key').first().waitFor();
    const edit = page.getByRole('listitem').filter({ hasText: 'Link edited' });
    await edit.getByText('1 → none').waitFor();
    await page.getByText('its clicks are used up').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);

    await goTo('/links/nothing0');
    await page.getByText('Short URL not found').waitFor();
    expect(await page.getByRole('link', { name: 'Settings' }).count()).to.equal(0);
    expect(await button('Try again').count()).to.equal(0);
    provoked = [loadError(404), loadError(404)];
  });

  it('have QR codes with a logo, and with colours that scanners can read', async () => {
    const { shortCode, shortUrl } = await bench.link(key.key);
    await goTo(`/links/${shortCode}/qr`);
    await page.getByLabel('Dark', { exact: true }).fill('#cccccc');
    await page.getByText('Scanners cannot read these colours').waitFor();
    expect(await button('Create the QR code').isEnabled()).to.equal(false);
    await page.getByLabel('Dark', { exact: true }).fill('#003366');
    const file = { name: 'logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(logo) };
    await page.getByLabel('Logo').setInputFiles({ ...file, buffer: Buffer.from('no image') });
    await page.getByText('cannot be read as an image').waitFor();
    await page.getByLabel('Logo').setInputFiles({ ...file, mimeType: 'text/html' });
    await page.getByText('must be a PNG or SVG file').waitFor();
    await page.getByLabel('Logo').setInputFiles(file);
    await page.getByText('A logo needs the highest level.').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await button('Create the QR code').click();
    await page.getByAltText(`QR code of ${shortCode}`).waitFor();
    const save = async (type: string): Promise<Buffer> => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        button(`Save as ${type}`).click(),
      ]);
      return readFile(await download.path());
    };
    const svg = await save('SVG');
    expect(svg.toString()).to.include('<image ').and.to.include('data:image/svg+xml;base64,');
    const png = await save('PNG');
    expect(await readQrCodes([{ format: 'png', bytes: png }])).to.deep.equal([`${shortUrl}?qr`]);
    const usage = (await bench.api('/v2/usage', key.key)).json();
    expect(usage).to.have.nested.property('qrCodes.used', 1);
  });

  it('are shown in German, and saved for a German spreadsheet', async () => {
    await page.context().close();
    await open('de');
    await page.getByLabel('API-Schlüssel').fill(key.key);
    await button('Anmelden').click();
    await page.getByRole('link', { name: 'Neuer Link' }).first().click();
    await page.getByRole('link', { name: 'Viele Links' }).click();
    const cells = ['example.com/a\tdeutsch-eins\tEins; zwei\ta', 'example.com/b\t\tDrei\tb'];
    await page.getByLabel('Ziele').fill(cells.join('\n'));
    await page.getByText('werden die Spalten als url, code, title, tags gelesen').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await button('2 Links erstellen').click();
    await page.getByText('2 von 2 erstellt').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      button('Als CSV speichern').click(),
    ]);
    const table = await readFile(await download.path(), 'utf8');
    expect(table).to.match(
      /^\ufeffZiel;Kurzlink;Fehler\r\nhttps:\/\/example\.com\/a;http\S+eins;\r\n/,
    );
    expect(await detailsOf('deutsch-eins')).to.deep.include({ title: 'Eins; zwei', tags: ['a'] });
  });
});
