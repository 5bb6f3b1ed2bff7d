import { expect } from 'chai';
import { receiverFixture } from '../../test/support/receiver.js';
import { eventually, eventuallyPasses } from '../../test/support/waiting.js';
import { onService } from './testing/on-service.js';

describe('CLI: linklog webhooks, on a running service', () => {
  const { bench, text, json, linklog, createKey } = onService();
  const receiver = receiverFixture();

  const createWebhook = async (
    account: string,
    url: string,
  ): Promise<{ id: string; key: string }> => {
    const { key } = await createKey('PRO', '--account', account);
    const response = await bench.api('/v2/webhooks', key, { method: 'POST', body: { url } });
    expect(response.status, response.text).to.equal(201);
    return { id: (response.json() as { id: string }).id, key };
  };

  it('lists the webhooks of one account and of all accounts', async () => {
    const none = await text('webhooks', 'list', '--account', 'cli-none');
    expect(none).to.equal('There are no webhooks.\n');
    const { url } = receiver.hook();
    const { id } = await createWebhook('cli-shop', url);
    const other = await createWebhook('cli-books', url);
    const listed = await text('webhooks', 'list');
    expect(listed).to.match(/^ID +ACCOUNT +STATUS +LAG +LAST DELIVERY +URL +REASON\n/);
    expect(listed).to.include(other.id);
    // The lag includes the event of the webhook's own creation until a projector has it.
    await eventuallyPasses(async () => {
      const [, row, ...more] = (await text('webhooks', 'list', '--account', 'cli-shop')).split(
        '\n',
      );
      expect(row?.split(/ +/)).to.deep.equal([id, 'cli-shop', 'enabled', '0', '-', url]);
      expect(more).to.deep.equal(['']);
    });
    const { webhooks } = (await json('webhooks', 'list', '--account', 'cli-shop')) as {
      readonly webhooks: readonly object[];
    };
    expect(webhooks).to.have.length(1);
    expect(webhooks[0]).to.include({ id, account: 'cli-shop', status: 'enabled', lag: 0 });
    expect(webhooks[0]).to.not.have.property('secret');
  });

  it('delivers a test event, and fails with the reason if it is not delivered', async () => {
    const hook = receiver.hook();
    const { id } = await createWebhook('cli-test', hook.url);
    expect(await text('webhooks', 'test', id)).to.match(/^Delivered: HTTP 204 after [\d,]+ ms\n$/);
    expect(hook.events.at(-1)).to.include({ type: 'linklog.WebhookTested.v1', subject: id });
    expect(await json('webhooks', 'test', id)).to.include({ delivered: true, status: 204 });

    hook.respond(500);
    const failed = await linklog('webhooks', 'test', id);
    expect([failed.exitCode, failed.stdout]).to.deep.equal([1, '']);
    expect(failed.stderr).to.match(/^linklog: not delivered: HTTP 500 after [\d,]+ ms\n$/);

    const nowhere = await createWebhook('cli-nowhere', 'http://127.0.0.1:1/hook');
    const refused = await linklog('webhooks', 'test', nowhere.id, '--json');
    expect(JSON.parse(refused.stdout)).to.include({
      delivered: false,
      error: 'connection refused',
    });
    expect(refused.stderr).to.match(/^linklog: not delivered: connection refused after/);
  });

  it('delivers events again', async () => {
    const hook = receiver.hook();
    const { id, key } = await createWebhook('cli-again', hook.url);
    const started = new Date().toISOString();
    const { shortCode } = await bench.link(key);
    const untilDelivered = (count: number): Promise<void> =>
      eventually(
        `the event is delivered ${count} times`,
        () => hook.events.filter(({ subject }) => subject === shortCode).length === count,
      );
    await untilDelivered(1);
    const replay = ['webhooks', 'replay', id, '--yes', '--after'];
    expect(await text(...replay, started)).to.equal(
      `The webhook ${id} delivers the events after ${started} again\n`,
    );
    await untilDelivered(2);
    expect(await json(...replay, 'start')).to.deep.equal({ id, after: 'start' });
    await untilDelivered(3);
  });
});
