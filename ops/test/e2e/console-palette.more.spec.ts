import { expect } from 'chai';
import { consoleFixture, loadError } from '../support/console.js';
import { destination, sharedProduct } from './harness.js';

describe('the command palette of the console', () => {
  const bench = sharedProduct();
  const console = consoleFixture(bench);
  const { page, button, dialog, expectAccessible } = console;
  const field = () => dialog().getByRole('combobox');
  const options = () => dialog().getByRole('option');
  const heading = (name: string) => page.getByRole('heading', { name, exact: true, level: 1 });

  const start = async (options = {}) => {
    const key = await bench.key('PRO', { account: `palette-${Date.now()}`, ...options });
    await console.signIn(key.key);
    return key;
  };
  const open = async (): Promise<void> => {
    await page.keyboard.press('Control+k');
    await field().waitFor();
  };
  const selected = () => dialog().getByRole('option', { selected: true });

  it('opens the page of a link by a part of its code and Enter, which waits for the search', async () => {
    const { key } = await start();
    for (const alias of ['palette-first', 'palette-second']) {
      await bench.link(key, { alias, title: alias === 'palette-first' ? null : 'Zweiter' });
    }
    await open();
    await field().fill('ette-sec');
    await options().getByText('Zweiter').waitFor();
    await expectAccessible();
    await page.keyboard.press('Escape');
    await open();
    await page.keyboard.type('ette-fir');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/console\/links\/palette-first$/);
    await heading('palette-first').and(page.locator(':focus')).waitFor();
    await dialog().waitFor({ state: 'detached' });
  });

  it('opens a page that the arrow keys choose, and names it to screen readers', async () => {
    await start();
    await open();
    await selected().and(options().first()).waitFor();
    await page.keyboard.press('ArrowUp');
    await selected().and(options().last()).waitFor();
    for (const name of ['Overview', 'Links', 'New link']) {
      await page.keyboard.press('ArrowDown');
      await dialog().getByRole('option', { name, selected: true }).waitFor();
      const id = await field().getAttribute('aria-activedescendant');
      expect(await page.locator(`[id="${id}"]`).textContent()).to.include(name);
    }
    await expectAccessible();
    await page.keyboard.press('Enter');
    await heading('New link').waitFor();
    await dialog().waitFor({ state: 'detached' });
  });

  it('returns the focus to a field on Escape, and asks before unsaved input is left', async () => {
    await start();
    await console.show('/new');
    await page.getByLabel('Destination').fill(destination);
    await open();
    await page.keyboard.press('Escape');
    await page.getByLabel('Destination').and(page.locator(':focus')).waitFor();
    await open();
    await page.keyboard.type('invite');
    await page.keyboard.press('Enter');
    await button('Stay').click();
    expect(page.url()).to.match(/\/console\/new$/);
    await field().and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await button('Leave').click();
    await heading('People').waitFor();
    await dialog().waitFor({ state: 'detached' });
  });

  it('offers only what the scopes of the key allow, and searches no links without links:read', async () => {
    await start({ scopes: ['links:create', 'stats:read'] });
    const calls: string[] = [];
    page.on('request', (request) => calls.push(request.url()));
    await open();
    expect(await options().allTextContents()).to.deep.equal([
      ...['Overview ', 'New link ', 'API ', 'Create many links ', 'Sessions '],
    ]);
    await field().fill('overview');
    await options().nth(1).waitFor({ state: 'detached' });
    await field().fill('people');
    await dialog().getByText('Nothing found.').waitFor();
    await expectAccessible();
    expect(calls.filter((url) => url.includes('/v2/links'))).to.deep.equal([]);
  });

  it('finds the link of a pasted short URL, and shows its title as text, cut at its end', async () => {
    const { key } = await start();
    const title = `عنوان <b>طويل</b> ${'كلمة '.repeat(30)}`.trim();
    const { shortUrl, shortCode } = await bench.link(key, { title });
    await console.open(bench.product.api, { locale: 'de-DE' });
    await console.signIn(key);
    await open();
    await field().fill('nirgendwo');
    await dialog().getByText('Nichts gefunden.').waitFor();
    await field().fill(` ${shortUrl}+ `);
    await options().getByText(shortCode).waitFor();
    expect(await options().allTextContents()).to.deep.equal([`${shortCode} ${title}`]);
    await expectAccessible();
    const [code = 0, box = 0, list = 0] = await Promise.all(
      [options().getByText(shortCode), options(), dialog().getByRole('listbox')].map(
        async (element) => (await element.boundingBox())?.width,
      ),
    );
    expect(code).to.be.greaterThan(40);
    expect(box).to.be.at.most(list);
  });

  it('ignores the response to an earlier search, and keeps the focus when a search fails', async () => {
    const { key } = await start();
    for (const alias of ['palette-late', 'palette-soon']) await bench.link(key, { alias });
    const late = '**/v2/links?*search=palette-late';
    let release = (): void => undefined;
    await page.route(late, async (route) => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      await route.continue();
    });
    await open();
    await field().fill('palette-late');
    await page.waitForRequest(late);
    await field().fill('palette-soon');
    await options().getByText('palette-soon').waitFor();
    const response = page.waitForResponse(late);
    release();
    await (await response).finished();
    expect(await options().allTextContents()).to.deep.equal([`palette-soon ${destination}`]);

    await page.route('**/v2/links?*search=fails', (route) => route.fulfill({ status: 500 }));
    await field().fill('fails');
    await dialog().getByRole('alert').waitFor();
    console.provoke(loadError(500));
    await field().and(page.locator(':focus')).waitFor();
    await options().waitFor({ state: 'detached' });
  });

  it('opens from its button on every screen, and has the pages of operators', async () => {
    await console.openAsOperator();
    await button('Search…').click();
    await field().waitFor();
    await page.keyboard.type('proj');
    await page.keyboard.press('Enter');
    await heading('Projections').waitFor();
    await page.setViewportSize({ width: 375, height: 812 });
    await button('Search…').click();
    await dialog().getByRole('group', { name: 'Pages' }).waitFor();
    await expectAccessible('on a phone');
  });
});
