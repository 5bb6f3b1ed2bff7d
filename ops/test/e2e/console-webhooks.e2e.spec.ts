import { expect } from 'chai';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { fixture } from '../support/fixture.js';
import { browserFixture } from '../support/fixtures.js';
import {
  faultsInAllModes,
  loadError,
  openConsole,
  signIn,
  type ConsolePage,
} from '../support/console.js';
import { scopeNames } from '../../../schemas/scopes.js';
import type { IssuedKey } from '../support/product.js';
import { eventually } from '../support/waiting.js';
import { productFixture } from './harness.js';

interface Received {
  /** The webhook-id. */
  readonly id: string;
  readonly signatures: readonly string[];
  readonly body: string;
}

/** A server that webhooks deliver to, with a settable status. */
const receiverFixture = () =>
  fixture(
    async () => {
      const received: Received[] = [];
      const receiver = { received, status: 204, url: '' };
      const server = createServer((request, response) => {
        // A request that is cut rejects, which fails the test.
        void text(request).then((body) => {
          const id = String(request.headers['webhook-id']);
          const signatures = String(request.headers['webhook-signature']).split(' ');
          received.push({ id, signatures, body });
          response.writeHead(receiver.status).end();
        });
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
      return Object.assign(receiver, { server });
    },
    ({ server }) => {
      server.closeAllConnections();
      server.close();
    },
    { per: 'test' },
  );

describe('the console’s webhooks', () => {
  const bench = productFixture({ WEBHOOK_NETWORKS: '127.0.0.0/8' });
  const browser = browserFixture();
  const receiver = receiverFixture();
  let opened: ConsolePage;
  let page: Page;
  let key: IssuedKey;
  /** The faults that a test expects. */
  let provoked: string[];

  beforeEach(async () => {
    key = await bench.key('PRO', { account: `webhooks-${Date.now()}` });
    opened = await openConsole(browser, bench.product.api);
    ({ page } = opened);
    provoked = [];
  });

  afterEach(async () => {
    await page.context().close();
    expect(opened.faults).to.deep.equal(provoked);
  });

  const goTo = (name: string): Promise<void> =>
    page.getByRole('link', { name, exact: true }).first().click();

  const button = (name: string) => page.getByRole('button', { name, exact: true });

  const dialog = () => page.getByRole('dialog');

  /** Reads the secret of the dialog, and closes it. */
  const keepSecret = async (): Promise<string> => {
    const shown = page.getByRole('dialog', { name: 'Keep this secret' });
    const secret = (await shown.locator('code').textContent()) ?? '';
    await shown.getByRole('button', { name: 'I have kept it' }).click();
    return secret;
  };

  /** Creates a webhook with the default events through the API, and opens its page. */
  const openWebhook = async (body: object = {}): Promise<string> => {
    const request = { method: 'POST', body: { url: receiver.url, ...body } };
    const created = await bench.api('/v2/webhooks', key.key, request);
    expect(created.status, created.text).to.equal(201);
    const { id } = created.json() as { readonly id: string };
    await signIn(page, key.key);
    await page.goto(`${bench.product.api}/console/webhooks/${id}`);
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
    await signIn(page, key.key);
    await goTo('Webhooks');
    await page.getByText('This account has no webhooks yet.').waitFor();
    expect(await faultsInAllModes(page), 'no webhooks').to.deep.equal([]);
    await page.getByLabel('URL').fill('http://192.0.2.1/hook');
    await button('Create webhook').click();
    await page.getByText('The webhook URL is not allowed').waitFor();
    provoked.push(loadError(400));

    await page.getByLabel('URL').fill(receiver.url);
    await page.getByLabel('Description').fill('the till <b>مفتاح</b>');
    await page.getByLabel('All but visits').uncheck();
    await page.getByLabel('Link created').check();
    await page.getByLabel('Link visited').check();
    expect(await faultsInAllModes(page), 'the form').to.deep.equal([]);
    await button('Create webhook').click();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy the secret' }).click();
    await page.getByRole('button', { name: 'Copied the secret' }).waitFor();
    expect(await faultsInAllModes(page), 'the secret').to.deep.equal([]);
    const secret = await keepSecret();
    expect(secret).to.match(/^whsec_/);
    expect(await page.evaluate('navigator.clipboard.readText()')).to.equal(secret);
    expect(await page.getByLabel('URL').inputValue()).to.equal('');

    await page.getByRole('link', { name: receiver.url }).waitFor();
    expect(await faultsInAllModes(page), 'the list').to.deep.equal([]);
    expect(await page.content()).not.to.include(secret);
    const { shortCode } = await bench.link(key.key);
    await eventually('the event is delivered', () => receiver.received.length > 0);
    expect(receiver.received[0]?.body).to.include(shortCode);
    await page.reload();
    await page.getByText(/Last delivery .*: delivered\./).waitFor();
  });

  it('are tested, changed, paused, enabled and deleted', async () => {
    const id = await openWebhook({ description: 'orders' });
    await page.getByRole('heading', { name: 'orders' }).waitFor();
    await button('Test').click();
    await page.getByText(/Test delivered: status 204, \d+ ms\./).waitFor();
    receiver.status = 500;
    await button('Test').click();
    await page.getByText(/Test not delivered: status 500, \d+ ms\./).waitFor();
    await button('Edit').click();
    // No server listens on the port of TCP Port Service Multiplexer.
    await dialog().getByLabel('URL').fill('http://127.0.0.1:1/hook');
    await dialog().getByLabel('Description').fill('');
    await dialog().getByLabel('All but visits').uncheck();
    await dialog().getByLabel('Link created').check();
    expect(await faultsInAllModes(page), 'change').to.deep.equal([]);
    await dialog().getByRole('button', { name: 'Save' }).click();
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
    expect(await faultsInAllModes(page), 'paused').to.deep.equal([]);
    await button('Enable').click();
    await page.getByText('enabled', { exact: true }).waitFor();

    await button('Delete').click();
    await dialog().getByText('gets no more events').waitFor();
    expect(await faultsInAllModes(page), 'delete').to.deep.equal([]);
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await page.getByText('This account has no webhooks yet.').waitFor();
    await page.goto(`${bench.product.api}/console/webhooks/${id}`);
    await page.getByText('Webhook not found').first().waitFor();
    expect(await faultsInAllModes(page), 'not found').to.deep.equal([]);
    provoked.push(loadError(404), loadError(404));
  });

  it('sign with both secrets during the overlap of a rotation', async () => {
    await openWebhook();
    await button('Rotate the secret').click();
    await dialog().getByLabel('The old secret ends').selectOption('3600');
    expect(await faultsInAllModes(page), 'rotate').to.deep.equal([]);
    await dialog().getByRole('button', { name: 'Rotate' }).click();
    expect(await keepSecret()).to.match(/^whsec_/);
    await button('Test').click();
    await page.getByText('Test delivered').waitFor();
    expect(receiver.received.at(-1)?.signatures).to.have.length(2);
  });

  it('show the reason why they are disabled', async () => {
    receiver.status = 410;
    await openWebhook();
    await bench.link(key.key);
    await eventually('the webhook is disabled', async () => {
      await button('Refresh').click();
      return page.getByText('Disabled: The receiver responded with 410.').isVisible();
    });
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await goTo('Webhooks');
    await page.getByText('Disabled: The receiver responded with 410.').waitFor();
  });

  it('list deliveries with their attempts, which can be retried', async () => {
    receiver.status = 503;
    await openWebhook();
    await bench.link(key.key);
    await expectDelivery('pending');
    await page.getByText('Next attempt').waitFor();
    await page.getByText('One attempt').click();
    await page.getByText(/status 503, \d+ ms/).waitFor();
    expect(await faultsInAllModes(page), 'pending').to.deep.equal([]);
    receiver.status = 204;
    await page.getByRole('button', { name: 'Retry' }).click();
    await expectDelivery('delivered');
    await page.getByText('2 attempts').waitFor();
    expect(await page.getByRole('alert').count()).to.equal(0);
    const [first, second] = receiver.received;
    expect(second).to.deep.include({ id: first?.id, body: first?.body });

    await goTo('Pending');
    await page.getByText('No deliveries.').waitFor();
    await page.waitForURL(/status=pending$/);
    await page.goBack();
    await page.getByText('2 attempts').waitFor();
  });

  it('list older deliveries on further pages', async () => {
    await openWebhook({ types: ['LinkCreated'] });
    for (let link = 0; link < 21; link += 1) {
      await bench.link(key.key);
      // One by one: waiting events would be delivered together.
      await eventually('the event is delivered', () => receiver.received.length > link);
    }
    await goTo('Delivered');
    await eventually('a page is full', async () => {
      await button('Refresh').click();
      return page.getByRole('link', { name: 'Next page' }).isVisible();
    });
    expect(await page.getByRole('button', { name: 'Retry' }).count()).to.equal(20);
    await goTo('Next page');
    await page.waitForURL(/status=delivered&after=/);
    await eventually(
      'the oldest delivery is alone',
      async () => (await page.getByRole('button', { name: 'Retry' }).count()) === 1,
    );
    await goTo('First page');
    await page.getByRole('link', { name: 'Next page' }).waitFor();
  });

  it('replay events from a time and from the beginning', async () => {
    await bench.link(key.key, { alias: 'before-the-webhook' });
    await openWebhook({ types: ['LinkCreated'] });
    const hasReplayed = () => receiver.received.length > 0;
    await button('Replay').click();
    await dialog().getByText('The receiver gets all events').waitFor();
    expect(await faultsInAllModes(page), 'replay').to.deep.equal([]);
    await dialog().getByLabel('Date and time').fill('2020-01-01T12:00');
    await button('Deliver again').click();
    await dialog().waitFor({ state: 'detached' });
    await eventually('the events since 2020 are delivered', hasReplayed);
    receiver.received.length = 0;
    await button('Replay').click();
    await dialog().getByLabel('Events since').selectOption('start');
    await button('Deliver again').click();
    await eventually('all events are delivered', hasReplayed);
    expect(receiver.received[0]?.body).to.include('before-the-webhook');
  });

  it('need the scope webhooks:manage', async () => {
    const account = key.account;
    const scopes = scopeNames.filter((scope) => scope !== 'webhooks:manage');
    const { key: reader } = await bench.key('PRO', { account, scopes });
    await signIn(page, reader);
    expect(await page.getByRole('link', { name: 'Webhooks', exact: true }).count()).to.equal(0);
    await page.goto(`${bench.product.api}/console/webhooks`);
    await page.getByText('This needs the scope “Manage webhooks”').waitFor();
    expect(await faultsInAllModes(page)).to.deep.equal([]);
    await page.goto(`${bench.product.api}/console/webhooks/wh_none`);
    await page.getByText('This needs the scope “Manage webhooks”').waitFor();
  });
});
