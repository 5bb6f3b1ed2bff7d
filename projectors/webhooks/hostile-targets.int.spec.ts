/** The worker, the sender, PostgreSQL, the DNS server and the receivers are real. */
import { expect } from 'chai';
import { createWebhookHandler } from '../../command-api/webhooks/handler.js';
import { readConfig } from '../../ops/config/config.js';
import { openFeed } from '../../ops/feed/feed.js';
import { createLogger } from '../../ops/platform/logging.js';
import { noContent } from '../../ops/platform/networks/testing/hostile-responses.js';
import {
  hostileNames,
  hostileUrls,
  loopbackUrls,
  mixedName,
  receiverAddress,
  setHostileNames,
} from '../../ops/platform/networks/testing/hostile-targets.js';
import {
  listen,
  type RawListener,
  type Respond,
} from '../../ops/platform/networks/testing/raw-listener.js';
import { dnsServerFixture } from '../../ops/test/support/dns-server.js';
import { projectHistory } from '../../ops/test/support/feed-records.js';
import { fixture, type FixtureOptions } from '../../ops/test/support/fixture.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';
import { eventually } from '../../ops/test/support/waiting.js';
import { createSender, type Sender } from '../../ops/webhooks/sender.js';
import { listDeliveries, type Delivery } from '../../ops/webhooks/store.js';
import { topics } from '../../schemas/events/topics.js';
import { created, recordOf } from '../../schemas/testing/events.js';
import { startDeliverer } from './deliverer.js';

const logger = createLogger('silent');

/** For the attempts of some hundred webhooks on a busy machine (ms). */
const attemptedWithinMs = 60_000;

const notAllowed = / not allowed$|^only https is allowed$/;
const unavailable = 'HTTP/1.1 503 Busy\r\n\r\n';

const accountOf = (index: number): string => `account-${index}`;

const loopback = '127.0.0.1';

/** The schema rejects them, but the schema of an earlier version may have accepted them. */
const invalidUrls = ['https://xn--a.example', 'https://127.0.0.1:65536', 'receiver.example', ''];

/** The URL with https and with http. */
const withHttp = (url: string): readonly string[] => [
  ...new Set([url, url.replace('https:', 'http:')]),
];

const onlyDelivery = (deliveries: ReadonlyMap<string, Delivery>, url: string): Delivery => {
  const delivery = deliveries.get(url);
  if (!delivery) throw new Error(`no delivery to ${url}`);
  return delivery;
};

/** Checks attempts, and that the next one is due later. The worker may have repeated a failed one. */
const expectAttempts = (
  { status, attempts, nextAttemptAt }: Delivery,
  expected: { readonly status: number | null; readonly error?: string | null },
): void => {
  expect(attempts).to.have.length.of.at.least(1);
  for (const attempt of attempts) {
    expect(attempt).to.have.all.keys('at', 'status', 'durationMs', 'error');
    expect(attempt).to.include(expected);
  }
  const [last] = attempts.slice(-1);
  const isDelivered = last?.error === null && [200, 204].includes(last.status ?? 0);
  expect(status).to.equal(isDelivered ? 'delivered' : 'pending');
  expect(nextAttemptAt === null).to.equal(isDelivered);
};

const expectRefused = (delivery: Delivery): void => {
  expectAttempts(delivery, { status: null });
  for (const { error } of delivery.attempts) expect(error).to.match(notAllowed);
};

const listenerFixture = (host: string, respond: Respond, options?: FixtureOptions): RawListener =>
  fixture(
    () => listen(host, respond),
    (listener) => listener.close(),
    options,
  );

/** A database, a DNS server, and a listener on all addresses of this machine. */
const setUp = (options?: FixtureOptions) => {
  const database = databaseFixture('hostile', options);
  const node = ledgerFixture(database, options);
  const dns = dnsServerFixture(options);
  const canary = listenerFixture('::', (socket) => socket.end(noContent), options);

  /** @param networks WEBHOOK_NETWORKS */
  const senderOf = (networks: string): Sender => {
    const env = { WEBHOOK_NETWORKS: networks, DNS_SERVERS: dns.address };
    const { dnsServers, webhooks } = readConfig(env);
    return createSender({ dnsServers, networks: webhooks.networks });
  };

  /** Creates a webhook in an account of its own, without the checks of the route. */
  const createWebhook = async (account: string, url: string, cursor: string): Promise<string> => {
    const { pool, outbox } = node;
    const outcome = await createWebhookHandler(pool, outbox).create(
      account,
      { url, types: ['LinkCreated'], domain: null, description: null },
      cursor,
      { actor: 'key-1', requestId: null },
    );
    if (outcome.type === 'refused') throw new Error(outcome.refusal.type);
    return outcome.id;
  };

  /** The lowest number of attempts of a delivery; 0 unless there are `count` deliveries. */
  const minAttempts = async (count: number): Promise<number> => {
    const { rows } = await node.pool.query<{ deliveries: number; attempts: number | null }>(
      `SELECT count(*) AS deliveries, min(jsonb_array_length(attempts)) AS attempts
       FROM delivery.deliveries`,
    );
    const [{ deliveries, attempts } = { deliveries: 0, attempts: null }] = rows;
    return deliveries === count ? (attempts ?? 0) : 0;
  };

  const makeDue = async (): Promise<void> => {
    await node.pool.query(
      `UPDATE delivery.deliveries SET next_attempt_at = clock_timestamp()
       WHERE status = 'pending'`,
    );
  };

  /** Delivers an event to each URL, and repeats failed attempts. Returns the deliveries by URL. */
  const deliver = async (
    sender: Sender,
    urls: readonly string[],
    attempts = 1,
  ): Promise<ReadonlyMap<string, Delivery>> => {
    const { pool, log, outbox } = node;
    setHostileNames(dns);
    const feed = openFeed({ pool, log, logger });
    const cursor = feed.encode(await feed.ends());
    const webhooks = new Map<string, string>();
    for (const [index, url] of urls.entries()) {
      webhooks.set(url, await createWebhook(accountOf(index), url, cursor));
    }
    const events = urls.map((_, index) =>
      created(`link-${index}`, {}, { account: accountOf(index) }),
    );
    await log.append(topics.links.name, events.map(recordOf));
    await projectHistory(pool, log);
    const metrics = { gauge: () => undefined };
    const deliverer = startDeliverer({ pool, outbox, feed, sender, metrics, logger });
    try {
      for (let count = 1; count <= attempts; count += 1) {
        if (count > 1) await makeDue();
        await eventually(
          `each delivery has ${count} attempts`,
          async () => (await minAttempts(urls.length)) >= count,
          attemptedWithinMs,
        );
      }
    } finally {
      await deliverer.stop();
      await feed.stop();
    }
    const deliveries = new Map<string, Delivery>();
    for (const [url, id] of webhooks) {
      const query = { status: null, before: null, limit: 2 };
      const [delivery, ...others] = await listDeliveries(pool, id, query);
      expect(others, url).to.deep.equal([]);
      if (delivery) deliveries.set(url, delivery);
    }
    return deliveries;
  };

  return { dns, canary, senderOf, deliver };
};

describe('projectors: webhooks to hostile targets', () => {
  for (const networks of ['', loopback]) {
    describe(
      networks === '' ? 'without WEBHOOK_NETWORKS' : `with WEBHOOK_NETWORKS=${networks}`,
      () => {
        const { canary, senderOf, deliver } = setUp();
        const isAllowed = (hostile: string): boolean =>
          networks === loopback && loopbackUrls.includes(hostile);
        // Of the addresses of this name, only some are allowed.
        const targets = hostileUrls.filter(
          (url) => networks !== loopback || !url.includes(mixedName),
        );
        const urls = (hostile: string): readonly string[] =>
          withHttp(hostile.replace('PORT', String(canary.port)));
        const deliveries = fixture(() => {
          const others = networks === loopback ? [] : invalidUrls;
          return deliver(senderOf(networks), [...targets.flatMap(urls), ...others]);
        });

        for (const hostile of targets.filter((url) => !isAllowed(url))) {
          it(`record a refusal for ${hostile}`, () => {
            for (const url of urls(hostile)) expectRefused(onlyDelivery(deliveries, url));
          });
        }

        for (const hostile of targets.filter(isAllowed)) {
          it(`deliver to ${hostile}`, () => {
            const [https = '', http = ''] = urls(hostile);
            const delivery = onlyDelivery(deliveries, http);
            expectAttempts(delivery, { status: 204, error: null });
            const requests = canary.requests.filter((request) => request.includes(delivery.id));
            expect(requests).to.have.length(1);
            const error = 'the TLS handshake failed';
            expectAttempts(onlyDelivery(deliveries, https), { status: null, error });
          });
        }

        if (networks === loopback) {
          it(`connect only to ${loopback}`, () => {
            expect(new Set(canary.connections)).to.deep.equal(new Set([loopback]));
            const plain = canary.requests.filter((request) => request.startsWith('POST '));
            expect(plain).to.have.length(loopbackUrls.length);
          });
          return;
        }

        it('record an error for invalid URLs', () => {
          for (const url of invalidUrls) {
            const error = 'the URL is invalid';
            expectAttempts(onlyDelivery(deliveries, url), { status: null, error });
          }
        });

        it('connect to no listener', () => {
          expect(canary.connections).to.deep.equal([]);
        });
      },
    );
  }

  describe('under names that resolve to other addresses later', () => {
    const { dns, canary, senderOf, deliver } = setUp({ per: 'test' });
    const names = Object.entries(hostileNames);

    /** Sets the addresses of names before and after their first look-up. Returns the names. */
    const rebind = (first: string): readonly string[] =>
      names.map(([name, addresses]) => {
        dns.setAddresses(`rebinding-${name}`, [first], addresses);
        return `rebinding-${name}`;
      });
    const rebound = { status: null, error: 'an address of the name is not allowed' };

    it('record a refusal if the name was public when the webhook was created', async () => {
      const sender = senderOf('');
      // A public address, to which no spec connects.
      const urls = rebind('93.184.215.14').map((name) => `https://${name}:${canary.port}`);
      for (const url of urls) expect(await sender.allows(url), url).to.equal(true);
      const deliveries = await deliver(sender, urls);
      for (const url of urls) expectAttempts(onlyDelivery(deliveries, url), rebound);
      expect(canary.connections).to.deep.equal([]);
    });

    it('record a refusal if the first attempt reached an allowed address', async () => {
      const receiver = await listen(receiverAddress, (socket) => socket.end(unavailable));
      try {
        const urls = rebind(receiverAddress).map((name) => `http://${name}:${receiver.port}`);
        const deliveries = await deliver(senderOf(receiverAddress), urls, 2);
        for (const url of urls) {
          const { attempts, ...delivery } = onlyDelivery(deliveries, url);
          expect(attempts[0]).to.include({ status: 503, error: null });
          expectAttempts({ ...delivery, attempts: attempts.slice(1) }, rebound);
        }
        expect(receiver.connections).to.deep.equal(urls.map(() => receiverAddress));
      } finally {
        await receiver.close();
      }
    });
  });

  describe('that redirect', () => {
    const { canary, senderOf, deliver } = setUp();
    const statuses = [301, 302, 303, 307, 308];
    /** The path has the status and the index of the target. */
    const receiver = listenerFixture(receiverAddress, (socket, request) => {
      const [, status = '', index = ''] = /^POST \/(\d+)\/(\d+) /.exec(request) ?? [];
      const location = targets()[Number(index)] ?? '';
      socket.end(Buffer.from(`HTTP/1.1 ${status} Moved\r\nLocation: ${location}\r\n\r\n`, 'utf8'));
    });
    /** Also a location in the allowed network. */
    const targets = (): readonly string[] =>
      [...hostileUrls.flatMap(withHttp), `http://${receiverAddress}:PORT`].map((url) =>
        url.replace('PORT', String(canary.port)),
      );
    const urlOf = (index: number): string => {
      const status = statuses[index % statuses.length] ?? 0;
      return `http://${receiverAddress}:${receiver.port}/${status}/${index}`;
    };

    it('record the status, and follow none', async () => {
      const urls = targets().map((_, index) => urlOf(index));
      const deliveries = await deliver(senderOf(receiverAddress), urls);
      for (const [index, url] of urls.entries()) {
        const status = statuses[index % statuses.length] ?? 0;
        expectAttempts(onlyDelivery(deliveries, url), { status, error: null });
      }
      expect(new Set(receiver.requests.map((request) => request.split(' ')[1]))).to.have.property(
        'size',
        urls.length,
      );
      expect(canary.connections).to.deep.equal([]);
    });
  });
});
