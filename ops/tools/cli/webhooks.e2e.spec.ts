import { expect } from 'chai';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { fixture } from '../../test/support/fixture.js';
import { sendRequest } from '../../test/support/http.js';
import { eventually, eventuallyPasses } from '../../test/support/waiting.js';
import { onService } from './testing/on-service.js';

const unknownId = '01990000-0000-7000-8000-000000000000';

/** A receiver of webhooks, whose responses have `status`. */
const startReceiver = async () => {
  const bodies: string[] = [];
  const receiver = { status: 204, url: '', bodies, close: (): unknown => server.close() };
  const server = createServer((request, response) => {
    void readAll(request).then((body) => {
      bodies.push(body);
      response.writeHead(receiver.status).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return receiver;
};

describe('CLI: linklog webhooks, on a running service', () => {
  const { service, text, json, linklog, createKey, shorten, expectFailure } = onService({
    WEBHOOK_NETWORKS: '127.0.0.0/8',
  });
  const receiver = fixture(startReceiver, ({ close }) => close());

  const createWebhook = async (
    account: string,
    url: string,
  ): Promise<{ id: string; key: string }> => {
    const { key } = await createKey('PRO', '--account', account);
    const response = await sendRequest(`${service().product.api}/v2/webhooks`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}` },
      body: { url },
    });
    expect(response.status, response.text).to.equal(201);
    return { id: (response.json() as { id: string }).id, key };
  };

  beforeEach('let the receiver accept', () => {
    receiver.status = 204;
  });

  it('lists the webhooks of one account and of all accounts', async () => {
    expect(await text('webhooks', 'list')).to.equal('There are no webhooks.\n');
    const { id } = await createWebhook('shop', receiver.url);
    const other = await createWebhook('books', receiver.url);
    const listed = await text('webhooks', 'list');
    expect(listed).to.match(/^ID +ACCOUNT +STATUS +LAG +LAST DELIVERY +URL +REASON\n/);
    expect(listed).to.include(other.id);
    // The lag includes the event of the webhook's own creation until a projector has it.
    await eventuallyPasses(async () => {
      const [, row, ...more] = (await text('webhooks', 'list', '--account', 'shop')).split('\n');
      expect(row?.split(/ +/)).to.deep.equal([id, 'shop', 'enabled', '0', '-', receiver.url]);
      expect(more).to.deep.equal(['']);
    });
    const { webhooks } = (await json('webhooks', 'list', '--account', 'shop')) as {
      readonly webhooks: readonly object[];
    };
    expect(webhooks).to.have.length(1);
    expect(webhooks[0]).to.include({ id, account: 'shop', status: 'enabled', lag: 0 });
    expect(webhooks[0]).to.not.have.property('secret');
  });

  it('delivers a test event, and fails with the reason if it is not delivered', async () => {
    const { id } = await createWebhook('test', receiver.url);
    expect(await text('webhooks', 'test', id)).to.match(/^Delivered: HTTP 204 after [\d,]+ ms\n$/);
    expect(JSON.parse(receiver.bodies.at(-1) ?? '')).to.include({
      ...{ type: 'linklog.WebhookTested.v1', subject: id },
    });
    expect(await json('webhooks', 'test', id)).to.include({ delivered: true, status: 204 });

    receiver.status = 500;
    const failed = await linklog('webhooks', 'test', id);
    expect([failed.exitCode, failed.stdout]).to.deep.equal([1, '']);
    expect(failed.stderr).to.match(/^linklog: not delivered: HTTP 500 after [\d,]+ ms\n$/);

    const nowhere = await createWebhook('nowhere', 'http://127.0.0.1:1/hook');
    const refused = await linklog('webhooks', 'test', nowhere.id, '--json');
    expect(refused.exitCode).to.equal(1);
    expect(JSON.parse(refused.stdout)).to.include({
      ...{ delivered: false, status: null, error: 'connection refused' },
    });
    expect(refused.stderr).to.match(
      /^linklog: not delivered: connection refused after [\d,]+ ms\n$/,
    );
  });

  it('delivers events again', async () => {
    const { id, key } = await createWebhook('again', receiver.url);
    const started = new Date().toISOString();
    const code = await shorten(key);
    const deliveries = (): number =>
      receiver.bodies.filter((body) => body.includes(`"subject":"${code}"`)).length;
    await eventually('the event is delivered', () => deliveries() === 1);
    const output = `The webhook ${id} delivers the events after ${started} again\n`;
    expect(await text('webhooks', 'replay', id, '--after', started, '--yes')).to.equal(output);
    await eventually('the event is delivered again', () => deliveries() === 2);
    expect(await json('webhooks', 'replay', id, '--after', 'start', '--yes')).to.deep.equal({
      ...{ id, after: 'start' },
    });
    await eventually('the event is delivered a third time', () => deliveries() === 3);
  });

  it('reports a mistake in one line', async () => {
    const replay = ['webhooks', 'replay', unknownId, '--yes'];
    await expectFailure(['webhooks', 'test', unknownId], 1, 'Webhook not found');
    await expectFailure([...replay, '--after', 'start'], 1, 'Webhook not found');
    await expectFailure(['webhooks', 'test', ''], 2, 'the id is empty');
    await expectFailure(replay, 2, '--after is missing; see "linklog webhooks replay --help"');
    await expectFailure(
      [...replay, '--after', 'yesterday'],
      1,
      'after must be start, a cursor or a time: must be a time in ISO 8601 with an offset, such as ' +
        '2030-12-31T18:00:00+01:00',
    );
    await expectFailure(
      [...replay, '--after', '2026-05-20T12:00'],
      2,
      '"2026-05-20T12:00" is not a time: use 2026-05-20T12:00:00Z, 2026-05-20T14:00:00+02:00, ' +
        'or 2026-05-20 for 00:00 UTC',
    );
  });
});
