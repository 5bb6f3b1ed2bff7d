/** The worker, the sender, PostgreSQL and the receivers are real. */
import { expect } from 'chai';
import { createWebhookHandler } from '../../command-api/webhooks/handler.js';
import { openFeed } from '../../ops/feed/feed.js';
import { createLogger } from '../../ops/platform/logging.js';
import { listen } from '../../ops/platform/networks/testing/raw-listener.js';
import { projectHistory } from '../../ops/test/support/feed-records.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';
import { eventually } from '../../ops/test/support/waiting.js';
import { createSender } from '../../ops/webhooks/sender.js';
import { listDeliveries } from '../../ops/webhooks/store.js';
import { topics } from '../../schemas/events/topics.js';
import { created, recordOf } from '../../schemas/testing/events.js';
import { readConfig } from '../../ops/config/config.js';
import { startDeliverer } from './deliverer.js';

const logger = createLogger('silent');
const receiverAddress = '127.0.0.1';

describe('projectors: webhooks to targets that are not allowed', () => {
  const database = databaseFixture('targets');
  const node = ledgerFixture(database);
  const receiver = fixture(
    () =>
      listen(receiverAddress, (socket) => socket.end('HTTP/1.1 302 Moved\r\nLocation: /\r\n\r\n')),
    (listener) => listener.close(),
  );

  /** Delivers an event to a webhook whose URL no route has checked. Returns the first attempt. */
  const attemptAt = async (account: string, url: string) => {
    const { pool, log, outbox } = node;
    const { dnsServers, webhooks } = readConfig({ WEBHOOK_NETWORKS: receiverAddress });
    const sender = createSender({ dnsServers, networks: webhooks.networks });
    const feed = openFeed({ pool, log, logger });
    const { command, decision } = await createWebhookHandler(pool, outbox).create(
      account,
      { url, types: ['LinkCreated'], domain: null, description: null },
      feed.encode(await feed.ends()),
      { actor: 'key-1', requestId: null },
    );
    if (decision.type === 'refused') throw new Error(decision.refusal.type);
    await log.append(topics.links.name, [recordOf(created(`of-${account}`, {}, { account }))]);
    await projectHistory(pool, log);
    const metrics = { gauge: () => undefined };
    const deliverer = startDeliverer({ pool, outbox, feed, sender, metrics, logger });
    const query = { status: null, before: null, limit: 1 };
    const delivery = async () => (await listDeliveries(pool, command.subject, query))[0];
    try {
      await eventually(
        'there is an attempt',
        async () => (await delivery())?.attempts[0] !== undefined,
      );
      return await delivery();
    } finally {
      await deliverer.stop();
      await feed.stop();
    }
  };

  it('record the refusal as an attempt, or the status of a redirect, which is not followed', async () => {
    const { port } = receiver;
    for (const [account, url, attempt] of [
      ['a', `https://[::1]:${port}`, { status: null, error: 'the address ::1 is not allowed' }],
      ['b', 'receiver.example', { status: null, error: 'the URL is invalid' }],
      ['c', `http://${receiverAddress}:${port}/hook`, { status: 302, error: null }],
    ] as const) {
      const delivery = await attemptAt(account, url);
      expect(delivery?.status, url).to.equal('pending');
      expect(delivery?.attempts[0], url).to.include(attempt);
      expect(delivery?.nextAttemptAt, url).to.not.equal(null);
    }
    expect(receiver.requests.filter((request) => request.startsWith('POST '))).to.have.length(1);
  });
});
