import { expect } from 'chai';
import { nameOf } from '../support/feed-event.js';
import type { IssuedKey } from '../support/product.js';
import { isSignedWith, type ReceivedDelivery } from '../support/receiver.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { newName } from './domains-harness.js';
import { eventPages } from './events-harness.js';
import { destination, sharedProduct, type Link } from './harness.js';
import {
  deliveredWithinMs,
  laterPlease,
  subscriptions,
  webhookCalls,
  type Subscribed,
} from './webhooks-harness.js';

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const batchType = 'application/cloudevents-batch+json';
const maxBatch = { events: 100, bytes: 262_144 };

/** The time of a UUIDv7 (ms). */
const timeOf = ({ id }: ReceivedDelivery): number => parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

describe('product: deliveries of webhooks', () => {
  const bench = sharedProduct();
  const { page } = eventPages(bench);
  const calls = webhookCalls(bench);
  const { receiver, subscribe, expectEvents, pause, enable } = subscriptions(bench);

  const createLinks = async (
    { key }: IssuedKey,
    count: number,
    body: object = {},
  ): Promise<readonly string[]> => {
    const codes: string[] = [];
    for (let rest = count; rest > 0; rest -= 50) {
      const item = { url: destination, ...body };
      const urls = Array.from({ length: Math.min(rest, 50) }, () => item);
      const options = { method: 'POST', body: { urls } };
      const response = await bench.api('/v2/shorten/batch', key, options);
      expect(response.status, response.text).to.equal(200);
      const { results } = response.json() as { results: Link[] };
      codes.push(...results.map(({ shortCode }) => shortCode));
    }
    return codes;
  };

  /** Delivers links that were created while the webhook was paused. */
  const deliverTogether = async (count: number, body: object = {}): Promise<Subscribed> => {
    const subscribed = await subscribe();
    const { key, hook, webhook } = subscribed;
    await pause(subscribed);
    const codes = await createLinks(key, count, body);
    await calls.expectShown(key, webhook, { status: 'paused', lag: count });
    expect(hook.deliveries).to.be.empty;
    await enable(subscribed);
    await expectEvents(hook, codes);
    await calls.expectShown(key, webhook, { status: 'enabled', lag: 0 });
    return subscribed;
  };

  describe('have', () => {
    it('one event, its headers, and a signature of its secret', async () => {
      const { key, hook, webhook } = await subscribe();
      const { shortCode } = await bench.link(key.key);
      await expectEvents(hook, [shortCode]);
      const [delivery] = hook.deliveries;
      if (!delivery) throw new Error('the receiver has no delivery');
      expect(delivery.method).to.equal('POST');
      expect(delivery.headers).to.include({
        ...{ 'content-type': 'application/cloudevents+json', 'user-agent': 'Linklog-Webhooks/1' },
        ...{ host: `127.0.0.1:${receiver.port}`, 'content-length': String(delivery.body.length) },
      });
      expect(delivery.id).to.match(uuidV7);
      expect(delivery.headers['webhook-timestamp']).to.match(/^\d{10}$/);
      expect(delivery.headers['webhook-signature']).to.match(/^v1,[A-Za-z0-9+/]{43}=$/);
      expect(isSignedWith(webhook.secret, delivery)).to.equal(true);
      expect((await page(key.key, 'types=LinkCreated')).events).to.deep.equal(delivery.events);
      const { id, status } = await calls.expectAttempts(key, webhook, 1);
      expect([id, status]).to.deep.equal([delivery.id, 'delivered']);
    });

    it('the secret and the URL of the last change, also right after its response', async () => {
      const { key, hook, webhook } = await subscribe();
      for (let round = 1; round <= 3; round += 1) {
        const { secret } = await calls.rotate(key, webhook, { overlapSeconds: 0 });
        const { shortCode } = await bench.link(key.key);
        await eventuallyPasses(() => {
          const delivery = hook.deliveries.at(-1);
          expect(delivery?.events[0]?.subject).to.equal(shortCode);
          expect(delivery && isSignedWith(secret, delivery)).to.equal(true);
        }, deliveredWithinMs);
      }
      const moved = receiver.hook();
      await calls.change(key, webhook, { url: moved.url });
      const { shortCode } = await bench.link(key.key);
      await expectEvents(moved, [shortCode]);
      expect(hook.deliveries).to.have.length(3);
    });

    it('by default all events but visits, and not the webhook’s own creation', async () => {
      const { key, hook } = await subscribe({ types: null });
      const { shortCode } = await bench.link(key.key);
      expect((await bench.visit(shortCode)).status).to.equal(302);
      await bench.change(shortCode, key.key, { disabled: true });
      await subscribe({}, key);
      await eventuallyPasses(() => {
        const names = ['LinkCreated', 'LinkDisabled', 'WebhookCreated'];
        expect(hook.events.map(nameOf)).to.have.members(names);
      }, deliveredWithinMs);
    });

    it('only events of their types and domain', async () => {
      const first = await subscribe({ types: ['LinkDisabled', 'LinkDeleted'] });
      const { key } = first;
      const domain = newName();
      const added = await bench.admin('POST', '/admin/domains', { domain, account: key.account });
      expect(added.status, added.text).to.equal(201);
      const second = await subscribe({ domain, types: null }, key);
      const [elsewhere, onDomain] = [
        await bench.link(key.key),
        await bench.link(key.key, { domain }),
      ];
      const query = `?domain=${domain}`;
      await bench.change(elsewhere.shortCode, key.key, { disabled: true });
      await bench.change(onDomain.shortCode + query, key.key, { disabled: true });
      const subject = `${domain}/${onDomain.shortCode}`;
      await expectEvents(first.hook, [elsewhere.shortCode, subject]);
      await expectEvents(second.hook, [subject, subject]);
      expect(second.hook.events.map(nameOf)).to.deep.equal(['LinkCreated', 'LinkDisabled']);
    });
  });

  describe('of waiting events', () => {
    it('have one event each up to 10', async () => {
      const { hook } = await deliverTogether(10);
      for (const { events, isBatch } of hook.deliveries) {
        expect([events.length, isBatch]).to.deep.equal([1, false]);
      }
    });

    it('have at most 100 events, and not many less', async () => {
      const { hook } = await deliverTogether(420);
      const sizes = hook.deliveries.map(({ events }) => events.length);
      for (const size of sizes) expect(size).to.be.at.most(maxBatch.events);
      // A delivery ends where the events of a partition that were read end, so it depends on the random codes.
      expect(sizes.length).to.be.within(5, 10);
      for (const { isBatch } of hook.deliveries) expect(isBatch).to.equal(true);
    });

    it('have at most 256 KiB', async () => {
      const note = 'ü'.repeat(2_000);
      const url = `${destination}&${'x'.repeat(1_900)}`;
      const { hook } = await deliverTogether(100, { note, url });
      const sizes = hook.deliveries.map(({ body }) => Buffer.byteLength(body));
      expect(sizes.length).to.be.above(1);
      for (const size of sizes) expect(size).to.be.at.most(maxBatch.bytes);
      // The first one has no room for another event.
      const event = (sizes[0] ?? 0) / (hook.deliveries[0]?.events.length ?? 1);
      expect((sizes[0] ?? 0) + 2 * event).to.be.above(maxBatch.bytes);
    });
  });

  it('of visits are batches, at most one per second', async () => {
    const { key, hook } = await subscribe({ types: ['LinkVisited'] });
    const { shortCode } = await bench.link(key.key);
    let visits = 0;
    await eventually('the receiver has 4 deliveries', async () => {
      expect((await bench.visit(shortCode)).status).to.equal(302);
      visits += 1;
      return hook.deliveries.length >= 4;
    });
    await expectEvents(hook, Array<string>(visits).fill(shortCode));
    for (const delivery of hook.deliveries) {
      expect(delivery).to.include({ isBatch: true });
      expect(delivery.headers).to.include({ 'content-type': batchType });
    }
    const times = hook.deliveries
      .filter(({ events }) => events.length < maxBatch.events)
      .map(timeOf);
    for (const [index, time] of times.slice(1).entries()) {
      // The timer of the pause may end a little early.
      expect(time - (times[index] ?? 0)).to.be.at.least(980);
    }
  });

  it('wait while the webhook is paused', async () => {
    const subscribed = await subscribe();
    const { key, hook, webhook } = subscribed;
    hook.respond(laterPlease, 204);
    const first = await bench.link(key.key);
    await calls.expectAttempts(key, webhook, 1);
    await pause(subscribed);
    // Neither new events nor retries are delivered.
    await calls.makeDue(webhook);
    const second = await bench.link(key.key);
    await calls.expectShown(key, webhook, { lag: 2 });
    const other = await subscribe({}, key);
    const third = await bench.link(key.key);
    await expectEvents(other.hook, [third.shortCode]);
    expect(hook.deliveries).to.have.length(1);
    await enable(subscribed);
    const codes = [first, first, second, third].map(({ shortCode }) => shortCode);
    await expectEvents(hook, codes);
  });

  it('end with the deletion of the webhook', async () => {
    const { key, hook, webhook } = await subscribe();
    const other = await subscribe({}, key);
    hook.respond(laterPlease);
    const first = await bench.link(key.key);
    await calls.expectAttempts(key, webhook, 1);
    expect((await calls.send(key, 'DELETE', `/${webhook.id}`)).status).to.equal(204);
    const second = await bench.link(key.key);
    await expectEvents(other.hook, [first.shortCode, second.shortCode]);
    expect(hook.deliveries).to.have.length(1);
  });
});
