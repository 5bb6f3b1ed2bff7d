import { expect } from 'chai';
import { collectorFixture, type Collector, type ExportedSpan } from '../support/collector.js';
import { nameOf, type FeedEvent } from '../support/feed-event.js';
import { onStack, startEmbeddedProduct, type IssuedKey } from '../support/product.js';
import { receiverFixture } from '../support/receiver.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { Bench, destination, keyFixture, productFixture, sharedProduct } from './harness.js';
import { deliveredWithinMs, webhookCalls } from './webhooks-harness.js';

const hex = (length: number): string =>
  Array.from({ length }, () => (1 + Math.floor(Math.random() * 15)).toString(16)).join('');

const newContext = () => {
  const traceId = hex(32);
  const parentId = hex(16);
  return { traceId, parentId, traceparent: `00-${traceId}-${parentId}-01` };
};

const loopback = { WEBHOOK_NETWORKS: '127.0.0.0/8' };
const quickly = { OTEL_BSP_SCHEDULE_DELAY: '100' };

type TracedEvent = FeedEvent & { readonly traceparent?: string };

/** Waits for an event in the feed of a key. */
const findEvent = async (
  bench: Bench,
  { key }: IssuedKey,
  isFound: (event: TracedEvent) => boolean,
  query = '',
): Promise<TracedEvent> => {
  let found: TracedEvent | undefined;
  await eventually('the event is in the feed', async () => {
    const response = await bench.api(`/v2/events?after=start${query}`, key);
    expect(response.status, response.text).to.equal(200);
    found = (response.json() as { events: readonly TracedEvent[] }).events.find(isFound);
    return found !== undefined;
  });
  if (!found) throw new Error('the event is not in the feed');
  return found;
};

describe('product: traceparent without a collector', () => {
  const receiver = receiverFixture();
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'traced' });

  it('is in events, the history and the delivery; that of operators is hidden', async () => {
    const [creating, importing, blocking] = [newContext(), newContext(), newContext()];
    const hook = receiver.hook();
    await webhookCalls(bench).create(pro, { url: hook.url, types: ['LinkCreated'] });
    const { traceparent } = creating;
    const created = await bench.shorten(pro.key, { url: destination }, { traceparent });
    expect(created.status, created.text).to.equal(201);
    const { shortCode: code } = created.json() as { shortCode: string };
    await bench.api('/v2/imports?format=csv', pro.key, {
      ...{ method: 'POST', body: `code,url\ntraced-import,${destination}\n` },
      headers: { 'Content-Type': 'text/csv', traceparent: importing.traceparent },
    });
    const blocked = await bench.admin(
      ...(['POST', `/admin/links/${code}/block`, { reason: 'phishing' }] as const),
      { traceparent: blocking.traceparent },
    );
    expect(blocked.status, blocked.text).to.equal(200);

    const history = await bench.api(`/v2/links/${code}/history`, pro.key);
    expect(history.text).to.include(`"traceparent":"${traceparent}"`);
    for (const [subject, type, expected] of [
      [code, 'LinkCreated', traceparent],
      ['traced-import', 'LinkImported', importing.traceparent],
      [code, 'LinkBlocked', undefined],
    ] as const) {
      const event = await findEvent(
        ...([bench, pro] as const),
        (found) => found.subject === subject && nameOf(found) === type,
      );
      expect(event.traceparent, type).to.equal(expected);
    }
    await eventually('the event is delivered', () => hook.events.length > 0, deliveredWithinMs);
    const [delivery] = hook.deliveries;
    expect(delivery?.events[0]).to.include({ subject: code, traceparent });
    expect(delivery?.headers['traceparent']).to.equal(traceparent);
  });

  it('has no traceparent in visits', async () => {
    const { traceparent } = newContext();
    const { shortCode: code } = await bench.link(pro.key);
    const response = await bench.visit(code, { headers: { traceparent } });
    expect(response.status).to.equal(302);
    await bench.expectClicks(code, pro.key, 1);
    const query = `&types=LinkVisited&shortCode=${code}`;
    const event = await findEvent(bench, pro, () => true, query);
    expect(event).to.not.have.property('traceparent');
  });
});

/** Waits for spans with this trace, until `isComplete`. */
const waitForTrace = async (
  collector: Collector,
  traceId: string,
  isComplete: (spans: readonly ExportedSpan[]) => boolean,
): Promise<readonly ExportedSpan[]> => {
  const spans = (): readonly ExportedSpan[] =>
    collector.spans.filter(
      (span) => span.traceId === traceId || span.links.some((link) => link.traceId === traceId),
    );
  await eventuallyPasses(() => {
    expect(isComplete(spans()), JSON.stringify(spans().map(({ name }) => name))).to.equal(true);
  }, deliveredWithinMs);
  return spans();
};

describe('product: tracing', () => {
  const receiver = receiverFixture();
  const collector = collectorFixture();
  const bench = productFixture(() => ({
    ...{ ...loopback, ...quickly },
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_SERVICE_NAME: 'links',
  }));
  const pro = keyFixture(bench, 'PRO');
  const webhooks = webhookCalls(bench);

  it('exports the spans of a request and of the work that it causes, in one trace', async () => {
    const { traceId, parentId, traceparent } = newContext();
    const hook = receiver.hook();
    await webhooks.create(pro, { url: hook.url });
    const created = await bench.shorten(pro.key, { url: destination }, { traceparent });
    expect(created.status, created.text).to.equal(201);
    const { shortCode: code } = created.json() as { shortCode: string };

    const expected = [
      'POST /v2/shorten',
      'transaction',
      'send linklog.links.v1',
      'process linklog.links.v1',
      'POST',
    ];
    const spans = await waitForTrace(collector, traceId, (found) =>
      expected.every((name) => found.some((span) => span.name === name)),
    );
    const spanOf = (name: string): ExportedSpan => {
      const span = spans.find((found) => found.name === name);
      if (!span) throw new Error(`no span ${name}`);
      return span;
    };
    const request = spanOf('POST /v2/shorten');
    expect(request).to.deep.include({
      ...{ traceId, parentSpanId: parentId, kind: 2, service: 'links' },
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v2/shorten',
        'http.response.status_code': 201,
      },
    });

    const { spanId } = request;
    const child = { traceId, parentSpanId: spanId };
    expect(spanOf('transaction')).to.include({ ...child, kind: 3 });
    expect(spanOf('transaction').attributes).to.include({ 'db.system.name': 'postgresql' });
    const append = spanOf('send linklog.links.v1');
    expect(append).to.include({ ...child, kind: 4 });
    expect(append.attributes).to.include({
      'messaging.system': onStack ? 'kafka' : 'postgresql',
      'messaging.destination.name': 'linklog.links.v1',
    });
    const batch = spanOf('process linklog.links.v1');
    expect(batch.kind).to.equal(5);
    expect(batch.links).to.deep.include({ traceId, spanId });
    const delivery = spanOf('POST');
    expect(delivery).to.include({ ...child, kind: 3 });
    expect(delivery.attributes).to.include({ 'http.response.status_code': 204 });

    const ofRequest = `00-${traceId}-${spanId}-01`;
    const event = await findEvent(bench, pro, ({ subject }) => subject === code);
    expect(event.traceparent).to.equal(ofRequest);
    const received = hook.deliveries.find(({ events: [first] }) => first?.subject === code);
    expect(received?.headers['traceparent']).to.equal(`00-${traceId}-${delivery.spanId}-01`);
  });

  it('exports the spans of visits, without codes and addresses', async () => {
    const { shortCode: code } = await bench.link(pro.key);
    const first = newContext();
    const again = newContext();
    for (const { traceparent } of [first, again]) {
      const visited = await bench.visit(code, { headers: { traceparent } });
      expect(visited.status).to.equal(302);
    }
    for (const { traceId, parentId } of [first, again]) {
      const [visit] = await waitForTrace(collector, traceId, (found) => found.length > 0);
      expect(visit).to.deep.include({
        ...{ name: 'GET /:shortCode', kind: 2, parentSpanId: parentId },
        attributes: {
          'http.request.method': 'GET',
          'http.route': '/:shortCode',
          'http.response.status_code': 302,
        },
      });
    }
    const exported = JSON.stringify(collector.spans);
    for (const secret of [code, pro.key, '127.0.0.1']) {
      expect(exported).to.not.include(secret);
    }
  });
});

describe('product: tracing while the collector does not respond', () => {
  const collector = collectorFixture(true);
  const bench = new Bench();
  before(async () => {
    const env = {
      ...{ ...quickly, OTEL_BSP_MAX_QUEUE_SIZE: '10', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5' },
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
    };
    bench.use(await startEmbeddedProduct({ env }));
  });
  after(() => bench.product.cleanup());

  it('serves requests, drops spans, and stops in time', async () => {
    const { key } = await bench.key('PRO');
    for (let index = 0; index < 30; index += 1) {
      const { shortCode } = await bench.link(key);
      expect((await bench.visit(shortCode)).status).to.equal(302);
    }
    await eventually('spans are sent', () => collector.requests.length > 0);
    await bench.product.stop();
  });
});
