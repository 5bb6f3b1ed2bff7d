import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../support/browser.js';
import {
  faultsInAllModes,
  openConsole,
  signInToOperate,
  type ConsolePage,
} from '../support/console.js';
import { eventually } from '../support/waiting.js';
import { destination, withProduct } from './harness.js';

describe('the operators’ console', () => {
  const bench = withProduct();
  let browser: Browser;
  let opened: ConsolePage;
  let page: Page;

  before(async () => {
    browser = await launchBrowser();
  });

  after(() => browser.close());

  beforeEach(async () => {
    opened = await openConsole(browser, bench.product.admin);
    ({ page } = opened);
    await signInToOperate(page, bench.product.adminToken, 'ann');
  });

  afterEach(async () => {
    await page.context().close();
    expect(opened.faults).to.deep.equal([]);
  });

  const goTo = (name: string): Promise<void> =>
    page.getByRole('link', { name, exact: true }).first().click();

  const button = (name: string) => page.getByRole('button', { name, exact: true });

  it('makes a key, which works, changes its plan, and revokes it', async () => {
    await goTo('Keys');
    await page.getByLabel('Name').fill('<b>an Arabic key</b> مفتاح');
    await page.getByLabel('Plan', { exact: true }).selectOption('HOBBY');
    await button('Make the key').click();
    const secret = (await page.getByRole('dialog').locator('code').textContent()) ?? '';
    await button('I have kept it').click();
    expect((await bench.api('/v2/usage', secret)).json()).to.include({ plan: 'HOBBY' });

    const row = page.getByRole('group', { name: 'an Arabic key' });
    await row.getByRole('combobox').selectOption('PRO');
    await eventually('the plan has changed', async () =>
      (await bench.api('/v2/usage', secret)).text.includes('PRO'),
    );

    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await bench.api('/v2/usage', secret)).status).to.equal(401);
  });

  it('blocks and unblocks a link, in the operator’s name', async () => {
    const { key } = await bench.key('PRO');
    const { shortCode } = await bench.link(key);
    await goTo('Links');
    await page.getByLabel('Short code').fill(shortCode);
    await button('Show its history').click();
    await page.getByText('Link created').waitFor();

    await page.getByLabel('Reason').fill('<script>alert(1)</script>');
    await button('Block').click();
    await page.getByText('Link blocked').waitFor();
    await eventually(
      'the link is blocked',
      async () => (await bench.visit(shortCode)).status === 410,
    );
    expect(await page.getByText('by ann').count()).to.equal(1);

    await page.getByLabel('Reason').fill('A mistake');
    await button('Unblock').click();
    await page.getByText('Link unblocked').waitFor();
    await eventually(
      'the link redirects',
      async () => (await bench.visit(shortCode)).headers.location === destination,
    );
  });

  it('switches features and maintenance', async () => {
    const { key } = await bench.key('PRO');
    await goTo('Platform');
    for (const [name, on, off] of [
      ['New links', 201, 400],
      ['The API and all short links answer 503', 201, 503],
    ] as const) {
      const box = page.getByLabel(name);
      await box.click();
      const status = async () => (await bench.shorten(key, { url: destination })).status;
      await eventually('it is switched off', async () => (await status()) === off);
      await box.click();
      await eventually('it is switched on', async () => (await status()) === on);
    }
  });

  it('gives a reserved alias to an account', async () => {
    const { key } = await bench.key('PRO', { account: 'the-brand' });
    await goTo('Platform');
    await page.getByRole('textbox', { name: 'Alias' }).fill('paypal');
    await page.getByLabel('Account').fill('the-brand');
    await button('Save').click();
    await eventually('the alias is given', async () => {
      const answer = await bench.shorten(key, { url: destination, alias: 'paypal' });
      return answer.status === 201;
    });
  });

  it('shows dependencies and projections', async () => {
    await page.getByText('All is well').waitFor();
    await page.getByRole('rowheader', { name: 'redirects' }).waitFor();
  });

  it('rebuilds a projection, in the operator’s name', async () => {
    await goTo('Projections');
    await page
      .getByRole('group', { name: 'history' })
      .getByRole('button', { name: 'Rebuild' })
      .click();
    const dialog = page.getByRole('dialog', { name: 'Rebuild history?' });
    await dialog.waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Rebuild' }).click();
    await page.getByText(/^Rebuild by ann, .*: done, \d+ applied$/).waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
  });

  it('is for everybody, in the light, in the dark and on a telephone', async () => {
    await button('Sign out').click();
    await page.getByLabel('Admin token').waitFor();
    expect(await faultsInAllModes(page), 'sign-in').to.deep.equal([]);
    await signInToOperate(page, bench.product.adminToken, 'ann');
    for (const name of ['Health', 'Keys', 'Links', 'Projections', 'Platform']) {
      await goTo(name);
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await page.waitForLoadState('networkidle');
      expect(await faultsInAllModes(page), name).to.deep.equal([]);
    }
  });
});
