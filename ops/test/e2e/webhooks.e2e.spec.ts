import { expect } from 'chai';
import { feedEventNames } from '../../../schemas/feed.js';
import { messages } from '../../../schemas/http/errors.js';
import type { WebhookResponse, WebhookWithSecretResponse } from '../../../schemas/http/webhooks.js';
import { concurrently, sendRequest, statuses } from '../support/http.js';
import { expectBody, expectError, sharedProduct } from './harness.js';
import { laterPlease, subscriptions, webhookCalls } from './webhooks-harness.js';

// The networks without WEBHOOK_NETWORKS are in settings.e2e.spec.ts.

const urlMessage = 'url must be an https URL of at most 2048 characters, without a user name';
const typesMessage = `types must be a list of ${feedEventNames.join(', ')}`;
const domainMessage = 'domain must be a host, such as go.example.com';
const descriptionMessage =
  'description must have at most 200 characters, none of them control characters';
const overlapMessage = 'overlapSeconds must be between 0 and 604800';
const replayMessage =
  'after must be start, a cursor or a time: must be a time in ISO 8601 with an offset, such as ';

const unknownDelivery = '019a3c1e-7b31-7c41-9d5e-2f6b8a1c4d71';

/** Every call about one webhook: method, path below the webhook, body. */
const callsOfOne = [
  ['GET', '', undefined],
  ['PATCH', '', { description: 'x' }],
  ['DELETE', '', undefined],
  ['POST', '/rotate', {}],
  ['POST', '/test', undefined],
  ['GET', '/deliveries', undefined],
  ['POST', `/deliveries/${unknownDelivery}/retry`, undefined],
  ['POST', '/replay', { after: 'start' }],
] as const;

/** Addresses and names outside of WEBHOOK_NETWORKS=127.0.0.0/8. */
const refusedUrls = ['https://10.0.0.1', 'http://public.example', 'https://alias.example'];

/** A new webhook as GET shows it. */
const shown = ({ secret, ...webhook }: WebhookWithSecretResponse): WebhookResponse => {
  expect(secret).to.match(/^whsec_/);
  return { ...webhook, lag: 0, failingSince: null, lastDelivery: null };
};

describe('command API: webhooks', () => {
  const bench = sharedProduct();
  const calls = webhookCalls(bench);
  const { send, show, create, change, rotate } = calls;
  const { receiver, newKey, subscribe, expectDeliveries, pause } = subscriptions(bench);

  describe('POST /v2/webhooks', () => {
    it('creates a webhook in canonical form, which GET shows without its secret', async () => {
      const key = await newKey();
      const { url } = receiver.hook();
      const response = await send(key, 'POST', '', { url, extra: 1, types: null });
      const { id, secret, createdAt } = response.json() as Record<string, string>;
      expectBody(response, 201, {
        ...{ id, url, types: null, domain: null, description: null, status: 'enabled' },
        ...{ disabledReason: null, secret, createdAt },
      });
      expect(id).to.match(/^wh_[\w-]{21}$/);
      expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
      const created = await create(key, {
        ...{ url: ` ${url} `, domain: 'GO.example.com', description: ' Ware\u0301 ' },
        types: ['LinkDeleted', 'LinkCreated', 'LinkDeleted'],
      });
      expect(created).to.deep.include({
        ...{ url, types: ['LinkCreated', 'LinkDeleted'], domain: 'go.example.com' },
        description: 'War\u00e9',
      });
      expect(await show(key, created)).to.deep.equal(shown(created));
    });

    it('creates at most 10 for an account, also concurrently; a deleted one makes room', async () => {
      const { key } = await newKey();
      const body = { url: receiver.hook().url, types: ['LinkBlocked'] };
      const responses = await concurrently(15, (index) => {
        const { apis } = bench.product;
        const headers = { Authorization: `Bearer ${key}` };
        const api = apis[index % apis.length] ?? '';
        return sendRequest(`${api}/v2/webhooks`, { method: 'POST', headers, body });
      });
      expect(statuses(responses)).to.deep.equal({ 201: 10, 400: 5 });
      const message = 'At most 10 webhooks an account';
      const [rejected] = responses.filter(({ status }) => status === 400);
      if (!rejected) throw new Error('no request was rejected');
      expectError(rejected, { status: 400, message, path: '/v2/webhooks', method: 'POST' });
      const listed = (await send({ key }, 'GET')).json() as { webhooks: WebhookResponse[] };
      expect(listed.webhooks).to.have.length(10);
    });
  });

  it('have a lag, and their last delivery', async () => {
    const subscribed = await subscribe();
    const { key, hook, webhook } = subscribed;
    hook.respond(laterPlease);
    await bench.link(key.key);
    const { id, attempts } = await calls.expectAttempts(key, webhook, 1);
    const failingSince = attempts[0]?.at ?? '';
    const lastDelivery = { id, status: 'pending', at: failingSince };
    await calls.expectShown(key, webhook, { lag: 1, failingSince, lastDelivery });
    await pause(subscribed);
    await bench.link(key.key);
    await calls.expectShown(key, webhook, { lag: 2, status: 'paused', lastDelivery });
  });

  describe('PATCH /v2/webhooks/:id', () => {
    it('changes each field, and removes it with null', async () => {
      const { key, webhook } = await subscribe();
      const types = ['LinkDeleted', 'LinkCreated'];
      const values = {
        url: receiver.hook().url,
        domain: 'go.example.com',
        description: 'Warehouse',
      };
      let expected = shown(webhook);
      for (const [body, result] of [
        [
          { ...values, types, status: 'paused' },
          { ...values, types: ['LinkCreated', 'LinkDeleted'], status: 'paused' },
        ],
        [
          { types: null, domain: null, description: null },
          { types: null, domain: null, description: null },
        ],
      ] as const) {
        expected = { ...expected, ...(result as Partial<WebhookResponse>) };
        const changed = await change(key, webhook, body);
        // By default, the changes themselves are waiting events.
        expect({ ...changed, lag: 0 }, JSON.stringify(body)).to.deep.equal(expected);
        expect({ ...(await show(key, webhook)), lag: 0 }).to.deep.equal(expected);
      }
    });
  });

  describe('are rejected', () => {
    it('with 400 for invalid values, which the message names', async () => {
      const { key, webhook } = await subscribe();
      const { url } = webhook;
      const deliveriesAt = '/id/deliveries?';
      const terms: readonly (readonly [object, string])[] = [
        [{ url: 'https://a:b@x.example' }, urlMessage],
        [{ url: `https://x.example/${'x'.repeat(2_048)}` }, urlMessage],
        ...[[], ['QrRendered']].map((types) => [{ url, types }, typesMessage] as const),
        [{ url, domain: 'http://x' }, domainMessage],
        [{ url, description: 'x'.repeat(201) }, descriptionMessage],
      ];
      const invalid: readonly (readonly [string, string, unknown, string])[] = [
        ...terms.map(([body, message]) => ['POST', '', body, message] as const),
        ...terms.map(([body, message]) => ['PATCH', '/id', body, message] as const),
        ['POST', '', { url: null }, urlMessage],
        ['PATCH', '/id', { url: null, status: null, secret: 'x' }, 'Nothing to change'],
        ['PATCH', '/id', { status: 'disabled' }, 'status must be enabled or paused'],
        ['POST', '/id/rotate', { overlapSeconds: 604_801 }, overlapMessage],
        ['POST', '/id/replay', { after: '2026-05-01T12:00:00' }, replayMessage],
        ['POST', '/id/replay', { after: 'x'.repeat(20) }, 'after must be start, now or a cursor'],
        [
          ...(['GET', `${deliveriesAt}status=x`, undefined] as const),
          'status must be pending, delivered or failed',
        ],
        ['GET', `${deliveriesAt}limit=0`, undefined, 'limit must be between 1 and 1000'],
        ['GET', `${deliveriesAt}after=x`, undefined, 'after must be the id of a delivery'],
      ];
      for (const [method, at, body, message] of invalid) {
        const response = await send(key, method, at.replace('id', webhook.id), body);
        expect(response.status, JSON.stringify([at, body])).to.equal(400);
        const found = (response.json() as { message: string }).message;
        expect(found.slice(0, message.length), JSON.stringify([at, body])).to.equal(message);
      }
      expect((await send(key, 'GET')).json()).to.have.nested.property('webhooks.length', 1);
    });

    it('with 400 for URLs of private networks, and for names that resolve to them', async () => {
      bench.dns.setAddresses('private.example', ['10.0.0.1']);
      bench.dns.setAddresses('public.example', ['93.184.215.14']);
      bench.dns.setCname('alias.example', 'private.example');
      const { key, webhook } = await subscribe();
      for (const url of refusedUrls) {
        for (const [method, at] of [
          ['POST', ''],
          ['PATCH', `/${webhook.id}`],
        ] as const) {
          const response = await send(key, method, at, { url });
          const path = `/v2/webhooks${at}`;
          expect(response.status, url).to.equal(400);
          expectError(response, { status: 400, message: messages.webhookUrlRefused, path, method });
        }
      }
      for (const url of ['https://8.8.8.8', 'https://public.example', 'https://unknown.example']) {
        await create(key, { url, types: ['LinkBlocked'] });
      }
      expect(await show(key, webhook)).to.include({ url: webhook.url });
    });

    it('with 404 for webhooks of other accounts, and unknown ones', async () => {
      const { key, webhook } = await subscribe();
      const other = await newKey();
      for (const [method, at, body] of callsOfOne) {
        const path = `/v2/webhooks/${webhook.id}${at}`;
        const response = await send(other, method, `/${webhook.id}${at}`, body);
        expectError(response, { status: 404, message: messages.webhookNotFound, path, method });
      }
      expect(await show(key, webhook)).to.deep.equal(shown(webhook));
    });
  });

  it('never show a secret again', async () => {
    const { key, hook, webhook } = await subscribe();
    const { secret } = await rotate(key, webhook, { overlapSeconds: 600 });
    await change(key, webhook, { description: 'Warehouse' });
    await bench.link(key.key);
    await expectDeliveries(hook, 1);
    const responses = [
      await send(key, 'GET'),
      await send(key, 'GET', `/${webhook.id}`),
      await send(key, 'PATCH', `/${webhook.id}`, { description: 'Other' }),
      await send(key, 'GET', `/${webhook.id}/deliveries`),
      await send(key, 'POST', `/${webhook.id}/test`),
      await bench.api('/v2/events?limit=1000', key.key),
      await bench.admin('GET', `/admin/webhooks?account=${key.account}`),
    ];
    const hidden = [secret, webhook.secret].map((text) => text.slice('whsec_'.length));
    for (const response of responses) {
      expect(response.status, response.text).to.equal(200);
      for (const text of hidden) expect(response.text).to.not.include(text);
    }
    const tables = [...(await bench.dumpTables())].filter(([, rows]) =>
      hidden.some((text) => rows.includes(text)),
    );
    expect(tables.map(([name]) => name)).to.include('ledger.webhooks');
    for (const [name] of tables)
      expect(name).to.match(/^(?:ledger\.webhooks|log\.(?:events|records))$/);
  });
});
