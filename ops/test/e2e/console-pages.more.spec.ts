import { expect } from 'chai';
import { messages } from '../../../schemas/http/errors.js';
import { developerRoutes, openRoute, operatorRoutes } from '../support/console-pages.js';
import { consoleFixture, faultsInAllModes, loadError } from '../support/console.js';
import { walkNewcomersPath } from '../support/newcomer.js';
import type { IssuedKey } from '../support/product.js';
import { destination, productFixture, sharedProduct } from './harness.js';

const disconnected = 'Failed to load resource: net::ERR_INTERNET_DISCONNECTED';

describe('the console’s pages', () => {
  const bench = sharedProduct();
  const console = consoleFixture(bench);
  const { page, button, goTo, dialog, show, provoke, expectAccessible } = console;
  let key: IssuedKey;

  beforeEach(async () => {
    key = await bench.key('PRO', { account: `pages-${Date.now()}` });
    await console.signIn(key.key);
  });

  const createLink = async (alias: string): Promise<void> => {
    await page.getByLabel('Destination').fill(destination);
    await page.getByLabel('Alias').fill(alias);
    await button('Create the link').click();
  };
  const linkIsLive = () => page.getByText('Your link is live').waitFor();

  it('request a new session when the session ends, and continue', async () => {
    await goTo('New link');
    await page.context().clearCookies();
    await createLink('after-a-break');
    await page.getByText('Your session has ended').waitFor();
    provoke(loadError(401));
    await expectAccessible();
    await dialog().getByLabel('API key').fill(key.key);
    await button('Sign in', dialog()).click();
    await linkIsLive();
  });

  it('show no data of the previous account after a sign-in', async () => {
    const other = await bench.key('FREE', { account: 'another' });
    await goTo('New link');
    await page.context().clearCookies();
    await createLink('for-the-first');
    provoke(loadError(401));
    await dialog().getByLabel('API key').fill(other.key);
    await button('Sign in', dialog()).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect((await bench.visit('for-the-first')).status).to.equal(404);
  });

  it('report a missing network, and retry', async () => {
    const { shortCode } = await bench.link(key.key);
    await show(`/links/${shortCode}`);
    await page.locator('.plot svg').waitFor();
    await page.context().setOffline(true);
    for (const name of ['History', 'Overview', 'Keys', 'Links', 'Domains', 'Webhooks']) {
      await goTo(name);
      await page.getByText('The service cannot be reached.').first().waitFor();
    }
    await expectAccessible();
    await page.context().setOffline(false);
    await button('Try again').first().click();
    await page.getByText('The service cannot be reached.').waitFor({ state: 'detached' });
    expect(new Set(console.faults())).to.deep.equal(new Set([disconnected]));
    provoke(...console.faults());
  });

  it('report a new version of the service, and load it', async () => {
    const files = '**/console/assets/*.js';
    // The files of the version before no longer exist.
    await page.route(files, (route) => route.fulfill({ status: 404 }));
    for (const name of ['Links', 'Keys']) {
      await goTo(name);
      await page.getByText('Linklog was updated.').waitFor();
    }
    await expectAccessible();
    expect(new Set(console.faults())).to.deep.equal(new Set([loadError(404)]));
    provoke(...console.faults());
    await page.unroute(files);
    await button('Try again').click();
    await button('Create key').waitFor();
  });

  it('count down while the rate limit is reached', async () => {
    const { key: free } = await bench.key('FREE');
    await console.open();
    await console.signIn(free);
    await goTo('New link');
    await Promise.all(Array.from({ length: 60 }, () => bench.api('/v2/usage', free)));
    await createLink('');
    await page.getByText(/Rate limit exceeded\. .* You can try again in \d+ s\./).waitFor();
    provoke(loadError(429));
    await expectAccessible();
    const headers = { 'Retry-After': '1' };
    await page.route('**/v2/shorten', (route) =>
      route.fulfill({ status: 503, headers, json: { message: messages.unavailable } }),
    );
    await button('Create the link').click();
    await page.getByText(`${messages.unavailable}. You can try again now.`).waitFor();
    provoke(loadError(503));
  });

  it('show the account of a one-time address, and confirm before they end a session', async () => {
    const other = await bench.key('HOBBY', { account: 'another-one', name: '<b>theirs</b>' });
    const issued = await bench.admin('POST', '/admin/console', { key: other.id });
    const { url } = issued.json() as { readonly url: string };
    const openAddress = async (): Promise<void> => {
      await page.goto('about:blank');
      await page.goto(url);
    };
    await openAddress();
    await page.getByText('account another-one, key <b>theirs</b>.').waitFor();
    await page.getByText('That session ends.').waitFor();
    expect(page.url()).not.to.include('#');
    await expectAccessible();
    await button('No, thanks').click();
    await page.getByRole('banner').getByText(key.account).waitFor();

    await openAddress();
    await button('Open it').click();
    await page.getByRole('banner').getByText('another-one').waitFor();
    await openAddress();
    await page.getByText('This address was used').waitFor();
    provoke(loadError(401));
  });

  it('keep the period in the URL, so that Back works', async () => {
    await bench.link(key.key);
    const period = (name: string) => page.getByRole('button', { name: `Period: ${name}` });
    await period('Last 30 days').click();
    await expectAccessible();
    await button('Last 7 days').click();
    await page.waitForURL(/period=7d/);
    await page.reload();
    await period('Last 7 days').waitFor();
    await page.goBack();
    await page.waitForURL(/console$/);
    await period('Last 30 days').waitFor();
  });

  it('have an icon for each entry of the menus, of both consoles', async () => {
    const expectIcons = async (count: number): Promise<void> => {
      const entries = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
      expect(await entries.count()).to.equal(count);
      expect(await entries.locator('path[d^=M]:visible').count()).to.equal(count);
    };
    await expectIcons(9);
    await console.openAsOperator();
    await expectIcons(9);
    const license = await fetch(`${bench.product.api}/console/lucide-license.txt`);
    expect(await license.text()).to.include('Lucide Icons and Contributors');
  });

  it('choose the period by keyboard and in a calendar', async () => {
    await bench.link(key.key);
    const period = (name: string) => page.getByRole('button', { name: `Period: ${name}` });
    for (const [typed, preset, name] of [
      ['d', 'today', 'Today'],
      ['w', '7d', 'Last 7 days'],
      ['m', 'month', 'This month'],
      ['y', '12m', 'Last 12 months'],
    ] as const) {
      await period(typed === 'd' ? 'Last 30 days' : '').waitFor();
      await page.keyboard.press(typed);
      await page.waitForURL(new RegExp(`period=${preset}$`));
      await period(name).waitFor();
    }
    await period('Last 12 months').click();
    await page.getByLabel('From', { exact: true }).fill('2026-01-01');
    await page.waitForURL(/period=custom&from=2026-01-01/);
    await page.getByLabel('To', { exact: true }).fill('2026-01-31');
    await page.getByLabel('Interval').selectOption('week');
    await page.getByLabel('Time zone').selectOption('UTC');
    await page.waitForURL(/from=2026-01-01&to=2026-02-01&interval=week/);
    await page.getByText('Jan 1 – 31, 2026').waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('From', { exact: true }).waitFor({ state: 'hidden' });
  });

  it('show user input as text only', async function () {
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
    await bench.expectClicks(shortCode, key.key, 1);
    for (const route of developerRoutes(shortCode)) {
      await openRoute(page, bench.product.api, route);
      await expectAccessible(route.name);
      expect(
        await page
          .locator(
            'main :not(.picture) > img, main script, main b, main :not(.plot > div) > svg:not(.spark)',
          )
          .count(),
      ).to.equal(0);
    }
    await show(`/links/${shortCode}/settings`);
    expect(await page.getByLabel('Title').inputValue()).to.equal(hostile);
    expect(await page.getByLabel('Destination').inputValue()).to.equal(long);
  });

  it('are accessible in German, in all modes', async function () {
    this.timeout(120_000);
    const { shortCode } = await bench.link(key.key, { tags: ['deutsch'] });
    await bench.visit(shortCode);
    await bench.expectClicks(shortCode, key.key, 1);
    await console.open(bench.product.api, { locale: 'de-DE' });
    await console.signIn(key.key);
    for (const route of developerRoutes(shortCode)) {
      await openRoute(page, bench.product.api, route);
      await expectAccessible(route.name);
    }
  });

  for (const locale of ['en', 'de-DE']) {
    it(`of operators are accessible in all modes: ${locale}`, async function () {
      this.timeout(120_000);
      const { shortCode } = await bench.link(key.key, { alias: `${locale}-${'w'.repeat(40)}` });
      await console.open(bench.product.admin, { locale });
      await page.getByLabel(/^Admin/).waitFor();
      await expectAccessible('sign-in');
      await console.openAsOperator({ locale });
      for (const route of operatorRoutes(shortCode)) {
        await openRoute(page, bench.product.admin, route);
        await expectAccessible(route.name);
      }
    });
  }
});

// A product of its own: the printed address opens the console once, within 10 minutes after the first start.
describe('the console of a new product', () => {
  const bench = productFixture();
  const console = consoleFixture(bench);

  it('leads from the printed address to the first click and the sign-out', async () => {
    const { ready, edge } = bench.product;
    const { console: address } = ready as { readonly console: string };
    // In a stack, the address is that of the node that created the first key.
    await console.open(new URL(address).origin);
    await walkNewcomersPath(console.page, { address, edge });
    expect(await console.page.context().cookies()).to.deep.equal([]);
    expect(await faultsInAllModes(console.page)).to.deep.equal([]);
  });
});
