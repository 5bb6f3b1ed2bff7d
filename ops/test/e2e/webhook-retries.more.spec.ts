import { expect } from 'chai';
import { isSignedWith } from '../support/receiver.js';
import { eventuallyPasses } from '../support/waiting.js';
import { eventPages, foreignCursors } from './events-harness.js';
import { sharedProduct } from './harness.js';
import {
  deliveredWithinMs,
  laterPlease,
  subscriptions,
  webhookCalls,
  type Delivery,
  type Subscribed,
} from './webhooks-harness.js';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
/** The pauses after failed attempts. */
const retryDelaysMs = [
  ...[5 * secondMs, 5 * minuteMs, 30 * minuteMs],
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hourMs),
];

describe('product: deliveries of webhooks', () => {
  const bench = sharedProduct();
  const { readAll, end } = eventPages(bench);
  const calls = webhookCalls(bench);
  const { subscribe, expectEvents, enable } = subscriptions(bench);

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
        ['999999999', day, day],
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
      await calls.endLease(webhook);
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
      await eventuallyPasses(() => {
        expect(hook.deliveries).to.have.length(3);
      }, deliveredWithinMs);
      await calls.expectAttempts(key, webhook, 1);
      await failSince('119 hours');
      await calls.makeDue(webhook);
      await calls.expectAttempts(key, webhook, 2);
      expect(await calls.show(key, webhook)).to.include({ status: 'enabled' });
      await failSince('5 days');
      await calls.makeDue(webhook);
      await expectDisabled(subscribed, 'No delivery succeeded for 5 days');
    });
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

    for (const [what, reason] of [
      ['was lost', /was lost by a restore/],
      ['is of another log', /belongs to another log/],
    ] as const) {
      it(`wait for a replay if the cursor ${what}`, async () => {
        const subscribed = await subscribe();
        const { ofAnotherLog } = foreignCursors(await end(subscribed.key.key));
        await (what === 'was lost'
          ? calls.runSql('DELETE FROM delivery.cursors WHERE webhook = $1', subscribed.webhook)
          : calls.runSql(
              'UPDATE delivery.cursors SET cursor = $2, generation = generation + 1 WHERE webhook = $1',
              ...([subscribed.webhook, ofAnotherLog] as const),
            ));
        await expectStopped(subscribed, reason);
      });
    }
  });
});
