import { expect } from 'chai';
import type { WebhookWithSecretResponse } from '../../../schemas/http/webhooks.js';
import { nameOf } from '../support/feed-event.js';
import { withLedger } from '../support/ledger-events.js';
import type { IssuedKey } from '../support/product.js';
import {
  isSignedWith,
  receiverFixture,
  type Hook,
  type ReceivedDelivery,
  type ScriptedResponse,
} from '../support/receiver.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { newName } from './domains-harness.js';
import { eventPages, foreignCursors } from './events-harness.js';
import { destination, sharedProduct, type Link } from './harness.js';
import { deliveredWithinMs, webhookCalls, type Delivery } from './webhooks-harness.js';

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const batchType = 'application/cloudevents-batch+json';
const maxBatch = { events: 100, bytes: 262_144 };

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
/** The pauses after failed attempts. */
const retryDelaysMs = [
  ...[5 * secondMs, 5 * minuteMs, 30 * minuteMs],
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
];

/** A failure whose retry no test waits for. */
const laterPlease: ScriptedResponse = { status: 503, headers: { 'Retry-After': '3600' } };

/** The time of a UUIDv7 (ms). */
const timeOf = ({ id }: ReceivedDelivery): number => parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

interface Subscribed {
  readonly key: IssuedKey;
  readonly hook: Hook;
  readonly webhook: WebhookWithSecretResponse;
}

describe('product: deliveries of webhooks', () => {
  const receiver = receiverFixture();
  const bench = sharedProduct();
  const { page, readAll, end } = eventPages(bench);
  const calls = webhookCalls(bench);
  let accounts = 0;

  /** A webhook with a receiver of its own, by default for created links in a new account. */
  const subscribe = async (body: object = {}, owner?: IssuedKey): Promise<Subscribed> => {
    accounts += 1;
    const key = owner ?? (await bench.key('PRO', { account: `deliveries-${accounts}` }));
    const hook = receiver.hook();
    const terms = { url: hook.url, types: ['LinkCreated'], ...body };
    return { key, hook, webhook: await calls.create(key, terms) };
  };

  const expectEvents = (hook: Hook, subjects: readonly string[]): Promise<void> =>
    eventuallyPasses(() => {
      expect(hook.events.map(({ subject }) => subject)).to.have.members(subjects);
    }, deliveredWithinMs);

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

  const pause = async ({ key, webhook }: Subscribed): Promise<void> => {
    expect(await calls.change(key, webhook, { status: 'paused' })).to.include({ status: 'paused' });
    await calls.endLease(webhook);
  };

  const enable = async ({ key, webhook }: Subscribed): Promise<void> => {
    const enabled = { status: 'enabled', disabledReason: null };
    expect(await calls.change(key, webhook, { status: 'enabled' })).to.include(enabled);
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

    it('the events of a subject in order', async () => {
      const { key, hook } = await subscribe({ types: null });
      const { shortCode } = await bench.link(key.key);
      for (let change = 0; change < 4; change += 1) {
        await bench.change(shortCode, key.key, { disabled: change % 2 === 0 });
      }
      await eventuallyPasses(() => {
        const sequences = hook.events.map(({ sequence }) => Number(sequence));
        expect(sequences).to.deep.equal([1, 2, 3, 4, 5]);
      }, deliveredWithinMs);
    });
  });

  describe('of waiting events', () => {
    it('have one event each if there are at most 10', async () => {
      const { key, hook, webhook } = await deliverTogether(10);
      expect(hook.deliveries.map(({ isBatch }) => isBatch)).to.deep.equal(Array(10).fill(false));
      const { deliveries } = await calls.deliveries(key, webhook);
      const received = hook.deliveries.map(({ id }) => id);
      expect(deliveries.map(({ id }) => id).reverse()).to.deep.equal(received);
    });

    for (const [count, sizes] of [
      [11, [11]],
      [220, [maxBatch.events, maxBatch.events, 20]],
    ] as const) {
      it(`have at most 100 events: ${count}`, async () => {
        const { hook } = await deliverTogether(count);
        expect(hook.deliveries.map(({ events }) => events.length)).to.deep.equal(sizes);
        expect(hook.deliveries[0]).to.include({ isBatch: true });
        expect(hook.deliveries[0]?.headers).to.include({ 'content-type': batchType });
      });
    }

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

  describe('that fail', () => {
    /** Expects the time of the next attempt within bounds after the last one (ms). */
    const expectNextAttempt = (
      { attempts, nextAttemptAt }: Delivery,
      shortestMs: number,
      longestMs = shortestMs,
    ): void => {
      const next = Date.parse(nextAttemptAt ?? '');
      // The pause began after the attempt, and before this test saw it.
      expect(next).to.be.at.least(Date.parse(attempts.at(-1)?.at ?? '') + shortestMs);
      expect(next).to.be.at.most(Date.now() + longestMs);
    };

    it('are retried with the same id and body, and a new signature', async () => {
      const { key, hook, webhook } = await subscribe();
      hook.respond(500, 204);
      const { shortCode } = await bench.link(key.key);
      const failed = await calls.expectAttempts(key, webhook, 1);
      expect(failed).to.include({ status: 'pending', count: 1 });
      const delivered = await calls.expectAttempts(key, webhook, 2);
      expect(delivered).to.include({ id: failed.id, status: 'delivered', nextAttemptAt: null });
      const statuses = delivered.attempts.map(({ status, error }) => [status, error]);
      expect(statuses).to.deep.equal([
        [500, null],
        [204, null],
      ]);
      const [first, second] = hook.deliveries;
      for (const delivery of hook.deliveries) {
        expect(delivery).to.include({ id: failed.id, body: first?.body });
        expect(isSignedWith(webhook.secret, delivery)).to.equal(true);
      }
      const header = 'webhook-timestamp';
      expect(Number(second?.headers[header])).to.be.above(Number(first?.headers[header]));
      await expectEvents(hook, [shortCode, shortCode]);
    });

    it('are retried with pauses of 5 s to 24 h, at most 9 times', async () => {
      const { key, hook, webhook } = await subscribe();
      hook.respond(500, 404, 301, 400);
      await bench.link(key.key);
      for (const [index, delayMs] of retryDelaysMs.entries()) {
        const delivery = await calls.expectAttempts(key, webhook, index + 1);
        expect(delivery).to.include({ status: 'pending' });
        expectNextAttempt(delivery, 0.8 * delayMs, 1.2 * delayMs);
        await calls.makeDue(webhook);
      }
      const delivery = await calls.expectAttempts(key, webhook, retryDelaysMs.length + 1);
      expect(delivery).to.include({ status: 'failed', nextAttemptAt: null });
      const ids = hook.deliveries.map(({ id }) => id);
      expect(ids).to.deep.equal(Array(10).fill(delivery.id));
      expect(await calls.show(key, webhook)).to.include({ status: 'enabled', lag: 0 });
    }).timeout(120_000);

    it('are retried at Retry-After if that is later, at most after 24 h', async () => {
      const { key, hook, webhook } = await subscribe();
      const date = new Date(Date.now() + 2 * hourMs);
      const day = 24 * hourMs;
      const script: readonly (readonly [
        retryAfter: string,
        shortestMs: number,
        longestMs: number,
      ])[] = [
        ['3600', hourMs, hourMs],
        [date.toUTCString(), hourMs, 2 * hourMs],
        ['1', 24 * minuteMs, 36 * minuteMs],
        ['999999999', day, day],
        ['soon', 4 * hourMs, 6 * hourMs],
      ];
      hook.respond(
        ...script.map(([retryAfter]) => ({ status: 429, headers: { 'Retry-After': retryAfter } })),
      );
      await bench.link(key.key);
      for (const [index, [retryAfter, ...bounds]] of script.entries()) {
        const delivery = await calls.expectAttempts(key, webhook, index + 1);
        expectNextAttempt(delivery, ...bounds);
        if (retryAfter === date.toUTCString()) {
          expect(delivery.nextAttemptAt).to.equal(new Date(retryAfter).toISOString());
        }
        await calls.makeDue(webhook);
      }
    }).timeout(120_000);

    it('delay no other ones', async () => {
      const { key, hook, webhook } = await subscribe();
      hook.respond(laterPlease, 204);
      const codes = [await bench.link(key.key), await bench.link(key.key)];
      await expectEvents(
        hook,
        codes.map(({ shortCode }) => shortCode),
      );
      await eventuallyPasses(async () => {
        const { deliveries } = await calls.deliveries(key, webhook);
        expect(deliveries.map(({ status }) => status)).to.deep.equal(['delivered', 'pending']);
      }, deliveredWithinMs);
    });

    it('because there is no response within 15 s delay no other webhook', async () => {
      const { key, hook, webhook } = await subscribe();
      const other = await subscribe({}, key);
      hook.respond('silent');
      const { shortCode } = await bench.link(key.key);
      await expectEvents(hook, [shortCode]);
      const later = await bench.link(key.key);
      await expectEvents(other.hook, [shortCode, later.shortCode]);
      const { deliveries } = await calls.deliveries(key, webhook);
      expect(deliveries.map(({ attempts }) => attempts)).to.deep.equal([[]]);
      hook.respond(204);
      await expectEvents(hook, [shortCode, later.shortCode]);
      const attempted = (await calls.deliveries(key, webhook)).deliveries.at(-1)?.attempts[0];
      expect(attempted).to.include({ status: null, error: 'no response within 15 s' });
    });

    it('stop the cursor while 1,000 of them wait for a retry', async () => {
      const { key, hook, webhook } = await subscribe();
      await calls.runSql(
        `INSERT INTO delivery.deliveries (id, webhook, created_at, types, count, status, attempts, next_attempt_at, body)
         SELECT gen_random_uuid(), $1, now(), '{LinkCreated}', 1, 'pending', '[{"status": 500}]',
           now() + interval '1 day', '{}'
         FROM generate_series(1, 1000)`,
        webhook,
      );
      await calls.endLease(webhook);
      const other = await subscribe({}, key);
      const { shortCode } = await bench.link(key.key);
      await expectEvents(other.hook, [shortCode]);
      await calls.expectShown(key, webhook, { lag: 1_001 });
      expect(hook.deliveries).to.be.empty;
      const finish = `UPDATE delivery.deliveries SET status = 'failed' WHERE id IN (
        SELECT id FROM delivery.deliveries WHERE webhook = $1 AND status = 'pending' LIMIT 1)`;
      await calls.runSql(finish, webhook);
      await expectEvents(hook, [shortCode]);
    });
  });

  describe('of a disabled webhook', () => {
    const expectDisabled = async (
      { key, webhook }: Subscribed,
      disabledReason: string,
    ): Promise<void> => {
      await calls.expectShown(key, webhook, { status: 'disabled', disabledReason });
      await eventuallyPasses(async () => {
        const disabled = (await readAll(key.key, 'types=WebhookDisabled')).at(-1);
        expect(disabled).to.deep.include({
          ...{ subject: webhook.id, actor: 'system', data: { reason: disabledReason } },
        });
      }, deliveredWithinMs);
    };

    it('stop with a 410, and continue when it is enabled', async () => {
      const subscribed = await subscribe();
      const { key, hook, webhook } = subscribed;
      hook.respond(410);
      const codes = [(await bench.link(key.key)).shortCode];
      await expectDisabled(subscribed, 'The receiver responded with 410');
      const { status, attempts } = await calls.expectAttempts(key, webhook, 1);
      expect([status, attempts[0]?.status]).to.deep.equal(['failed', 410]);
      codes.push((await bench.link(key.key)).shortCode);
      await calls.expectShown(key, webhook, { lag: 1 });
      expect(hook.deliveries).to.have.length(1);
      hook.respond(204);
      await enable(subscribed);
      await expectEvents(hook, codes);
    });

    it('stop after 5 days without a success', async () => {
      const subscribed = await subscribe();
      const { key, hook, webhook } = subscribed;
      const failSince = (interval: string): Promise<void> =>
        calls.runSql(
          `UPDATE delivery.cursors SET failing_since = clock_timestamp() - $2::interval
           WHERE webhook = $1`,
          ...([webhook, interval] as const),
        );
      hook.respond(laterPlease, 204, laterPlease);
      await bench.link(key.key);
      await calls.expectAttempts(key, webhook, 1);
      // A success starts the time anew.
      await failSince('6 days');
      await calls.makeDue(webhook);
      await calls.expectAttempts(key, webhook, 2);
      await bench.link(key.key);
      await eventually('another delivery fails', () => hook.deliveries.length === 3);
      await calls.expectAttempts(key, webhook, 1);
      await failSince('119 hours');
      await calls.makeDue(webhook);
      await calls.expectAttempts(key, webhook, 2);
      expect(await calls.show(key, webhook)).to.include({ status: 'enabled' });
      await failSince('5 days');
      await calls.makeDue(webhook);
      await expectDisabled(subscribed, 'No delivery succeeded for 5 days');
      // Enabling starts the time anew.
      await enable(subscribed);
      await bench.link(key.key);
      await eventually('another attempt fails', () => hook.deliveries.length > 5);
      await calls.expectAttempts(key, webhook, 1);
      expect(await calls.show(key, webhook)).to.include({ status: 'enabled' });
    });
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
    const { rows } = await withLedger(bench.product, (pool) =>
      pool.query(
        `SELECT FROM delivery.cursors WHERE webhook = $1
         UNION ALL SELECT FROM delivery.deliveries WHERE webhook = $1`,
        [webhook.id],
      ),
    );
    expect(rows).to.be.empty;
  });

  describe('after a restore', () => {
    /** Expects a disabled webhook that delivers from the start after a replay. */
    const expectStopped = async (
      { key, hook, webhook }: Subscribed,
      reason: RegExp,
    ): Promise<void> => {
      await eventuallyPasses(async () => {
        const { status, disabledReason } = await calls.show(key, webhook);
        expect(status).to.equal('disabled');
        expect(disabledReason).to.match(reason);
      }, deliveredWithinMs);
      const other = await subscribe({}, key);
      const { shortCode } = await bench.link(key.key);
      await expectEvents(other.hook, [shortCode]);
      expect(hook.deliveries).to.be.empty;
      await calls.replay(key, webhook, 'start');
      await expectEvents(hook, [shortCode]);
      expect(await calls.show(key, webhook)).to.include({
        status: 'enabled',
        disabledReason: null,
      });
    };

    it('wait for a replay if the cursor was lost', async () => {
      const subscribed = await subscribe();
      await calls.runSql('DELETE FROM delivery.cursors WHERE webhook = $1', subscribed.webhook);
      await expectStopped(subscribed, /was lost by a restore/);
    });

    it('wait for a replay if the cursor is of another log', async () => {
      const subscribed = await subscribe();
      const { ofAnotherLog } = foreignCursors(await end(subscribed.key.key));
      await calls.runSql(
        'UPDATE delivery.cursors SET cursor = $2, generation = generation + 1 WHERE webhook = $1',
        ...([subscribed.webhook, ofAnotherLog] as const),
      );
      await expectStopped(subscribed, /belongs to another log/);
    });
  });
});
