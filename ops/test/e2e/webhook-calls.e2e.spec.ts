import { expect } from 'chai';
import { messages } from '../../../schemas/http/errors.js';
import { nameOf } from '../support/feed-event.js';
import { isSignedWith } from '../support/receiver.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { eventPages, foreignCursors } from './events-harness.js';
import { expectBody, sharedProduct, timestampPattern } from './harness.js';
import {
  deliveredWithinMs,
  laterPlease,
  subscriptions,
  webhookCalls,
  type Subscribed,
} from './webhooks-harness.js';

describe('command API: webhooks', () => {
  const bench = sharedProduct();
  const { page, end } = eventPages(bench);
  const calls = webhookCalls(bench);
  const { send, show, create, change, rotate, test, deliveries, replay } = calls;
  const { receiver, newKey, subscribe, expectDeliveries } = subscriptions(bench);

  describe('POST /v2/webhooks/:id/rotate', () => {
    /** The secrets that sign now. */
    const signingSecrets = async (
      { key, hook, webhook }: Subscribed,
      secrets: readonly string[],
    ): Promise<readonly string[]> => {
      expect(await test(key, webhook)).to.include({ delivered: true });
      const last = hook.deliveries.at(-1);
      if (!last) throw new Error('the receiver has no delivery');
      const signing = secrets.filter((secret) => isSignedWith(secret, last));
      const signatures = String(last.headers['webhook-signature']).split(' ');
      expect(signatures).to.have.length(signing.length);
      return signing;
    };

    it('keeps the earlier secrets until the overlap ends', async () => {
      const created = await subscribe();
      const { key, hook, webhook } = created;
      const first = await rotate(key, webhook, { overlapSeconds: 600 });
      const secrets = [webhook.secret, first.secret];
      await calls.endLease(webhook);
      await bench.link(key.key);
      await expectDeliveries(hook, 1);
      for (const secret of secrets) {
        expect(hook.deliveries.every((delivery) => isSignedWith(secret, delivery))).to.equal(true);
      }
      secrets.push((await rotate(key, webhook, { overlapSeconds: 2 })).secret);
      expect(await signingSecrets(created, secrets)).to.deep.equal(secrets);
      await eventually(
        'only the new secret signs',
        async () => (await signingSecrets(created, secrets)).length === 1,
      );
      expect(await signingSecrets(created, secrets)).to.deep.equal(secrets.slice(2));
    });
  });

  describe('POST /v2/webhooks/:id/test', () => {
    it('delivers one linklog.WebhookTested.v1, also to a paused webhook', async () => {
      const { key, hook, webhook } = await subscribe();
      await change(key, webhook, { status: 'paused' });
      const result = await test(key, webhook);
      expect(result).to.deep.equal({
        ...{ delivered: true, status: 204, durationMs: result.durationMs, error: null },
      });
      const [delivery] = hook.deliveries;
      expect(delivery?.headers).to.include({ 'content-type': 'application/cloudevents+json' });
      const [event] = delivery?.events ?? [];
      expect(event).to.deep.equal({
        ...{ specversion: '1.0', id: delivery?.id, type: 'linklog.WebhookTested.v1' },
        ...{ source: '/linklog/ledger', subject: webhook.id, time: event?.time },
        ...{ datacontenttype: 'application/json', sequence: '0000000000000001' },
        ...{ account: key.account, data: {} },
      });
    });

    it('reports a failure, and never the body of the response', async () => {
      const { key, hook, webhook } = await subscribe();
      const body = 'secret-of-the-receiver';
      const headers = { Location: receiver.hook().url };
      for (const status of [302, 410]) {
        hook.respond({ status, body, headers });
        const response = await send(key, 'POST', `/${webhook.id}/test`);
        const { durationMs } = response.json() as { durationMs: number };
        expectBody(response, 200, { delivered: false, status, durationMs, error: null });
        expect(response.text + JSON.stringify(response.headers)).to.not.include(body);
      }
      await change(key, webhook, { url: 'http://127.0.0.1:1/' });
      const refused = { delivered: false, status: null, error: 'connection refused' };
      expect(await test(key, webhook)).to.include(refused);
      // Not even the 410 of a test disables a webhook.
      expect(await show(key, webhook)).to.include({ status: 'enabled', lastDelivery: null });
    });
  });

  describe('deliveries', () => {
    it('are listed with their attempts, the newest first, by status and in pages', async () => {
      const { key, hook, webhook } = await subscribe();
      hook.respond(200, 299, laterPlease);
      for (let link = 1; link <= 3; link += 1) {
        await bench.link(key.key);
        await expectDeliveries(hook, link);
      }
      await calls.expectAttempts(key, webhook, 1);
      const { deliveries: listed, next } = await deliveries(key, webhook);
      expect(next).to.equal(null);
      const received = hook.deliveries.map(({ id }) => id).reverse();
      expect(listed.map(({ id }) => id)).to.deep.equal(received);
      for (const [index, status] of [503, 299, 200].entries()) {
        const delivery = listed[index];
        const { at, durationMs } = delivery?.attempts[0] ?? {};
        const isPending = status === 503;
        expect(delivery).to.deep.equal({
          ...{ id: received[index], types: ['LinkCreated'], count: 1 },
          status: isPending ? 'pending' : 'delivered',
          attempts: [{ at, status, durationMs, error: null }],
          nextAttemptAt: isPending ? delivery?.nextAttemptAt : null,
        });
        expect(at).to.match(timestampPattern);
      }
      expect(listed[0]?.nextAttemptAt).to.match(timestampPattern);
      const single = await send(key, 'GET', `/${webhook.id}/deliveries/${received[0] ?? ''}`);
      const body = hook.deliveries.at(-1)?.body;
      expect([single.status, single.json()]).to.deep.equal([200, { ...listed[0], body }]);
      const pending = await deliveries(key, webhook, 'status=pending');
      expect(pending.deliveries).to.deep.equal(listed.slice(0, 1));
      const first = await deliveries(key, webhook, 'limit=1');
      expect(first).to.deep.equal({ deliveries: listed.slice(0, 1), next: listed[0]?.id });
      const rest = await deliveries(key, webhook, `after=${listed[0]?.id ?? ''}`);
      expect(rest).to.deep.equal({ deliveries: listed.slice(1), next: null });
    });

    it('are repeated with the same id: 202', async () => {
      const { key, hook, webhook } = await subscribe();
      hook.respond(laterPlease, 204);
      await bench.link(key.key);
      const { id } = await calls.expectAttempts(key, webhook, 1);
      // The first retry succeeds; a delivered one can be repeated too.
      for (const attempts of [2, 3]) {
        const response = await send(key, 'POST', `/${webhook.id}/deliveries/${id}/retry`);
        expect([response.status, response.text]).to.deep.equal([202, '']);
        const delivery = await calls.expectAttempts(key, webhook, attempts);
        expect(delivery).to.include({ id, status: 'delivered', nextAttemptAt: null });
      }
      expect(hook.deliveries.map((delivery) => delivery.id)).to.deep.equal([id, id, id]);
      const bodies = hook.deliveries.map(({ body }) => body);
      expect(new Set(bodies)).to.have.property('size', 1);
    });
  });

  describe('POST /v2/webhooks/:id/replay', () => {
    it('delivers again from the start, a cursor or a time', async () => {
      const key = await newKey();
      const codes: string[] = [];
      for (let link = 0; link < 3; link += 1) codes.push((await bench.link(key.key)).shortCode);
      const hook = receiver.hook();
      const webhook = await create(key, { url: hook.url, types: ['LinkCreated'] });
      await eventuallyPasses(async () => {
        expect((await page(key.key, 'types=LinkCreated')).events).to.have.length(3);
      }, deliveredWithinMs);
      const { events } = await page(key.key, 'types=LinkCreated');
      const { next } = await page(key.key, 'types=LinkCreated&limit=1');
      const time = events[2]?.time ?? '';
      let seen = 0;
      for (const [after, expected] of [
        ['start', codes],
        [next, codes.slice(1)],
        [time, codes.slice(2)],
      ] as const) {
        await replay(key, webhook, after);
        await eventuallyPasses(() => {
          const subjects = hook.events.slice(seen).map(({ subject }) => subject);
          expect(subjects, after).to.have.members(expected);
        }, deliveredWithinMs);
        // A replay before an attempt is recorded repeats it.
        await eventuallyPasses(async () => {
          const { deliveries } = await calls.deliveries(key, webhook);
          expect(deliveries.map(({ status }) => status)).to.not.include('pending');
        }, deliveredWithinMs);
        seen = hook.events.length;
      }
      const ids = hook.deliveries.map(({ id }) => id);
      expect(new Set(ids)).to.have.property('size', ids.length);
      expect(hook.events.map(nameOf)).to.not.include('WebhookCreated');
      for (const after of Object.values(foreignCursors(await end(key.key)))) {
        const response = await send(key, 'POST', `/${webhook.id}/replay`, { after });
        expect(response.json()).to.include({ statusCode: 409, message: messages.cursorForeign });
      }
    });
  });
});
