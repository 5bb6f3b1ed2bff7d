import { expect } from 'chai';
import { dedicatedKafka, kafkaPrograms } from '../support/kafka.js';
import { productFixture, destination, expectError, type Link } from './harness.js';
import { eventuallyPasses, within } from '../support/waiting.js';
import { fixture } from '../support/fixture.js';

/** The deadline of the contract, with room for a busy machine. */
const responseMs = 4_000;
const logUnavailable = 'The event log is temporarily unavailable';

describe('product: while Kafka is unavailable', function () {
  this.timeout(120_000);
  const kafka = fixture(
    () => dedicatedKafka('away'),
    (kafka) => kafka.drop(),
    { needs: kafkaPrograms },
  );
  const bench = productFixture(() => ({
    KAFKA_BROKERS: kafka.brokers,
    KAFKA_TOPIC_PREFIX: kafka.prefix,
  }));
  let paused = false;

  const pause = async (): Promise<void> => {
    process.kill(kafka.server.pid, 'SIGSTOP');
    paused = true;
    // The service knows that the log is unavailable when an event is unsent for a second.
    await bench.admin('PATCH', '/admin/platform', { features: { qr: false } });
    await bench.admin('PATCH', '/admin/platform', { features: { qr: true } });
  };
  const resume = (): void => {
    if (paused) process.kill(kafka.server.pid, 'SIGCONT');
    paused = false;
  };
  afterEach('wait for the log', async () => {
    resume();
    await eventuallyPasses(async () => {
      await bench.key('FREE');
    }, 50_000);
  });

  it('responds with 503 to POSTs within 2 s, spends no quota, and recovers by itself', async () => {
    const { key } = await bench.key('PRO');
    await bench.link(key);
    await pause();
    const before = await bench.usage(key);
    for (const [path, body] of [
      ['/v2/shorten', { url: destination }],
      ['/v2/shorten/batch', { urls: [{ url: destination }] }],
    ] as const) {
      const call = bench.api(path, key, { method: 'POST', body });
      const response = await within(responseMs, path, call);
      expectError(response, { status: 503, message: logUnavailable, path, method: 'POST' });
      expect(response.headers['retry-after']).to.match(/^[1-9]\d*$/);
      expect(response.headers).to.include.keys('x-ratelimit-limit', 'x-api-key-name');
    }
    expect((await bench.shorten('ll_none', { url: destination })).status).to.equal(401);
    expect(await bench.usage(key)).to.deep.equal(before);
    resume();
    await eventuallyPasses(async () => {
      const response = await bench.shorten(key, { url: destination });
      expect(response.status, response.text).to.equal(201);
    }, 60_000);
  });

  it('creates one link for a request that is retried with its Idempotency-Key', async () => {
    const { key } = await bench.key('PRO');
    const headers = { 'Idempotency-Key': 'order-1' };
    const body = { url: destination, alias: 'one-link' };
    process.kill(kafka.server.pid, 'SIGSTOP');
    paused = true;
    // The log is not yet known to be unavailable: the request takes effect without confirmation.
    const first = await within(responseMs, 'the first POST', bench.shorten(key, body, headers));
    expectError(first, {
      status: 503,
      message: logUnavailable,
      path: '/v2/shorten',
      method: 'POST',
    });
    expect([409, 503]).to.include((await bench.shorten(key, body, headers)).status);
    resume();
    await eventuallyPasses(async () => {
      const response = await bench.shorten(key, body, headers);
      expect(response.status, response.text).to.equal(201);
      expect(response.headers['idempotency-replayed']).to.equal('true');
      expect((response.json() as Link).shortCode).to.equal('one-link');
    }, 60_000);
    expect(await bench.usage(key)).to.include({ links: 1 });
    const again = await bench.shorten(key, body);
    expect(again.status, 'without Idempotency-Key').to.equal(400);
  });

  it('responds with 202 to changes of operators, which take effect immediately', async () => {
    const { key } = await bench.key('PRO');
    const { shortCode } = await bench.link(key);
    expect((await bench.visit(shortCode)).status).to.equal(302);
    await pause();
    const blocked = await bench.admin('POST', `/admin/links/${shortCode}/block`, {
      reason: 'phishing',
    });
    expect(blocked.status, blocked.text).to.equal(202);
    expect(blocked.json()).to.deep.equal({ shortCode, blocked: true });
    await eventuallyPasses(async () => {
      expect((await bench.visit(shortCode)).status).to.equal(410);
    });
    const issued = await bench.admin('POST', '/admin/keys', { name: 'now', plan: 'FREE' });
    expect(issued.status).to.equal(202);
    const { key: other } = issued.json() as { key: string };
    expect((await bench.api('/v2/usage', other)).status).to.equal(200);
    for (const method of ['PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { title: 'Mended' } : undefined;
      const link = await bench.admin(method, `/admin/links/${shortCode}`, body);
      expect(link.status, link.text).to.equal(202);
      expect(link.json()).to.include({ shortCode, title: 'Mended' });
    }
    resume();
    await eventuallyPasses(async () => {
      const history = await bench.admin('GET', `/admin/links/${shortCode}/history`);
      const { events } = history.json() as { events: { type: string }[] };
      expect(events.map(({ type }) => type)).to.include.members([
        'linklog.LinkBlocked.v1',
        'linklog.LinkDeleted.v1',
      ]);
    });
  });
});
