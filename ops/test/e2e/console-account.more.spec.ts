import { expect } from 'chai';
import { consoleFixture } from '../support/console.js';
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

    await button('Revoke', renamed).click();
    await dialog().waitFor();
    await expectAccessible('revoke');
    await button('Revoke', dialog()).click();
    await renamed.waitFor({ state: 'detached' });
    await expectStatus(next, 401);
  });
});
