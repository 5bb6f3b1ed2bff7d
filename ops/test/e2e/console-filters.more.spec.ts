import { expect } from 'chai';
import type { AccountStatsResponse } from '../../../schemas/http/statistics.js';
import { consoleFixture, loadError } from '../support/console.js';
import { eventuallyPasses } from '../support/waiting.js';
import { keyFixture, sharedProduct } from './harness.js';

describe('the filters of the console’s statistics', () => {
  const bench = sharedProduct();
  const key = keyFixture(bench, 'PRO', { account: 'console-filters' });
  const console = consoleFixture(bench);
  const { page, button, provoke, expectAccessible } = console;
  let codes: readonly string[];

  before('visit links of two tags', async () => {
    const links = [
      { url: 'https://shop.example.com/a', tags: ['q4', 'Shop & more'], visits: 3 },
      { url: 'https://shop.example.com/b', tags: ['q4'], visits: 2 },
      { url: 'https://news.example.com/', tags: ['q3'], visits: 4 },
    ];
    codes = await Promise.all(
      links.map(async ({ visits, ...body }) => {
        const { shortCode } = await bench.link(key.key, body);
        for (let visit = 0; visit < visits; visit += 1) await bench.visit(shortCode);
        return shortCode;
      }),
    );
    await eventuallyPasses(async () => {
      const response = await bench.api('/v2/stats?include=tags&tag=q4', key.key);
      const { period, tags } = response.json() as AccountStatsResponse;
      expect([period.clickCount, tags?.values.length]).to.deep.equal([5, 2]);
      expect((await bench.api('/v2/stats', key.key)).json()).to.include({ clickCount: 9 });
    });
  });

  const card = (name: string) => page.getByRole('region', { name, exact: true });
  const show = (list: string) => button(list, card('Most clicked')).click();
  const textsOf = (name: string) => card(name).getByRole('listitem').allInnerTexts();

  /** @param lists the names and clicks of the shown list of the card of links and tags */
  const expectNumbers = (total: number, lists: readonly (readonly [string, number])[]) =>
    eventuallyPasses(async () => {
      const figure = await page.locator('dd .figure').first().textContent();
      expect(Number(figure)).to.equal(total);
      await page.getByRole('img', { name: `${total} clicks over time.` }).waitFor();
      const rows = await textsOf('Most clicked');
      expect(rows.map((row) => [row.split('\n')[0], Number(row.split('\n').at(-1))])).to.deep.equal(
        lists,
      );
      const [referrers = ''] = await textsOf('Sources');
      expect(Number(referrers.split('\n').at(-1))).to.equal(total);
    });
  const ofLinks = (...clicks: readonly number[]) => {
    const sorted = [codes[2], codes[0], codes[1]];
    return [4, 3, 2].flatMap((count, index) =>
      clicks.includes(count) ? [[sorted[index] ?? '', count] as const] : [],
    );
  };
  const allTags = [
    ['q4', 5],
    ['q3', 4],
    ['Shop & more', 3],
  ] as const;
  const ofQ4 = [
    ['q4', 5],
    ['Shop & more', 3],
  ] as const;

  it('are set by a click on a tag, kept by the address, and removed by Back', async () => {
    await console.signIn(key.key);
    await expectNumbers(9, ofLinks(4, 3, 2));
    await card('Live').waitFor();
    await show('Tags');
    await expectNumbers(9, allTags);
    await page.getByRole('link', { name: 'q4', exact: true }).press('Enter');
    await expectNumbers(5, ofQ4);
    expect(new URL(page.url()).searchParams.get('tag')).to.equal('q4');
    await card('Live').waitFor({ state: 'detached' });
    await expectAccessible('filtered');
    await page.reload();
    await expectNumbers(5, ofQ4);
    await show('Top links');
    await expectNumbers(5, ofLinks(3, 2));
    await page.getByRole('button', { name: /^Period/ }).click();
    await page.getByLabel('Compare with the period before').check();
    await page.getByText('before: 0').first().waitFor();
    expect(new URL(page.url()).search).to.equal('?tag=q4&compare=1');
    for (let step = 0; step < 3; step += 1) await page.goBack();
    await expectNumbers(9, allTags);
    expect(new URL(page.url()).search).to.equal('?lists=tags');
    await page.goForward();
    await expectNumbers(5, ofQ4);
    await page.getByRole('link', { name: 'Without the tag: q4' }).click();
    await expectNumbers(9, allTags);
    await card('Live').waitFor();
  });

  it('are set by a click on a destination, for its host, and a click on a link keeps the period', async () => {
    await console.signIn(key.key);
    await console.show('?period=7d');
    await page.getByRole('link', { name: 'Only links to shop.example.com:' }).first().click();
    await expectNumbers(5, ofLinks(3, 2));
    expect(new URL(page.url()).search).to.equal('?destination=shop.example.com&period=7d');
    await page.getByRole('button', { name: /^Period/ }).click();
    await button('Last 90 days').click();
    await expectNumbers(5, ofLinks(3, 2));
    await page.getByRole('link', { name: codes[0] ?? '', exact: true }).click();
    await page.getByRole('img', { name: '3 clicks over time.' }).waitFor();
    expect(new URL(page.url()).search).to.equal('?period=90d');
  });

  it('that match no link show an empty page, and rejected ones the message instead of numbers', async () => {
    await console.signIn(key.key);
    await console.show('?tag=none');
    await page.getByText('No links match.').waitFor();
    expect(await page.locator('dd .figure').first().textContent()).to.equal('0');
    expect(await page.getByRole('alert').allTextContents()).to.deep.equal([]);
    // Within the page, which has numbers of another filter.
    await page.evaluate(`{
      history.pushState(null, '', '?tag=${'x'.repeat(51)}');
      dispatchEvent(new Event('popstate'));
    }`);
    provoke(loadError(400), loadError(400));
    await page.getByText('tag must be given at most 20 times').first().waitFor();
    expect(await page.locator('dd .figure').first().textContent()).to.equal('–');
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await expectNumbers(9, ofLinks(4, 3, 2));
  });

  it('of a link are set by a click on a value of its visits, and removed by a second one', async () => {
    const [code = ''] = codes;
    const headers = {
      'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
    };
    await bench.visit(code, { headers });
    await eventuallyPasses(async () => {
      expect((await bench.api(`/v2/stats/${code}`, key.key)).json()).to.include({ clickCount: 4 });
    });
    await console.signIn(key.key);
    await console.show(`/links/${code}`);
    await page.getByRole('img', { name: '4 clicks over time.' }).waitFor();
    const value = (name: string) => page.getByRole('link', { name, exact: true });
    await value('Firefox').click();
    await page.getByRole('img', { name: '1 clicks over time.' }).waitFor();
    await button('Systems').click();
    await value('Linux').click();
    await page.getByRole('link', { name: 'Without the System: Linux' }).waitFor();
    expect(new URL(page.url()).search).to.equal('?lists=os&browser=Firefox&os=Linux');
    await expectAccessible('filtered by visits');
    await page.reload();
    await page.getByRole('img', { name: '1 clicks over time.' }).waitFor();
    await bench.visit(code);
    await bench.visit(code, { headers });
    await page.getByRole('img', { name: '2 clicks over time.' }).waitFor();
    await value('Linux').click();
    await page.getByRole('link', { name: 'Without the Browser: Firefox' }).click();
    await page.getByRole('img', { name: '6 clicks over time.' }).waitFor();
    expect(new URL(page.url()).search).to.equal('?lists=os');
  });
});
