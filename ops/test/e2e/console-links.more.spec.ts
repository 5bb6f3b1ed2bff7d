import { expect } from 'chai';
import { consoleFixture, loadError } from '../support/console.js';
import { needs } from '../support/needs.js';
import type { IssuedKey } from '../support/product.js';
import { readQrCodes } from '../support/qr-reader.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, sharedProduct } from './harness.js';

/** A red square. */
const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10" fill="#c00"/></svg>';

describe('the console’s links', () => {
  const bench = sharedProduct();
  const console = consoleFixture(bench);
  const { page, button, goTo, dialog, show, provoke, expectAccessible } = console;
  let key: IssuedKey;

  beforeEach(async () => {
    key = await bench.key('PRO', { account: `links-${Date.now()}`, name: 'My key' });
    await console.signIn(key.key);
  });

  const detailsOf = async (code: string): Promise<Record<string, unknown>> =>
    (await bench.api(`/v2/links/${code}`, key.key)).json() as Record<string, unknown>;
  const saveCsv = async (name = 'Save as CSV'): Promise<string> =>
    (await console.save(button(name))).toString();

  it('get further codes, and lose them after a question', async () => {
    const { shortCode } = await bench.link(key.key);
    const code = `coded-${Date.now()}`;
    await show(`/links/${shortCode}/settings`);
    provoke(loadError(400));
    await page.getByText('Further codes').click();
    await page.getByLabel('Alias').fill('api');
    await button('Add a code').click();
    await page.getByText('This alias is reserved and cannot be used').waitFor();
    await page.getByLabel('Alias').fill(code);
    await button('Add a code').click();
    await page.getByRole('link', { name: code }).waitFor();
    await expectAccessible();
    expect((await bench.visit(code)).headers.location).to.equal(destination);
    await button(`Delete ${code}`).click();
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('link', { name: code }).waitFor({ state: 'detached' });
    expect(await detailsOf(shortCode)).not.to.have.property('codes');
  });

  it('share their statistics by an address that is shown once, and end it after a question', async () => {
    const { shortCode } = await bench.link(key.key);
    await show(`/links/${shortCode}/settings`);
    await button('Share the statistics').click();
    await dialog().getByLabel('Show the destination').check();
    await dialog().getByRole('button', { name: 'Share the statistics' }).click();
    const url = (await dialog().locator('code').textContent()) ?? '';
    await expectAccessible();
    const shared = await fetch(url, { headers: { Accept: 'application/json' } });
    expect(await shared.json()).to.include({ shortCode, url: destination });
    await dialog().getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('button', { name: /^End / }).click();
    await dialog().getByRole('button', { name: 'End' }).click();
    await page.getByRole('button', { name: /^End / }).waitFor({ state: 'detached' });
    expect((await fetch(url)).status).to.equal(404);
  });

  it('are created from a typed host, with campaign parameters, start, end and limit', async () => {
    await show('/new');
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
    await page.getByLabel('End', { exact: true }).focus();
    // The date alone, by keyboard.
    await page.keyboard.type('01022031');
    await expectAccessible();
    await button('Create the link').click();
    await page.getByText('Your link is live').waitFor();
    await page.locator('.made button:focus').waitFor();
    expect(await detailsOf('with-all')).to.deep.include({
      url: 'https://example.com/x?a=1&utm_source=news%20letter',
      maxClicks: 5,
      status: 'scheduled',
      startsAt: new Date('2030-01-02T03:04').toISOString(),
      expiresAt: new Date('2031-01-02T23:59').toISOString(),
    });

    await page.getByText('Campaign parameters').click();
    expect(await page.getByLabel('Source').inputValue()).to.equal('');
  });

  it('are created with the values of a template, which is saved and deleted in the form', async () => {
    await show('/new');
    await page.getByText('Campaign parameters').click();
    await page.getByLabel('Source').fill('news letter');
    await page.getByLabel('Medium').fill('email');
    await page.getByLabel('Save as template').fill('Spring');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('The template was saved.').waitFor();
    await page.getByLabel('Template', { exact: true }).selectOption('–');
    await page.getByLabel('Source').fill('is replaced, too');
    await page.getByLabel('Content').fill('is replaced');
    await page.getByLabel('Template', { exact: true }).selectOption('Spring');
    expect(await page.getByLabel('Content').inputValue()).to.equal('');
    await expectAccessible();
    await page.getByLabel('Destination').fill(destination);
    await page.getByLabel('Alias').fill(`templated-${Date.now()}`);
    const alias = await page.getByLabel('Alias').inputValue();
    await button('Create the link').click();
    await page.getByText('Your link is live').waitFor();
    expect(await detailsOf(alias)).to.include({
      url: `${destination}&utm_source=news%20letter&utm_medium=email`,
    });
    await page.getByText('Campaign parameters').click();
    await page.getByLabel('Template', { exact: true }).selectOption('Spring');
    await button('Delete Spring').click();
    await page.getByText('The template was deleted.').waitFor();
    expect(await page.getByLabel('Medium').inputValue()).to.equal('email');
    expect((await bench.api('/v2/utm-templates', key.key)).json()).to.deep.equal({ templates: [] });
  });

  it('are rejected with the reason, and the input is kept', async () => {
    await show('/new');
    for (const [url, alias, message] of [
      [destination, 'login', 'This alias is reserved and cannot be used'],
      ['https://user@example.com/', '', 'must not contain @'],
    ] as const) {
      await page.getByLabel('Destination').fill(url);
      await page.getByLabel('Alias').fill(alias);
      await button('Create the link').click();
      await page.getByText(message).waitFor();
      provoke(loadError(400));
      expect(await page.getByLabel('Destination').inputValue()).to.equal(url);
      expect(await page.getByLabel('Alias').inputValue()).to.equal(alias);
      const field = page.getByLabel(alias === '' ? 'Destination' : 'Alias');
      await field.and(page.locator(':focus[aria-invalid=true]')).waitFor();
      const [described = ''] = ((await field.getAttribute('aria-describedby')) ?? '').split(' ');
      expect(await page.locator(`[id="${described}"]`).textContent()).to.include(message);
      await page.locator('.field').filter({ has: field }).getByText(message).waitFor();
      expect(await page.getByText(message).count()).to.equal(1);
    }
    await expectAccessible();
    await page.getByLabel('Destination').fill(destination);
    await button('Create the link').click();
    await page.getByText('Your link is live').waitFor();
    expect(await page.locator('.trouble').count()).to.equal(0);
  });

  it('have no other pages than their tabs', async () => {
    const { shortCode } = await bench.link(key.key);
    await show(`/links/${shortCode}/rules`);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    await expectAccessible();
    await goTo('Go to the page above it');
    await page.getByRole('heading', { name: shortCode }).waitFor();
  });

  it('are created in bulk, and saved as CSV without formulas', async () => {
    await goTo('New link');
    await goTo('Many links');
    const lines = Array.from({ length: 51 }, (_, index) => `https://example.com/${index}`);
    await page
      .getByLabel('Destinations')
      .fill([...lines, '=HYPERLINK("x")', '<img src=x>'].join('\n'));
    await page.getByLabel('Tags').fill('many, =1+1');
    await button('Create 53 links').click();
    await page.getByText('51 of 53 created').waitFor();
    await expectAccessible();
    const table = await saveCsv();
    expect(table.split('\r\n')).to.have.length(55);
    const code = /([^/,]+),\r\n/.exec(table)?.[1] ?? '';
    expect(await detailsOf(code)).to.deep.include({ tags: ['many', '=1+1'] });
    expect(table).to.include(`"'=HYPERLINK(""x"")",,The URL must start with http:// or https://.`);
  });

  it('are changed, disabled, enabled, deleted and restored, with a history', async () => {
    const title = '<img src=x onerror=alert(1)> مرحبا 🎉';
    const { shortCode } = await bench.link(key.key);
    const expectVisit = (status: number, location?: string): Promise<void> =>
      eventuallyPasses(async () => {
        const visit = await bench.visit(shortCode);
        expect([visit.status, visit.headers.location]).to.deep.equal([status, location]);
      });
    const changed = 'https://example.com/changed';
    await show(`/links/${shortCode}/settings`);
    await page.getByLabel('Destination').fill(changed);
    await page.getByLabel('Title').fill(title);
    await button('Save').click();
    await page.getByRole('heading', { name: title }).waitFor();
    await expectVisit(302, changed);
    await goTo('History');
    await page.getByText('Link edited').waitFor();
    await page.locator('main img').first().waitFor({ state: 'detached' });

    await goTo('Settings');
    await button('Disable').click();
    await button('Enable').waitFor();
    await expectVisit(410);
    await button('Enable').click();
    await button('Disable').waitFor();
    await expectVisit(302, changed);
    await button('Delete').click();
    await button('Delete', dialog()).click();
    await page.getByText('because it was deleted').first().waitFor();
    await expectVisit(410);
    await expectAccessible('deleted');
    await button('Restore').click();
    await button('Disable').waitFor();
    await expectVisit(302, changed);
    await bench.api(`/v2/links/${shortCode}`, key.key, { method: 'DELETE' });
    await show(`/links/${shortCode}`);
    await page.getByText(/It can be restored until .*20\d\d/).waitFor();
    await button('Restore').click();
    await page.getByText('because it was deleted').waitFor({ state: 'detached' });
    await expectVisit(302, changed);
  });

  it('keep the input when another client changes them', async () => {
    const { shortCode } = await bench.link(key.key);
    const title = page.getByLabel('Title');
    await show(`/links/${shortCode}/settings`);
    const provokeConflict = async (change: object): Promise<void> => {
      await title.fill('Mine');
      await bench.change(shortCode, key.key, change);
      await button('Save').click();
      await page.getByRole('alert').waitFor();
      provoke(loadError(412));
      expect(await title.inputValue()).to.equal('Mine');
    };
    await provokeConflict({ title: 'Another’s' });
    await expectAccessible();
    await button('Load theirs').click();
    await page.getByText('The current values are shown.').waitFor();
    await eventuallyPasses(async () => {
      expect(await title.inputValue()).to.equal('Another’s');
    });
    await provokeConflict({ title: 'Another’s again', note: 'Theirs' });
    await button('Keep mine').click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await detailsOf(shortCode)).to.include({ title: 'Mine', note: 'Theirs' });
  });

  it('keep the focus, and what is typed into another field, after a save', async () => {
    const { shortCode } = await bench.link(key.key);
    const note = page.getByLabel('Note');
    await show(`/links/${shortCode}/settings`);
    await page.getByLabel('Title').fill('Saved title');
    await page.getByLabel('Title').press('Enter');
    await note.focus();
    await page.getByRole('heading', { name: 'Saved title' }).waitFor();
    await page.keyboard.type('/ typed');
    await note.and(page.locator(':focus')).waitFor();
    expect(await note.inputValue()).to.equal('/ typed');
    await button('Save').click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await detailsOf(shortCode)).to.include({ title: 'Saved title', note: '/ typed' });
    await button('Other rule …').click();
    await page.getByText('Saved', { exact: true }).waitFor({ state: 'detached' });
    await button('Remove rule 1').click();

    await page.getByText('Start, end, click limit and password').click();
    await page.getByLabel('Password').fill('secret');
    await page.getByLabel('Password').press('Enter');
    await page.getByLabel('Remove the password').waitFor();
    expect(await page.getByLabel('New password').inputValue()).to.equal('');
  });

  it('ask before unsaved changes are lost', async () => {
    const { shortCode } = await bench.link(key.key);
    await show('/links');
    await show(`/links/${shortCode}`);
    await goTo('Settings');
    await page.getByLabel('Title').fill('Unsaved');
    await goTo('Overview');
    const leave = page.getByRole('dialog', { name: 'Leave without saving?' });
    await leave.waitFor();
    await expectAccessible();
    await button('Stay', leave).click();
    await button('Save').focus();
    await page.keyboard.press('n');
    await button('Stay', leave).click();
    await goTo('Overview');
    await button('Leave', leave).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  describe('QR codes', () => {
    needs('zbarimg', 'rsvg-convert');

    it('are saved with one click, with a logo, in colours that scanners can read', async () => {
      const { shortCode, shortUrl } = await bench.link(key.key);
      await show(`/links/${shortCode}`);
      await goTo('QR code');
      const dark = page.getByLabel('Dark', { exact: true });
      const preview = page.getByRole('img', { name: 'Preview' });
      const images: { format: 'png' | 'svg'; bytes: Buffer }[] = [];
      const save = async (): Promise<void> => {
        images.push(
          { format: 'png', bytes: await console.save(button('Save as PNG')) },
          { format: 'svg', bytes: await console.save(button('Save as SVG')) },
        );
        await page.getByAltText(`QR code of ${shortCode}`).waitFor();
        await preview.waitFor({ state: 'detached' });
      };
      await save();
      await dark.fill('#cccccc');
      await page.getByText('Scanners cannot read these colours').waitFor();
      expect(await button('Save as PNG').isEnabled()).to.equal(false);
      await dark.fill('#003366');
      await preview.waitFor();
      const file = { name: 'logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(logo) };
      for (const [wrong, message] of [
        [{ ...file, buffer: Buffer.from('no image') }, 'cannot be read as an image'],
        [{ ...file, mimeType: 'text/html' }, 'must be a PNG or SVG file'],
      ] as const) {
        await page.getByLabel('Logo').setInputFiles(wrong);
        await page.getByText(message).waitFor();
      }
      await page.getByLabel('Logo').setInputFiles(file);
      await page.getByText('A logo needs the highest level.').waitFor();
      await expectAccessible();
      await save();
      expect(images[3]?.bytes.toString()).to.include('data:image/svg+xml;base64,');
      // rsvg-convert draws no embedded images.
      const texts = await readQrCodes(images.slice(0, 3));
      expect(texts).to.deep.equal(Array(3).fill(`${shortUrl}?qr`));
      expect((await bench.usage(key.key)).qrCodes).to.equal(2);
    });
  });
});
