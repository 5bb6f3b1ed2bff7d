/** The worker, the sender, PostgreSQL and the receivers are real. */
import { expect } from 'chai';
import { createWebhookHandler } from '../../command-api/webhooks/handler.js';
import { openFeed } from '../../ops/feed/feed.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { createLogger } from '../../ops/platform/logging.js';
import { listen } from '../../ops/platform/networks/testing/raw-listener.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';
import { projectHistory } from '../../ops/test/support/feed-records.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';
import { receiverFixture } from '../../ops/test/support/receiver.js';
import { eventually, eventuallyPasses, rejection } from '../../ops/test/support/waiting.js';
import { createSender } from '../../ops/webhooks/sender.js';
import { listDeliveries } from '../../ops/webhooks/store.js';
import { topics } from '../../schemas/events/topics.js';
import { created, recordOf } from '../../schemas/testing/events.js';
import { readConfig } from '../../ops/config/config.js';
import { startDeliverer } from './deliverer.js';

const logger = createLogger('silent');

describe('projectors: the deliverer of webhooks', () => {
  const node = ledgerFixture(databaseFixture('deliverer'));
  const receiver = receiverFixture();

  /** Creates a webhook, whose URL no route checks. */
  const createWebhook = async (account: string, hook: { readonly url: string }) => {
    const { pool, outbox, log } = node;
    const feed = openFeed({ pool, log, logger });
    const terms = { url: hook.url, types: ['LinkCreated'], domain: null, description: null };
    const actor = { actor: 'key-1', requestId: null };
    const handler = createWebhookHandler(pool, outbox);
    const cursor = feed.encode(await feed.ends());
    const { command, decision } = await handler.create(account, terms, cursor, actor);
    if (decision.type === 'refused') throw new Error(decision.refusal.type);
    return command.subject;
  };

  const createLink = async (account: string): Promise<void> => {
    const { pool, log } = node;
    const event = created(`of-${account}`, {}, { account });
    await log.append(topics.links.name, [recordOf(event)]);
    await projectHistory(pool, log);
  };

  const start = (pool: Pool) => {
    const { outbox, log } = node;
    const { dnsServers, webhooks } = readConfig({ WEBHOOK_NETWORKS: '127.0.0.1' });
    const sender = createSender({ dnsServers, networks: webhooks.networks });
    const feed = openFeed({ pool, log, logger });
    const metrics = { gauge: () => undefined };
    const deliverer = startDeliverer({ pool, outbox, feed, sender, metrics, logger });
    return {
      check: () => deliverer.check(),
      async stop(): Promise<void> {
        await deliverer.stop();
        await feed.stop();
      },
    };
  };

  it('takes webhooks while the worker of another one cannot stop', async () => {
    const { pool } = node;
    const unblocked = deferred();
    const query = async (...args: unknown[]): Promise<unknown> => {
      const { name } = args[0] as { readonly name?: string };
      if (name === 'webhooks-attempt') await unblocked.promise;
      return pool.query(...(args as [string]));
    };
    const blocked = start(Object.assign(Object.create(pool) as Pool, { query }));
    const [stuck, other] = [receiver.hook(), receiver.hook()];
    const id = await createWebhook('stuck', stuck);
    await createLink('stuck');
    await eventually('there is an attempt', () => stuck.deliveries.length > 0);
    await pool.query('UPDATE ledger.webhooks SET sequence = sequence + 1 WHERE id = $1', [id]);
    await createWebhook('other', other);
    await createLink('other');
    await eventually('the other one delivers', () => other.deliveries.length > 0);
    unblocked.resolve();
    await blocked.stop();
  });

  it('is degraded while a webhook waits for a process for more than a minute', async () => {
    const { pool } = node;
    const id = await createWebhook('waiting', receiver.hook());
    await pool.query(
      "UPDATE ledger.webhooks SET last_event_at = now() - interval '2 minutes' WHERE id = $1",
      [id],
    );
    const deliverer = await transaction(pool, async (tx) => {
      await tx.query('SELECT FROM delivery.cursors WHERE webhook = $1 FOR UPDATE', [id]);
      const started = start(pool);
      await eventuallyPasses(async () => {
        const error = await rejection(started.check());
        expect(error).to.include({ code: 'WEBHOOKS_UNLEASED', severity: 'degraded' });
      });
      return started;
    });
    await eventuallyPasses(() => deliverer.check());
    await deliverer.stop();
  });

  describe('to targets that are not allowed', () => {
    const address = '127.0.0.1';
    const redirecting = fixture(
      () => listen(address, (socket) => socket.end('HTTP/1.1 302 Moved\r\nLocation: /\r\n\r\n')),
      (listener) => listener.close(),
    );

    it('records the refusal as an attempt, or the status of a redirect, which is not followed', async () => {
      const { port, requests } = redirecting;
      for (const [account, url, attempt] of [
        ['a', `https://[::1]:${port}`, { status: null, error: 'the address ::1 is not allowed' }],
        ['b', 'receiver.example', { status: null, error: 'the URL is invalid' }],
        ['c', `http://${address}:${port}/hook`, { status: 302, error: null }],
      ] as const) {
        const id = await createWebhook(account, { url });
        await createLink(account);
        const deliverer = start(node.pool);
        const query = { status: null, before: null, limit: 1 };
        const delivery = async () => (await listDeliveries(node.pool, id, query))[0];
        await eventually('there is an attempt', async () => {
          return (await delivery())?.attempts[0] !== undefined;
        });
        await deliverer.stop();
        const { status, attempts, nextAttemptAt } = (await delivery()) ?? { attempts: [] };
        expect(status, url).to.equal('pending');
        expect(attempts[0], url).to.include(attempt);
        expect(nextAttemptAt, url).to.not.equal(null);
      }
      expect(requests.filter((request) => request.startsWith('POST '))).to.have.length(1);
    });
  });
});
