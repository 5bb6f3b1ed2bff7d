import { expect } from 'chai';
import { consoleFixture, loadError } from '../support/console.js';
import type { IssuedKey } from '../support/product.js';
import { receiverFixture, type Hook } from '../support/receiver.js';
import { eventually } from '../support/waiting.js';
import { sharedProduct } from './harness.js';

describe('the console’s webhooks', () => {
  const bench = sharedProduct();
  const receiver = receiverFixture();
  const console = consoleFixture(bench);
  const { page, button, goTo, dialog, show, provoke, expectAccessible } = console;
  let key: IssuedKey;
  let hook: Hook;

  beforeEach(async () => {
    key = await bench.key('PRO', { account: `webhooks-${Date.now()}` });
    hook = receiver.hook();
  });

  /** Reads the secret of the dialog, and closes it. */
  const keepSecret = async (): Promise<string> => {
    const shown = page.getByRole('dialog', { name: 'Keep this secret' });
    const secret = (await shown.locator('code').textContent()) ?? '';
    await button('I have kept it', shown).click();
    return secret;
  };

  /** Creates a webhook with the default events through the API, and opens its page. */
  const openWebhook = async (body: object = {}): Promise<string> => {
    const request = { method: 'POST', body: { url: hook.url, ...body } };
    const created = await bench.api('/v2/webhooks', key.key, request);
    expect(created.status, created.text).to.equal(201);
    const { id } = created.json() as { readonly id: string };
    await console.signIn(key.key);
    await show(`/webhooks/${id}`);
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    return id;
  };

  /** Refreshes the page until it has a delivery with this status. */
  const expectDelivery = (status: string): Promise<void> =>
    eventually(`a delivery is ${status}`, async () => {
      await button('Refresh').click();
      return (await page.locator(`li .badge.${status}`).count()) > 0;
    });

  it('are created with selected events; the secret is shown once', async () => {
    await console.signIn(key.key);
    await goTo('Webhooks');
    await page.getByText('This account has no webhooks yet.').waitFor();
    await page.getByLabel('URL').fill('http://192.0.2.1/hook');
    await button('Create webhook').click();
    await page
      .getByText('The URL must start with https:// and lead to a public address.')
      .waitFor();
    await page.getByLabel('URL').and(page.locator(':focus[aria-invalid=true]')).waitFor();
    provoke(loadError(400));

    await page.getByLabel('URL').fill(hook.url);
    await page.getByLabel('Description').fill('the till <b>مفتاح</b>');
    await page.getByText('Choose events').click();
    await page.getByLabel('Link created').check();
    await page.getByLabel('Link visited').check();
    await button('Create webhook').click();
    await expectAccessible('the secret');
    const secret = await keepSecret();
    expect(secret).to.match(/^whsec_/);
    expect(await page.getByLabel('URL').inputValue()).to.equal('');

    await page.getByRole('link', { name: hook.url }).waitFor();
    expect(await page.content()).not.to.include(secret);
    const { shortCode } = await bench.link(key.key);
    await eventually('the event is delivered', () => hook.deliveries.length > 0);
    expect(hook.deliveries[0]?.body).to.include(shortCode);
    await page.reload();
    await page.getByText(/Last delivery .*: delivered\./).waitFor();
  });

  it('are tested, changed, paused, enabled and deleted', async () => {
    const id = await openWebhook({ description: 'orders' });
    await page.getByRole('heading', { name: 'orders' }).waitFor();
    await button('Test').click();
    await page.getByText(/Test delivered: status 204, \d+ ms\./).waitFor();
    hook.respond(500);
    await button('Test').click();
    await page.getByText(/Test not delivered: status 500, \d+ ms\./).waitFor();
    await button('Edit').click();
    // No server listens on the port of TCP Port Service Multiplexer.
    await dialog().getByLabel('URL').fill('http://127.0.0.1:1/hook');
    await dialog().getByLabel('Description').fill('');
    await dialog().getByText('Choose events').click();
    await dialog().getByLabel('Link created').check();
    await expectAccessible('change');
    await button('Save', dialog()).click();
    await page.getByRole('heading', { name: '127.0.0.1:1' }).waitFor();
    await button('Test').click();
    await page.getByText(/Test not delivered: .*[a-z].*, \d+ ms\./).waitFor();

    await button('Pause').click();
    await page.getByText('paused', { exact: true }).waitFor();
    await bench.link(key.key);
    await eventually('the event waits', async () => {
      await button('Refresh').click();
      // The change of the webhook may wait too.
      return page.getByText(/(?:One event waits|[1-9] events wait)\./).isVisible();
    });
    await expectAccessible('paused');
    await button('Enable').click();
    await page.getByText('paused', { exact: true }).waitFor({ state: 'detached' });

    await button('Delete').click();
    await dialog().getByText('gets no more events').waitFor();
    await expectAccessible('delete');
    await button('Delete', dialog()).click();
    await page.getByText('This account has no webhooks yet.').waitFor();
    await show(`/webhooks/${id}`);
    await page.getByText('Webhook not found').first().waitFor();
    provoke(loadError(404), loadError(404));
  });

  it('list deliveries with their attempts, which can be retried', async () => {
    hook.respond(503);
    await openWebhook();
    await bench.link(key.key);
    await expectDelivery('pending');
    await page.getByText('Next attempt').waitFor();
    await page.getByText(/^One attempt: status 503, \d+ ms$/).click();
    await page.getByText('retrying', { exact: true }).waitFor();
    await page.getByText('Request body').click();
    await page.getByText('"type": "linklog.LinkCreated.').waitFor();
    await page.getByText(/^failing since /).waitFor();
    await expectAccessible('pending');
    await page.getByRole('link', { name: 'Delivered' }).click();
    await page.getByText('No deliveries.').waitFor();
    await page.getByRole('link', { name: 'Failed' }).click();
    await page.getByText('retrying', { exact: true }).waitFor();
    hook.respond(204);
    await button('Retry all').click();
    await expectAccessible('retry all');
    let loads = 0;
    page.on('response', (response) => {
      if (/status=failed.*limit=20/.test(response.url())) loads += 1;
    });
    await button('Retry all', dialog()).click();
    await eventually('the list is loaded after the attempts, too', () => loads > 1);
    await page.getByRole('link', { name: 'All', exact: true }).click();
    await expectDelivery('delivered');
    await page.getByText(/^failing since /).waitFor({ state: 'detached' });
    // On a busy machine, the first retry may come before the button.
    await page.getByText(/^[23] attempts, the last: status 204/).waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    const [first, second] = hook.deliveries;
    expect(second).to.deep.include({ id: first?.id, body: first?.body });
  });
});
