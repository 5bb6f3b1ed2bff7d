import { expect } from 'chai';
import { consoleFixture, loadError } from '../support/console.js';
import type { IssuedKey } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import { destination, sharedProduct } from './harness.js';

describe('the console', () => {
  const bench = sharedProduct();
  const console = consoleFixture(bench);
  const { page, button, goTo, dialog, expectAccessible } = console;
  let key: IssuedKey;

  beforeEach(async () => {
    key = await bench.key('PRO', { account: `account-${Date.now()}` });
    await console.signIn(key.key);
  });

  const keepSecret = async (): Promise<string> => {
    const shown = page.getByRole('dialog', { name: 'Keep this key' });
    const secret = (await shown.locator('code').textContent()) ?? '';
    await shown.getByRole('button').last().click();
    return secret;
  };
  const expectStatus = (secret: string, status: number): Promise<void> =>
    eventuallyPasses(async () => {
      expect((await bench.api('/v2/stats', secret)).status).to.equal(status);
    });

  for (const zone of ['Etc/Unknown', '', 'UTC+3']) {
    it(`has times in UTC, or in a chosen zone, if the browser reports the zone “${zone}”`, async () => {
      await console.open();
      // Chromium reports them for a TZ that it does not know.
      await page.addInitScript(`{
        const { resolvedOptions } = Intl.DateTimeFormat.prototype;
        Intl.DateTimeFormat.prototype.resolvedOptions = function () {
          return { ...resolvedOptions.call(this), timeZone: ${JSON.stringify(zone)} };
        };
      }`);
      await page.reload();
      await console.signIn(key.key);
      const banner = page.getByRole('note');
      await banner.getByText('reports no known time zone').waitFor();
      expect(await banner.getByRole('combobox').inputValue()).to.equal('UTC');
      await expectAccessible();
      await banner.getByRole('combobox').focus();
      await banner.getByRole('combobox').selectOption('America/New_York');
      await goTo('New link');
      await page.getByText('More options').click();
      await page.getByLabel('Destination').fill(destination);
      await page.getByLabel('Starts').first().fill('2030-01-02T03:04');
      await page.getByLabel('Expires').selectOption('time');
      await page.getByText('In your time zone, America/New_York.').waitFor();
      await page.getByLabel('Expires').selectOption('');
      await button('Create the link').click();
      await page.getByText('Your link is live').waitFor();
      // The list is exact within 1 s.
      await eventuallyPasses(async () => {
        const { links } = (await bench.api('/v2/links', key.key)).json() as {
          readonly links: readonly { readonly startsAt: string }[];
        };
        expect(links.map(({ startsAt }) => startsAt)).to.deep.equal(['2030-01-02T08:04:00.000Z']);
      });
    });
  }

  it('ends all other sessions together', async () => {
    for (let others = 0; others < 2; others += 1) {
      await console.open();
      await console.signIn(key.key);
    }
    await goTo('Sessions');
    await page.getByText('this session').waitFor();
    const sessions = page.getByRole('listitem').filter({ hasText: 'last used' });
    expect(await sessions.count()).to.equal(3);
    await button('Sign out all others').click();
    await expectAccessible();
    await button('Sign out all others', dialog()).click();
    await dialog().waitFor({ state: 'detached' });
    await button('Sign out all others').waitFor({ state: 'detached' });
    expect(await sessions.count()).to.equal(1);
  });

  it('shows maintenance once, and all parts of the page after it', async () => {
    const maintain = (maintenance: boolean) =>
      bench.admin('PATCH', '/admin/platform', { maintenance });
    await maintain(true);
    await page.getByText('Maintenance since').waitFor();
    await page.reload();
    await page.getByText('Maintenance since').waitFor();
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
    expect(await page.locator('.trouble').count()).to.equal(0);
    await maintain(false);
    await page.getByText('Maintenance since').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'API calls' }).waitFor();
    console.provoke(...console.faults().filter((fault) => fault === loadError(503)));
  });

  it('offers no invitation without an identity provider, because it could not be accepted', async () => {
    await goTo('People');
    await page.getByText('this installation has no identity provider').waitFor();
    expect(await button('Invite').count()).to.equal(0);
    await expectAccessible();
  });

  it('does not offer to activate a key that a key above that of the session deactivated', async () => {
    const createKey = async (by: string): Promise<IssuedKey> => {
      const response = await bench.api('/v2/keys', by, { method: 'POST', body: { name: 'below' } });
      return response.json() as IssuedKey;
    };
    const child = await createKey(key.key);
    const { id } = await createKey(child.key);
    const off = { method: 'PATCH', body: { active: false } };
    await bench.api(`/v2/keys/${id}`, key.key, off);
    await console.open();
    await console.signIn(child.key);
    await goTo('Keys');
    await page.getByText('deactivated by a key above this session’s').waitFor();
    expect(await button('Activate').count()).to.equal(0);
  });

  it('creates a key with fewer scopes, rotates it, and revokes it', async () => {
    await goTo('Keys');
    await page.getByLabel('Name').fill('only statistics');
    for (const scope of [
      ...['Create links', 'Read links', 'Change and delete', 'Create QR', 'Manage keys'],
      ...['Manage domains', 'Read events', 'Manage webhooks'],
    ]) {
      await page.getByLabel(scope).uncheck();
    }
    await button('Create key').click();
    await dialog().waitFor();
    await expectAccessible('the new key');
    const secret = await keepSecret();
    expect((await bench.shorten(secret, { url: destination })).status).to.equal(403);
    await expectStatus(secret, 200);

    const row = page.getByRole('group', { name: 'only statistics' });
    const renamed = page.getByRole('group', { name: 'statistics alone' });
    await button('Edit', row).click();
    await dialog().getByLabel('Name').fill('statistics alone');
    await expectAccessible('change');
    await button('Save', dialog()).click();
    await button('Rotate', renamed).click();
    await dialog().waitFor();
    await expectAccessible('rotate');
    await button('Rotate', dialog()).click();
    const next = await keepSecret();
    await expectStatus(next, 200);
    await expectStatus(secret, 401);

    await button('Deactivate', renamed).click();
    await button('Deactivate', dialog()).click();
    await button('Activate', renamed).click();
    await button('Deactivate', renamed).waitFor();
    const { keys } = (await bench.api('/v2/keys', key.key)).json() as { keys: { id: string }[] };
    const off = await bench.admin('PATCH', `/admin/keys/${keys[1]?.id}`, { active: false });
    expect(off.status, off.text).to.equal(200);
    await page.getByText('switched off by an operator').waitFor();
    expect(await button('Activate', renamed).count()).to.equal(0);

    await button('Revoke', renamed).click();
    await dialog().waitFor();
    await expectAccessible('revoke');
    await button('Revoke', dialog()).click();
    await renamed.waitFor({ state: 'detached' });
    await expectStatus(next, 401);
  });
});
