import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { consoleFixture } from '../support/console.js';
import type { IssuedKey } from '../support/product.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { sharedProduct } from './harness.js';

describe('the console’s lists of links', () => {
  const bench = sharedProduct();
  const console = consoleFixture(bench);
  const { page, button, goTo, dialog, show, expectListed, expectAccessible } = console;
  let key: IssuedKey;

  beforeEach(async () => {
    key = await bench.key('PRO', { account: `lists-${Date.now()}` });
    await console.signIn(key.key);
  });

  const rows = () => page.locator('tbody tr');
  const expectRows = (count: number): Promise<void> =>
    eventually(`there are ${count} rows`, async () => (await rows().count()) === count);

  const save = async (role: 'button' | 'link', name: string): Promise<string> =>
    (await console.save(page.getByRole(role, { name, exact: true }))).toString();

  it('change the selected links together', async () => {
    const aliases = ['bulk-one', 'bulk-two', 'bulk-three'];
    for (const alias of aliases) await bench.link(key.key, { alias, title: `the ${alias}` });
    await goTo('Links');
    await expectListed(aliases.length);
    const select = (code: string) => page.getByLabel(`Select ${code}`);
    await select('all on this page').check();
    await select('bulk-three').uncheck();
    await page.getByText('2 links selected').waitFor();

    await button('Add tags').click();
    await dialog().getByLabel('Tags').fill('=cmd, نص');
    await expectAccessible('tags');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: '=cmd' }).first().waitFor();
    await select('all on this page').check();
    await button('Disable').click();
    const disabled = page.locator('tbody').getByText('Disabled', { exact: true });
    await eventually('all three are disabled', async () => (await disabled.count()) === 3);
    const changed = await bench.api('/v2/links/bulk-two', key.key);
    expect(changed.json()).to.deep.include({ status: 'disabled', tags: ['=cmd', 'نص'] });

    // The page does not learn of the deletion before the change.
    await page.route('**/console/session/changes', (route) => route.fulfill({ status: 204 }));
    await bench.api('/v2/links/bulk-one', key.key, { method: 'DELETE' });
    await select('bulk-one').check();
    await select('bulk-two').check();
    await button('Enable').click();
    await page.getByRole('alert').getByText('bulk-one').waitFor();
    await expectAccessible('failure');
    await select('bulk-two').check();
    await button('Delete').click();
    const confirmation = page.getByRole('dialog', { name: 'Delete 2 links?' });
    await confirmation.getByText('the bulk-two').waitFor();
    await expectAccessible('confirmation');
    await button('Delete', confirmation).click();
    await select('bulk-two').waitFor({ state: 'detached' });
    await eventuallyPasses(async () => {
      expect((await bench.visit('bulk-two')).json()).to.include({ errorType: 'DELETED' });
    });
    expect((await bench.visit('bulk-three')).json()).to.include({ errorType: 'DISABLED' });

    await page.getByText('2 links changed.').waitFor();
    await expectAccessible('undo');
    await button('Undo').click();
    await select('bulk-two').waitFor();
    await page.getByText('2 links changed.').waitFor({ state: 'detached' });
    await eventuallyPasses(async () => {
      expect((await bench.visit('bulk-two')).status).to.equal(302);
    });
    await page.unroute('**/console/session/changes');
    await bench.api('/v2/links/bulk-three', key.key, { method: 'DELETE' });
    await show('/links?status=deleted');
    await select('bulk-three').check();
    await expectAccessible('deleted');
    await button('Restore').click();
    await select('bulk-three').waitFor({ state: 'detached' });
    await eventuallyPasses(async () => {
      expect((await bench.visit('bulk-three')).json()).to.include({ errorType: 'DISABLED' });
    });
  });

  it('undo changes, except of links that were changed since', async () => {
    await bench.link(key.key, { alias: 'undo-one', tags: ['kept'] });
    await bench.link(key.key, { alias: 'undo-two', tags: ['new', 'kept'] });
    await bench.link(key.key, { alias: 'undo-three' });
    const expectLink = async (code: string, expected: object): Promise<void> => {
      expect((await bench.api(`/v2/links/${code}`, key.key)).json()).to.deep.include(expected);
    };
    await goTo('Links');
    await expectListed(3);
    const selectAll = () => page.getByLabel('Select all on this page').check();
    const undo = async (changed: string): Promise<void> => {
      await page.getByText(changed).waitFor();
      await button('Undo').press('Enter');
      await page.getByText(changed).waitFor({ state: 'detached' });
    };
    await selectAll();
    await button('Add tags').click();
    await dialog().getByLabel('Tags').fill('new, newer');
    await page.keyboard.press('Enter');
    await undo('3 links changed.');
    await expectLink('undo-one', { tags: ['kept'] });
    await expectLink('undo-two', { tags: ['new', 'kept'] });
    await expectLink('undo-three', { tags: [] });
    await selectAll();
    await button('Remove tags').click();
    await dialog().getByLabel('Tags').fill('new');
    await page.keyboard.press('Enter');
    await undo('One link changed.');
    await expectLink('undo-two', { tags: ['new', 'kept'] });
    await selectAll();
    await button('Disable').click();
    await page.getByText('3 links changed.').waitFor();
    await bench.change('undo-two', key.key, { title: 'theirs' });
    await undo('3 links changed.');
    await page.getByRole('alert').getByText('undo-two: The link was changed meanwhile').waitFor();
    await expectLink('undo-one', { status: 'active' });
    await expectLink('undo-two', { status: 'disabled', title: 'theirs' });
    await expectAccessible('undone');
  });

  it('have the clicks of the last 30 days, in a line by the day', async () => {
    const { shortCode } = await bench.link(key.key);
    for (let visit = 0; visit < 3; visit += 1) await bench.visit(shortCode);
    await bench.expectClicks(shortCode, key.key, 3);
    await goTo('Links');
    await expectListed(1);
    await page.getByRole('columnheader', { name: 'Clicks in 30 days' }).waitFor();
    const cell = rows().first().locator('.number');
    const drawn = await cell.locator('path').getAttribute('d');
    const heights = (drawn ?? '').split('L').map((point) => Number(point.split(' ')[1]));
    expect(heights.reduce((sum, height) => sum + 3 - height, 0)).to.equal(3);
    expect(heights).to.have.lengthOf(30);
    const [number, numbers] = /^(\d+)Clicks of the last 30 days: ([\d, ]+)\. In total: 3$/
      .exec((await cell.textContent()) ?? '')
      ?.slice(1) as [string, string];
    expect(number).to.equal('3');
    expect(numbers.split(', ').map((clicks) => 3 - Number(clicks))).to.deep.equal(heights);
  });

  it('have tags that are renamed and removed on all of them', async () => {
    for (const [alias, tag] of [
      ['tagged-one', 'old'],
      ['tagged-two', 'OLD'],
      ['tagged-three', 'other'],
    ] as const) {
      await bench.link(key.key, { alias, tags: [tag] });
    }
    const expectTags = async (code: string, tags: readonly string[]): Promise<void> => {
      expect((await bench.api(`/v2/links/${code}`, key.key)).json()).to.deep.include({ tags });
    };
    await show('/links');
    await expectListed(3);
    await goTo('Tags');
    await expectRows(2);
    await page.getByRole('button', { name: /^Rename old$/i }).click();
    await dialog().getByText('2 links are changed. Each costs one call.').waitFor();
    await dialog().getByLabel('New name').fill('new');
    await expectAccessible('rename');
    await button('Rename', dialog()).click();
    await dialog().getByText('2 links are changed.', { exact: true }).waitFor();
    await dialog().getByRole('button', { name: 'Close' }).last().click();
    for (const code of ['tagged-one', 'tagged-two']) await expectTags(code, ['new']);
    await page.reload();
    await button('Remove other').click();
    await button('Remove', dialog()).click();
    await dialog().getByText('One link is changed.', { exact: true }).waitFor();
    await expectTags('tagged-three', []);
  });

  it('apply a typed search with every other filter, and keep both in the address', async () => {
    for (const alias of ['wanted-one', 'other-one']) await bench.link(key.key, { alias });
    await goTo('Links');
    await expectListed(2);
    await page.getByRole('searchbox').fill('wanted');
    await button('Filters').click();
    await page.getByLabel('Status').selectOption('active');
    await page.waitForURL(/\?search=wanted&status=active$/);
    await expectRows(1);
    await page.getByRole('searchbox').fill('other');
    await page.getByLabel('Created from').fill('2026-01-01');
    await page.waitForURL(/\?search=other&status=active&from=2026-01-01$/);
    await expectRows(1);
    await expectAccessible('filters');
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Without the status: Active' }).click();
    await page.waitForURL(/\?search=other&from=2026-01-01$/);
    await page.getByRole('searchbox').fill('no such link');
    await page.getByText('No links match.').waitFor();
    expect(await page.locator('.list').innerText()).to.equal('No links match.');
    await goTo('Clear filters');
    await expectRows(2);
  });

  it('are searched while the user types, without an entry of the history', async () => {
    for (const alias of ['first-one', 'second-one']) {
      await bench.link(key.key, { alias, tags: [`tag-${alias}`] });
    }
    await goTo('Links');
    await expectListed(2);
    const field = page.getByRole('searchbox').and(page.locator(':focus'));
    await page.getByRole('searchbox').focus();
    // A term of one character waits for the next one.
    for (const [typed, rowCount] of [
      ['one', 2],
      [' f', 2],
      ['irst', 1],
    ] as const) {
      await field.pressSequentially(typed);
      await expectRows(rowCount);
    }
    await page.waitForURL(/\?search=one\+first$/);
    expect(await field.inputValue()).to.equal('one first');
    await goTo('Tags');
    await page.getByLabel('Search tags').pressSequentially('tag-second');
    await page.waitForURL(/tags\?search=tag-second$/);
    await expectRows(1);
    await field.waitFor();
    await page.goBack();
    await page.waitForURL(/links\?search=one\+first$/);
    await page.goBack();
    await page.waitForURL(/console$/);
  });

  it('have 12 rows in a window, and are selected by ranges', async () => {
    const tags = ['a', 'b', 'c', 'd', 'e'];
    for (let index = 10; index < 25; index += 1) {
      await bench.link(key.key, { alias: `range-${index}`, ...(index === 24 && { tags }) });
    }
    await page.setViewportSize({ width: 1_280, height: 860 });
    await goTo('Links');
    await expectListed(15);
    const { y = 0, height = 0 } = (await rows().nth(11).boundingBox()) ?? {};
    expect(y + height).to.be.within(100, 860);
    await rows().first().getByText('+2').waitFor();
    expect(
      await rows()
        .first()
        .getByRole('link', { name: /^[a-e]$/ })
        .count(),
    ).to.equal(3);
    await rows().first().getByText(String(new Date().getFullYear())).waitFor();
    await goTo('Clicks in 30 days');
    await page.waitForURL(/links\?sort=clicks$/);
    await page
      .getByRole('columnheader', { name: 'Clicks in 30 days' })
      .and(page.locator('[aria-sort=descending]'))
      .waitFor();
    await goTo('Created');
    await page.waitForURL(/links$/);
    const select = (code: string) => page.getByLabel(`Select ${code}`);
    await select('range-20').check();
    await select('range-15').click({ modifiers: ['Shift'] });
    await page.getByText('6 links selected').waitFor();
    await select('range-17').click({ modifiers: ['Shift'] });
    await page.getByText('3 links selected').waitFor();
    await expectAccessible();
  });

  it('show the whole badge of a password beside three long tags', async () => {
    const tags = ['one', 'two', 'three', 'four'].map((tag) => `${tag}-${'x'.repeat(30)}`);
    await bench.link(key.key, { alias: 'with-password', password: 'secret-word', tags });
    await goTo('Links');
    await expectListed(1);
    const edgeOf = async (selector: string): Promise<number> => {
      const { x = NaN, width = NaN } = (await page.locator(selector).boundingBox()) ?? {};
      return x + width;
    };
    for (const width of [800, 1_280]) {
      await page.setViewportSize({ width, height: 860 });
      expect(await edgeOf('.about .badge')).to.be.at.most(await edgeOf('td.about'));
    }
  });

  it('have the menu in a bar and filters in a sheet on a phone, and a link in its first screen', async () => {
    await bench.link(key.key, { alias: 'on-a-phone' });
    await page.setViewportSize({ width: 375, height: 812 });
    const menu = page.getByRole('navigation');
    const bottomOf = async (element: Locator): Promise<number> => {
      const { y = NaN, height = NaN } = (await element.boundingBox()) ?? {};
      return y + height;
    };
    await menu.getByRole('link', { name: 'Links', exact: true }).click();
    await expectListed(1);
    expect(await bottomOf(menu)).to.equal(812);
    expect(await menu.getByRole('link').allTextContents()).to.deep.equal([
      'Overview',
      'Links',
      'New link',
    ]);
    expect(await bottomOf(rows().first())).to.be.below(812 - 56);
    await button('Filters').click();
    const sheet = page.locator(':popover-open');
    await expectAccessible('filters');
    expect(await bottomOf(sheet)).to.equal(812);
    await page.keyboard.press('Escape');
    await button('More').focus();
    await page.keyboard.press('Enter');
    await expectAccessible('menu');
    expect(await bottomOf(sheet)).to.equal(812);
    await sheet.getByRole('link', { name: 'Webhooks' }).press('Enter');
    await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
    await sheet.waitFor({ state: 'detached' });
    await page.setViewportSize({ width: 240, height: 812 });
    await show('/links/on-a-phone/history');
    const tabs = page.getByRole('navigation', { name: 'About the link' });
    const { height = NaN } = (await tabs.boundingBox()) ?? {};
    expect(height).to.be.below(60);
    const current = tabs.locator('[aria-current]');
    await current.waitFor();
    const { x = NaN, width = NaN } = (await current.boundingBox()) ?? {};
    expect([x > 0, x + width < 240]).to.deep.equal([true, true]);
  });

  it('start at the top of the next page, and are where they were after Back', async () => {
    const urls = Array.from({ length: 30 }, () => ({ url: 'https://example.com/' }));
    for (let batch = 0; batch < 2; batch += 1) {
      await bench.api('/v2/shorten/batch', key.key, { method: 'POST', body: { urls } });
    }
    await goTo('Links');
    await expectListed(50);
    const top = () => page.evaluate<number>('scrollY');
    const next = page.getByRole('link', { name: 'Next page' });
    await next.scrollIntoViewIfNeeded();
    const left = await top();
    expect(left).to.be.above(500);
    await next.click();
    await expectRows(10);
    expect(await top()).to.equal(0);
    await page.goBack();
    await expectRows(50);
    await eventually('the position is restored', async () => (await top()) === left);
    await rows().last().getByRole('link').first().click();
    await page.getByRole('heading', { name: 'Live' }).waitFor();
    expect(await top()).to.equal(0);
    await page.goBack();
    await eventually('the position is restored', async () => (await top()) === left);
  });

  it('of statistics have the flags of countries and the icons of browsers', async () => {
    const { shortCode } = await bench.link(key.key);
    const value = [{ value: 'DE', clicks: 1 }];
    await page.route('**/v2/stats/**', async (route) => {
      const response = await route.fetch();
      const stats = (await response.json()) as object;
      const browsers = [...value, { value: 'Firefox', clicks: 1 }];
      await route.fulfill({ response, json: { ...stats, countries: value, browsers } });
    });
    await show(`/links/${shortCode}`);
    for (const [list, name] of [
      ['Countries', 'Germany'],
      ['Browsers', 'Firefox'],
    ] as const) {
      await button(list).click();
      const row = page.getByRole('listitem').filter({ hasText: name });
      await row.scrollIntoViewIfNeeded();
      const picture = row.locator('img');
      await eventually(`${name} has a picture`, () =>
        picture.evaluate((image: unknown) => (image as { naturalWidth: number }).naturalWidth > 0),
      );
      expect(await picture.getAttribute('alt')).to.equal('');
    }
    await expectAccessible();
    for (const file of ['flags', 'brands']) {
      const license = await fetch(`${bench.product.api}/console/${file}/license.txt`);
      expect(await license.text()).to.include('MIT License');
    }
  });

  it('of statistics are in the address', async () => {
    const { shortCode } = await bench.link(key.key);
    await show(`/links/${shortCode}`);
    await button('Languages').click();
    await button('Systems').click();
    await page.waitForURL(/\?lists=languages%2Cos$/);
    await page.reload();
    for (const name of ['Languages', 'Systems', 'Referrers']) {
      await page.getByRole('button', { name, exact: true, pressed: true }).waitFor();
    }
    await button('Countries').click();
    await page.waitForURL(/\?lists=os$/);
  });

  for (const [width, locale] of [
    [1_280, 'de'],
    [375, 'de'],
    [1_280, 'en'],
    [375, 'en'],
  ] as const) {
    it(`show host and end of a destination, and whole codes (${locale}, ${width} px)`, async () => {
      const title = 'عنوان طويل جدا '.repeat(12).trim();
      const url = `https://example.com/${'path/'.repeat(60)}the-very-end`;
      const alias = `clip-${locale}-${width}`;
      await bench.link(key.key, { alias: `${alias}-titled`, title, tags: ['وسم'] });
      await bench.link(key.key, { alias, url });
      await bench.visit(alias);
      await bench.expectClicks(alias, key.key, 1);
      await eventuallyPasses(async () => {
        const listed = await bench.api(`/v2/links?search=${alias}`, key.key);
        expect(listed.json()).to.have.nested.property('links.length', 2);
      });
      await console.open(undefined, { locale, viewport: { width, height: 800 } });
      await console.signIn(key.key);
      /** The width of the visible text of an element, and of its whole text. */
      const widthsOf = (element: Locator) =>
        element.evaluate((node: unknown) => {
          const { clientWidth, scrollWidth } = node as Record<string, number>;
          return { clientWidth: clientWidth ?? 0, scrollWidth: scrollWidth ?? 0 };
        });
      for (const path of width === 375 ? ['/links'] : ['', '/links']) {
        await show(path);
        const clipped = page.locator('bdi.middle').first();
        await clipped.waitFor();
        const [start, end] = [clipped.locator('span').first(), clipped.locator('span').last()];
        const [startWidths, endWidths] = [await widthsOf(start), await widthsOf(end)];
        expect(startWidths.scrollWidth).to.be.above(startWidths.clientWidth);
        expect(startWidths.clientWidth).to.be.above(path === '' ? 20 : 100);
        expect(endWidths.scrollWidth).to.equal(endWidths.clientWidth);
        expect(await end.textContent()).to.equal('h/the-very-end');
        await start.hover();
        expect(await clipped.getAttribute('title')).to.equal(url);
        await expectAccessible(path);
      }
      const code = page.locator('a.middle > span:last-child').first();
      expect(await code.textContent()).to.equal(alias);
      const { height = 0 } = (await code.boundingBox()) ?? {};
      expect(height).to.be.within(10, 32);
      const arabic = page.locator('td.about .clip > bdi:not(.middle)').first();
      const { clientWidth, scrollWidth } = await widthsOf(arabic);
      expect(scrollWidth).to.be.above(clientWidth);
      const direction = await page.evaluate<string>(
        `getComputedStyle(document.querySelector('td.about .clip > bdi:not(.middle)')).direction`,
      );
      expect(direction).to.equal('rtl');
    });
  }

  it('are exported with their filter, and statistics are saved as CSV', async () => {
    for (const alias of ['to-export', 'not-to-export']) {
      await bench.link(key.key, { alias, tags: alias === 'to-export' ? ['wanted'] : [] });
    }
    expect((await bench.visit('to-export')).status).to.equal(302);
    await bench.expectClicks('to-export', key.key, 1);
    await page.reload();
    expect(await save('button', 'Download CSV of Clicks over time')).to.match(
      /^\ufeffstart,clicks,bots\r\n[^]*T00:00:00[+-]\d\d:\d\d,1,0\r\n/,
    );
    expect(await save('button', 'Download CSV of Countries')).to.equal(
      '\ufeffvalue,clicks\r\nUnknown,1\r\n',
    );
    expect(await save('button', 'Download CSV of Referrers')).to.equal(
      '\ufeffvalue,clicks\r\nDirect or unknown,1\r\n',
    );
    await show('/links?tag=wanted');
    await expectListed(1);
    const links = await save('link', 'Export');
    expect(links.split('\r\n')).to.have.length(3);
    expect(links).to.match(
      /^\ufeffdomain,code,.*,shortLinkUrl\r\n,to-export,to-export,https:.*,https?:\/\/[^,]*\/to-export\r\n/,
    );
  });
});
