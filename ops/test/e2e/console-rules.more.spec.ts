import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { consoleFixture } from '../support/console.js';
import type { IssuedKey } from '../support/product.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { destination, sharedProduct } from './harness.js';

const agents = {
  iphone:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_1_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.1 Mobile/15E148 Safari/604.1',
  windows:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
} as const;

const urls = { ios: 'https://example.com/ios', all: 'https://example.com/all' } as const;

describe('the console’s redirect rules', () => {
  const bench = sharedProduct();
  const console = consoleFixture(bench);
  const { page, button, show, expectAccessible } = console;
  let key: IssuedKey;

  beforeEach(async () => {
    key = await bench.key('PRO', { account: `rules-${Date.now()}` });
  });

  const rule = (number: number): Locator =>
    page.getByRole('group', { name: `Rule ${number}`, exact: true });

  const addRule = async (number: number, name: string, url: string): Promise<void> => {
    await button('Other rule …').click();
    await rule(number).getByLabel('Name of the rule').fill(name);
    await rule(number).getByLabel('URL').fill(url);
  };

  /** Expects the destinations of an iPhone and of a Windows browser. */
  const expectDestinations = (code: string, expected: readonly string[]): Promise<void> =>
    eventuallyPasses(async () => {
      const responses = await Promise.all(
        [agents.iphone, agents.windows].map((agent) =>
          bench.visit(code, { headers: { 'User-Agent': agent } }),
        ),
      );
      expect(responses.map(({ headers }) => headers.location)).to.deep.equal(expected);
    });

  it('get the campaign parameters of a new link', async () => {
    await console.signIn(key.key);
    await show('/new');
    await page.getByLabel('Destination').fill(destination);
    await page.getByLabel('Alias').fill('tagged-rules');
    await addRule(1, 'all', `${urls.all}?a=1#top`);
    await page.getByText('Campaign parameters').click();
    await page.getByLabel('Source').fill('mail');
    await button('Create the link').click();
    await page.getByText('Your link is live').waitFor();
    const tagged = `${urls.all}?a=1&utm_source=mail#top`;
    await expectDestinations('tagged-rules', [tagged, tagged]);
  });

  it('are created with a link, reordered and removed', async () => {
    await console.signIn(key.key);
    await show('/new');
    await page.getByLabel('Destination').fill(destination);
    await page.getByLabel('Alias').fill('with-rules');
    const form = page.locator('form.card');
    await button('Send iPhones to …').click();
    const { height = 0 } = (await form.boundingBox()) ?? {};
    expect(height).to.be.within(1, 900);
    await page.keyboard.type(urls.ios);
    await rule(1).getByLabel('Name of the rule').fill('ios');
    await addRule(2, 'all', urls.all);

    await page.getByText('What does a visitor get?').click();
    const visitor = page.getByRole('group', { name: 'A visitor' });
    await visitor.getByText(`→ ${urls.all} (rule all)`).waitFor();
    await visitor.getByLabel('System').selectOption('iOS');
    await visitor.getByText(`→ ${urls.ios} (rule ios)`).waitFor();
    await expectAccessible();

    await button('Create the link').click();
    await page.getByText('Your link is live').waitFor();
    await page.getByText('Rule 1').waitFor({ state: 'detached' });
    await expectDestinations('with-rules', [urls.ios, urls.all]);

    await show('/links/with-rules');
    await eventually('the clicks are shown by rule', async () => {
      await page.reload();
      await page.locator('.breakdown .bars li, .breakdown p').first().waitFor();
      return (await button('Redirect rule').count()) === 1;
    });
    await button('Redirect rule').click();
    await page.getByRole('region', { name: 'Sources' }).getByText('ios').waitFor();

    await show('/links/with-rules/settings');
    await page.getByText(`ios: iOS → ${urls.ios}`).waitFor();
    await page.getByText(`all: All visitors → ${urls.all}`).waitFor();
    // By keyboard: the focus stays on the button of the moved rule.
    await rule(2).getByRole('button', { name: 'Move up' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('all is now rule 1.').waitFor();
    expect(await rule(1).locator('.up:focus').count()).to.equal(1);
    expect(await rule(1).getByLabel('Name of the rule').inputValue()).to.equal('all');
    await button('Save').click();
    await page.locator('ol > li').first().getByText('all: All visitors').waitFor();
    await expectDestinations('with-rules', [urls.all, urls.all]);

    await button('Save').click();
    await page.getByText('Nothing is changed yet.').waitFor();
    await button('Remove rule 1').click();
    await button('Remove rule 1').click();
    await button('Save').click();
    await page.getByText('All visitors').waitFor({ state: 'detached' });
    await expectDestinations('with-rules', [destination, destination]);
    const details = await bench.api('/v2/links/with-rules', key.key);
    expect(details.json()).to.deep.include({ rules: null, forwardQuery: false });
  });

  it('split visitors when one more destination is filled in, and are not lost without a question', async () => {
    await console.signIn(key.key);
    await show('/new');
    await button('A/B test …').click();
    await console.goTo('Keys');
    await button('Stay').click();
    await button('Remove rule 1').click();
    await page.getByLabel('Destination').fill(destination);
    await button('A/B test …').click();
    await page.keyboard.type(urls.all);
    await page.getByLabel('Alias').fill('ab-split');
    await button('Create the link').click();
    await page.getByText('Your link is live').waitFor();
    const split = [
      { name: 'a', url: destination, weight: 1 },
      { name: 'b', url: urls.all, weight: 1 },
    ];
    const details = await bench.api('/v2/links/ab-split', key.key);
    expect(details.json()).to.deep.include({ rules: [{ name: 'ab-test', when: {}, split }] });
  });

  it('keep conditions of the query and of networks; options of redirects and previews are set and removed', async () => {
    await console.signIn(key.key);
    await show('/new');
    await page.getByLabel('Destination').fill(destination);
    await page.getByLabel('Alias').fill('with-options');
    await page.getByText('Redirect and preview').click();
    await page.getByLabel('Forward the rest of the path').check();
    await page.getByLabel('Status of the redirect').selectOption('308');
    await page.getByLabel('After its end').fill('example.com/over');
    const card = page.getByRole('group', { name: 'Preview card' });
    await card.getByLabel('Heading').fill('Sale');
    await card.getByLabel('Image').fill('example.com/a.png');
    await addRule(1, 'mail', urls.all);
    for (const name of ['Query parameters', 'Networks', 'System']) {
      await button('Add a condition', rule(1)).click();
      await button(name, rule(1)).click();
    }
    await rule(1).getByText('System: any').waitFor();
    await expectAccessible('conditions');
    await rule(1).getByLabel('Query parameters').fill('utm_source=news letter\nref=*\n!test');
    // The page renders again before the field has a change event.
    await rule(1).getByLabel('Name of the rule').dispatchEvent('input');
    await rule(1).getByLabel('Networks').fill('192.0.2.0/24, 2001:db8::/32');
    await button('Create the link').click();
    await page.getByText('Your link is live').waitFor();
    const details = async () =>
      (await bench.api('/v2/links/with-options', key.key)).json() as object;
    const when = {
      query: { utm_source: 'news letter', ref: '*', test: null },
      networks: ['192.0.2.0/24', '2001:db8::/32'],
    };
    const set = {
      ...{ forwardPath: true, redirectStatus: 308, expiredUrl: 'https://example.com/over' },
      card: { title: 'Sale', image: 'https://example.com/a.png' },
    };
    expect(await details()).to.deep.include({
      ...set,
      rules: [{ name: 'mail', when, url: urls.all }],
    });

    await show('/links/with-options/settings');
    await button('Save').click();
    await page.getByText('Nothing is changed yet.').waitFor();
    await page.getByLabel('Forward the rest of the path').uncheck();
    await page.getByLabel('Status of the redirect').selectOption('');
    await card.getByLabel('Heading').fill('');
    await card.getByLabel('Image').fill('');
    await rule(1).getByLabel('Name of the rule').fill('renamed');
    await button('Save').click();
    await page.getByText('renamed: ').waitFor();
    const changed = await details();
    expect(changed).not.to.have.any.keys('forwardPath', 'redirectStatus', 'card');
    expect(changed).to.deep.include({ rules: [{ name: 'renamed', when, url: urls.all }] });
  });
});
