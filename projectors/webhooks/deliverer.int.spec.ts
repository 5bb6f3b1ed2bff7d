/** The worker, the sender, PostgreSQL and the receivers are real. */
import { expect } from 'chai';
import { createWebhookHandler } from '../../command-api/webhooks/handler.js';
import { openFeed } from '../../ops/feed/feed.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { createLogger } from '../../ops/platform/logging.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';
import { projectHistory } from '../../ops/test/support/feed-records.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';
import { receiverFixture } from '../../ops/test/support/receiver.js';
import { eventually, eventuallyPasses, rejection } from '../../ops/test/support/waiting.js';
import { createSender } from '../../ops/webhooks/sender.js';
import { topics } from '../../schemas/events/topics.js';
import { created, recordOf } from '../../schemas/testing/events.js';
import { readConfig } from '../../ops/config/config.js';
import { startDeliverer } from './deliverer.js';

const logger = createLogger('silent');

describe('projectors: the deliverer of webhooks', () => {
  const node = ledgerFixture(databaseFixture('deliverer'));
  const receiver = receiverFixture();

  const createWebhook = async (account: string) => {
    const { pool, outbox, log } = node;
    const feed = openFeed({ pool, log, logger });
    const hook = receiver.hook();
    const terms = { url: hook.url, types: ['LinkCreated'], domain: null, description: null };
    const actor = { actor: 'key-1', requestId: null };
    const handler = createWebhookHandler(pool, outbox);
    const cursor = feed.encode(await feed.ends());
    const { command, decision } = await handler.create(account, terms, cursor, actor);
    if (decision.type === 'refused') throw new Error(decision.refusal.type);
    return { hook, id: command.subject };
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
    const stuck = await createWebhook('stuck');
    await createLink('stuck');
    await eventually('there is an attempt', () => stuck.hook.deliveries.length > 0);
    await pool.query('UPDATE ledger.webhooks SET sequence = sequence + 1 WHERE id = $1', [
      stuck.id,
    ]);
    const other = await createWebhook('other');
    await createLink('other');
    await eventually('the other one delivers', () => other.hook.deliveries.length > 0);
    unblocked.resolve();
    await blocked.stop();
  });

  it('is degraded while a webhook waits for a process for more than a minute', async () => {
    const { pool } = node;
    const { id } = await createWebhook('waiting');
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
});
