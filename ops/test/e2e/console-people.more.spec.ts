import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { developerRoutes, openRoute, operatorRoutes } from '../support/console-pages.js';
import { consoleFixture, faultsInAllModes, loadError, openConsole } from '../support/console.js';
import { browserFixture } from '../support/fixtures.js';
import { fixture } from '../support/fixture.js';
import { startIdentityProvider, type Claims } from '../support/identity-provider.js';
import { productFixture } from './harness.js';

const person = (sub: string, name: string, groups: readonly string[] = []): Claims => ({
  ...{ sub, name, groups, email: `${sub}@example.com`, email_verified: true },
});
const maria = person('maria', 'María <b>Ruiz</b>', ['owners']);
const lena = person('lena', 'Lena', ['owners', 'beta-editors']);
const vera = person('vera', 'Vera', ['viewers']);
const noor = person('noor', 'نور 🎉');

const signInWith = 'Sign in with Acme';

/** The provider is on 127.0.0.1, so that it is another site. */
const siteOf = (listener: string): string => listener.replace('127.0.0.1', 'localhost');

describe('people in the console', () => {
  const provider = fixture(startIdentityProvider, (started) => started.stop());
  const bench = productFixture(() => ({
    ...provider.env,
    OIDC_SCOPES: 'openid profile email groups',
    OIDC_ROLES:
      'owners=acme:owner,viewers=acme:viewer,beta-editors=beta:editor,ops=operator,audit=auditor',
  }));
  const api = (): string => siteOf(bench.product.api);
  const admin = (): string => siteOf(bench.product.admin);
  before(async () => {
    provider.register({ apis: [api()], admins: [admin()] });
    // Of a plan with room for the calls of these tests.
    for (const account of ['acme', 'beta']) await bench.key('PRO', { account });
  });

  const browser = browserFixture();
  const console = consoleFixture(bench);
  const { page, button, goTo, dialog, provoke, expectAccessible } = console;
  const header = () => page.getByRole('banner');

  const signIn = async (claims: Claims, at = api(), locale = 'en'): Promise<void> => {
    provider.become(claims);
    await console.open(at, { locale, other: provider.issuer });
    await page.getByRole('link', { name: /Acme/ }).click();
    await page.getByRole('button', { name: /^(?:Sign out|Abmelden)$/ }).waitFor();
  };

  /** A window of another person, with its own cookies. */
  const otherWindow = async (claims: Claims, address: string) => {
    provider.become(claims);
    const opened = await openConsole(browser, api());
    await opened.page.goto('about:blank');
    await opened.page.goto(address);
    return opened.page;
  };

  /** Presses Tab until an element has the focus. */
  const tabTo = async (element: Locator): Promise<void> => {
    await element.waitFor();
    const focused = element.and(page.locator(':focus'));
    for (let presses = 0; presses < 50; presses += 1) {
      if ((await focused.count()) > 0) return;
      await page.keyboard.press('Tab');
    }
    expect.fail(`Tab does not reach ${String(element)}`);
  };
  const press = async (element: Locator, keys: string): Promise<void> => {
    await tabTo(element);
    await page.keyboard.press(keys);
  };
  const type = async (element: Locator, text: string): Promise<void> => {
    await tabTo(element);
    await page.keyboard.type(text);
  };

  /** Invites as an owner by keyboard, and returns the address. @param role its first letters */
  const invite = async (role: string, email = ''): Promise<string> => {
    await press(page.getByRole('link', { name: 'People', exact: true }), 'Enter');
    await type(page.getByLabel('Role', { exact: true }), role);
    await type(page.getByLabel('E-mail'), email);
    await press(button('Invite'), 'Enter');
    const address = (await dialog().locator('code').textContent()) ?? '';
    await expectAccessible('the address of an invitation');
    await press(button('I have kept it', dialog()), 'Enter');
    return address;
  };

  it('signs in by keyboard, switches the account, and signs out at the provider', async () => {
    provider.become(lena);
    await console.open(api(), { other: provider.issuer });
    await page.getByRole('link', { name: signInWith }).waitFor();
    await page.getByLabel('API key').waitFor();
    await expectAccessible('sign-in');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await header().getByText('Lena').waitFor();
    expect(page.url()).to.equal(`${api()}/console`);
    await page.getByRole('link', { name: 'Keys', exact: true }).waitFor();

    await button('acme Switch account').focus();
    await page.keyboard.press('Enter');
    await dialog().getByLabel('Account').waitFor();
    await expectAccessible('switch');
    await dialog().getByLabel('Account').selectOption('beta (Editor)');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await button('beta Switch account').waitFor();
    await page.getByRole('link', { name: 'Keys', exact: true }).waitFor({ state: 'detached' });
    await goTo('People');
    await page.getByText('The identity provider manages this role.').waitFor();
    await button('Invite').waitFor({ state: 'detached' });

    await button('Sign out').click();
    await page.getByRole('button', { name: 'Yes, sign me out' }).click();
    await page.getByRole('link', { name: signInWith }).waitFor();
    expect(page.url()).to.equal(`${api()}/console`);
  });

  it('invites a person, changes its role and removes it by keyboard, while its page is open', async () => {
    await signIn(maria);
    const address = await invite('Editor', 'NOOR@example.com');
    await page.getByRole('group', { name: 'NOOR@example.com' }).waitFor();
    await expectAccessible('people');

    const other = await otherWindow(noor, address);
    await other.getByText('You are invited to account acme with the role Editor.').waitFor();
    await other.getByText('Also creates, changes, deletes and imports links.').waitFor();
    expect(other.url()).not.to.include('#');
    expect(await faultsInAllModes(other), 'the invitation').to.deep.equal([]);
    await other.getByRole('button', { name: 'Accept' }).focus();
    await other.keyboard.press('Enter');
    await other.getByRole('banner').getByText('نور').waitFor();
    await page.getByText('No invitation is pending.').waitFor();

    await other.getByRole('link', { name: 'New link' }).first().click();
    await other.getByLabel('Destination').fill('https://example.com/kept');
    const row = page.getByRole('group', { name: 'نور' });
    await press(button('Change role', row), 'Enter');
    await type(dialog().getByLabel('Role'), 'Viewer');
    await expectAccessible('change');
    await press(button('Save', dialog()), 'Enter');
    await page.getByText('The role was changed.').waitFor();
    await other.getByText('This needs the scope “Create links”').waitFor();
    await other.getByRole('link', { name: 'New link' }).waitFor({ state: 'detached' });

    await press(button('Remove', row), 'Enter');
    await press(dialog().getByLabel('Revoke the keys'), 'Space');
    await expectAccessible('remove');
    await press(button('Remove', dialog()), 'Enter');
    await page.getByText('The person was removed.').waitFor();
    await other.getByRole('link', { name: 'Links', exact: true }).click();
    await other.getByText('Your session has ended').waitFor();
    expect(await faultsInAllModes(other), 'the end of the session').to.deep.equal([]);
    await other.context().close();

    const used = await otherWindow(noor, address);
    await used.getByText('Invitation not found').waitFor();
    await used.context().close();
  });

  it('continues with the input after a sign-in in another tab', async () => {
    await signIn(maria);
    await goTo('New link');
    await page.getByLabel('Destination').fill('https://example.com/kept');
    await page.getByLabel('Alias').fill('kept-in-the-form');
    await page.context().clearCookies();
    await button('Create the link').click();
    const link = dialog().getByRole('link', { name: signInWith });
    const [tab] = await Promise.all([page.waitForEvent('popup'), link.click()]);
    await tab.getByRole('button', { name: 'Sign out' }).waitFor();
    await tab.close();
    // Headless browsers show all tabs.
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.getByText('Your link is live').waitFor();
    provoke(loadError(401));
    await goTo('Links');
    await page.getByText('kept-in-the-form').first().click();
    await goTo('History');
    await page.getByText('by María <b>Ruiz</b>').waitFor();
  });

  it('shows the reason why the last owner stays', async () => {
    await signIn(maria);
    const address = await invite('Owner');
    const other = await otherWindow(noor, address);
    await other.getByRole('button', { name: 'Accept' }).click();
    await other.getByRole('banner').getByText('acme').waitFor();
    await other.context().close();
    // Their groups no longer give the role.
    for (const owner of [maria, lena]) await signIn({ ...owner, groups: ['beta-editors'] });
    await signIn(noor);
    await goTo('People');
    await button('Change role', page.getByRole('group', { name: 'نور' })).click();
    await button('Save', dialog()).waitFor();
    await dialog().getByLabel('Role').selectOption('viewer');
    await button('Save', dialog()).click();
    await dialog().getByText('An account needs an owner').waitFor();
    provoke(loadError(409));
  });

  for (const locale of ['en', 'de-DE']) {
    it(`has no pages and buttons that a viewer lacks: ${locale}`, async function () {
      this.timeout(120_000);
      const { key } = await bench.key('PRO', { account: 'acme' });
      const { shortCode } = await bench.link(key, { tags: ['a-tag'] });
      await bench.visit(shortCode);
      await bench.expectClicks(shortCode, key, 1);
      await signIn(vera, api(), locale);
      const lacking = [
        ...['new link', 'new links', 'its settings', 'import', 'domains', 'webhooks', 'keys'],
      ];
      for (const route of developerRoutes(shortCode)) {
        const needs = lacking.includes(route.name) ? ['main h1'] : route.needs;
        await openRoute(page, api(), { ...route, needs });
        await expectAccessible(route.name);
      }
      await console.page.goto(`${api()}/console/links`);
      await page.locator('tbody tr').first().waitFor();
      await page.locator('main input[type=checkbox]').first().waitFor({ state: 'detached' });
      for (const path of ['/new', '/keys', '/webhooks', '/imports']) {
        await page.goto(`${api()}/console${path}`);
        await page.locator('main p code').waitFor();
        expect(await page.locator('main form').count(), path).to.equal(0);
      }
    });
  }

  it('lists people of all accounts for operators, who set and remove roles', async () => {
    await signIn(vera);
    await signIn(person('otto', 'Otto', ['ops']), admin());
    await header().getByText('Otto').waitFor();
    await goTo('Sessions');
    await page.locator('main bdi').getByText('Otto').waitFor();
    await goTo('People');
    const row = page.getByRole('group', { name: 'Vera' });
    await button('Set a role', row).click();
    await dialog().getByLabel('Account').fill('gamma');
    await dialog().getByLabel('Role').selectOption('owner');
    await expectAccessible('set a role');
    await button('Save', dialog()).click();
    await page.getByText('gamma: Owner.').waitFor();
    await expectAccessible('people of all accounts');
    await button('Remove', row).click();
    await dialog().getByLabel('Account').selectOption('gamma');
    await button('Remove', dialog()).click();
    await dialog().getByText('An account needs an owner').waitFor();
    provoke(loadError(409));
    await button('Cancel', dialog()).click();
    await goTo('Changes');
    await page.getByText('by Otto').first().waitFor();
    await page.getByText('Person added').and(page.locator('strong')).first().waitFor();
    await page
      .getByText(/^Vera \(.+\)$/)
      .first()
      .waitFor();
    await expectAccessible('changes');
  });

  it('has no buttons that change something for auditors', async function () {
    this.timeout(120_000);
    const { key } = await bench.key('PRO', { account: 'acme' });
    const { shortCode } = await bench.link(key);
    await signIn(person('auda', 'Auda', ['audit']), admin());
    const routes = operatorRoutes(shortCode).filter(({ name }) => name !== 'its settings');
    for (const route of routes) {
      const needs = route.name === 'platform' ? ['main h2'] : route.needs;
      await openRoute(page, admin(), { ...route, needs });
      await expectAccessible(route.name);
      // Filters, copies and the search of a link change nothing.
      const buttons = await page
        .locator('main button:not([aria-pressed]):visible, main label:has([type=checkbox])')
        .allTextContents();
      const harmless = /Copy|Search|Show the link|Download|Filters|Period|Pause|Compare/;
      expect(
        buttons.filter((title) => !harmless.test(title)),
        route.name,
      ).to.deep.equal([]);
    }
  });
});

describe('the console without keys', () => {
  const provider = fixture(startIdentityProvider, (started) => started.stop());
  const bench = productFixture(() => ({ ...provider.env, CONSOLE_SIGN_IN: 'oidc' }));
  const console = consoleFixture(bench);

  it('offers the identity provider only', async () => {
    for (const listener of [bench.product.api, bench.product.admin]) {
      await console.open(listener);
      await console.page.getByRole('link', { name: signInWith }).waitFor();
      await console.page.locator('input').first().waitFor({ state: 'detached' });
    }
  });
});
