import { expect } from 'chai';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { collectorFixture, type Collector, type ExportedSpan } from '../support/collector.js';
import type { FeedEvent } from '../support/feed-event.js';
import { folderFixture } from '../support/fixtures.js';
import { startLinklogCli } from '../support/process.js';
import { onStack, serversFor, startEmbeddedProduct, type IssuedKey } from '../support/product.js';
import { receiverFixture } from '../support/receiver.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { Bench, destination, keyFixture, productFixture } from './harness.js';
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
/** The bytes of the digest at the end of a backup. */
const digestBytes = 32;

type TracedEvent = FeedEvent & { readonly traceparent?: string };

const linklog = async (bench: Bench, ...args: readonly string[]): Promise<string> => {
  const { dataDir } = bench.product;
  const env = { ...(await serversFor(dataDir)), DATA_DIR: dataDir };
  const { exitCode, stdout, stderr } = await startLinklogCli(args, env).ended;
  expect(exitCode, stderr).to.equal(0);
  return stdout;
};

const linesOf = (text: string): readonly TracedEvent[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as TracedEvent);

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
  const dir = folderFixture();
  const bench = productFixture({ ...loopback, LOG_LEVEL: 'info' });
  const pro = keyFixture(bench, 'PRO', { account: 'traced' });
  const webhooks = webhookCalls(bench);

  it('keeps it in the event, the feed, the command line, the backup and the delivery', async () => {
    const { traceId, traceparent } = newContext();
    const hook = receiver.hook();
    await webhooks.create(pro, { url: hook.url });
    const created = await bench.shorten(pro.key, { url: destination }, { traceparent });
    expect(created.status, created.text).to.equal(201);
    const { shortCode: code } = created.json() as { shortCode: string };

    const event = await findEvent(bench, pro, ({ subject }) => subject === code);
    expect(event.traceparent).to.equal(traceparent);

    const history = await bench.api(`/v2/links/${code}/history`, pro.key);
    expect(history.text).to.include(`"traceparent":"${traceparent}"`);

    // On the stack, the log is Kafka.
    const [replayed] = linesOf(await linklog(bench, 'audit', 'replay', '--code', code));
    expect(replayed).to.include({ subject: code, traceparent });

    const file = path.join(dir.path, 'traced.backup');
    await linklog(bench, 'backup', file);
    const backup = await readFile(file);
    const body = backup.subarray(backup.indexOf('\n') + 1, -digestBytes);
    expect(gunzipSync(body).toString()).to.include(traceparent);

    await eventually('the event is delivered', () => hook.events.length > 0, deliveredWithinMs);
    const [delivery] = hook.deliveries;
    expect(delivery?.events[0]).to.include({ subject: code, traceparent });
    expect(delivery?.headers['traceparent']).to.equal(traceparent);

    // The services of a stack log to files.
    if (!onStack) expect(bench.product.stderr()).to.include(`"traceId":"${traceId}"`);
  });

  it('keeps it in the events of every kind of command, and hides that of operators', async () => {
    const contexts = {
      change: newContext(),
      key: newContext(),
      importing: newContext(),
      block: newContext(),
    };
    const headersOf = ({ traceparent }: ReturnType<typeof newContext>) => ({ traceparent });
    const { shortCode: code } = await bench.link(pro.key);
    const send = async (
      context: ReturnType<typeof newContext>,
      method: string,
      at: string,
      body: unknown,
      headers = {},
    ): Promise<void> => {
      const options = { method, body, headers: { ...headersOf(context), ...headers } };
      const response = await bench.api(at, pro.key, options);
      expect(response.status, response.text).to.be.within(200, 207);
    };
    await send(contexts.change, 'PATCH', `/v2/links/${code}`, { title: 'A title' });
    await send(contexts.key, 'POST', '/v2/keys', { name: 'a child' });
    await send(
      ...([contexts.importing, 'POST', '/v2/imports?format=csv'] as const),
      `code,url\ntraced-import,${destination}\n`,
      { 'Content-Type': 'text/csv' },
    );
    const blocked = await bench.admin(
      'POST',
      `/admin/links/${code}/block`,
      { reason: 'phishing' },
      headersOf(contexts.block),
    );
    expect(blocked.status, blocked.text).to.equal(200);

    const { block, ...owned } = contexts;
    for (const [kind, { traceparent }] of Object.entries(owned)) {
      const isFound = (event: TracedEvent): boolean => event.traceparent === traceparent;
      const event = await findEvent(bench, pro, isFound, '&limit=1000');
      expect(event.traceparent, kind).to.equal(traceparent);
    }
    const isBlock = ({ type, subject }: TracedEvent): boolean =>
      subject === code && type.startsWith('linklog.LinkBlocked.');
    expect(await findEvent(bench, pro, isBlock)).to.not.have.property('traceparent');
    const replayed = linesOf(await linklog(bench, 'audit', 'replay', '--code', code));
    expect(replayed.find(isBlock)?.traceparent).to.equal(block.traceparent);
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

  it('starts a trace for a request without the header', async () => {
    const { shortCode: code } = await bench.link(pro.key);
    const event = await findEvent(bench, pro, ({ subject }) => subject === code);
    const [, traceId = '', spanId] = (event.traceparent ?? '').split('-');
    const spans = await waitForTrace(collector, traceId, (found) =>
      found.some((span) => span.spanId === spanId),
    );
    const request = spans.find((span) => span.spanId === spanId);
    expect(request?.name).to.equal('POST /v2/shorten');
    expect(request?.parentSpanId ?? '').to.equal('');
  });

  it('exports the spans of visits and of operators, without codes and addresses', async () => {
    const { shortCode: code } = await bench.link(pro.key);
    const first = newContext();
    const again = newContext();
    const operator = newContext();
    for (const { traceparent } of [first, again]) {
      const visited = await bench.visit(code, { headers: { traceparent } });
      expect(visited.status).to.equal(302);
    }
    const blocked = await bench.admin(
      ...(['POST', `/admin/links/${code}/block`, { reason: 'phishing' }] as const),
      { traceparent: operator.traceparent },
    );
    expect(blocked.status, blocked.text).to.equal(200);
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
    const spans = await waitForTrace(collector, operator.traceId, (found) => found.length >= 3);
    expect(spans.map(({ name }) => name)).to.include.members([
      ...['POST /admin/links/:shortCode/block', 'transaction', 'send linklog.links.v1'],
    ]);
    const exported = JSON.stringify(collector.spans);
    for (const secret of [code, pro.key, destination, '127.0.0.1']) {
      expect(exported).to.not.include(secret);
    }
  });
});

describe('product: tracing of EDGE_PROCESSES=2 with protobuf', () => {
  const collector = collectorFixture();
  const bench = new Bench();
  before(async () => {
    const env = {
      ...{ ...quickly, EDGE_PROCESSES: '2', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    };
    bench.use(await startEmbeddedProduct({ env }));
  });
  after(() => bench.product.cleanup());

  it('exports the spans of the edge processes', async () => {
    const { traceparent } = newContext();
    const response = await bench.visit('no-link', { headers: { traceparent } });
    expect(response.status).to.equal(404);
    await eventually('spans are exported', () => collector.requests.length > 0);
    expect(collector.requests[0]).to.deep.equal({
      ...{ path: '/v1/traces', contentType: 'application/x-protobuf' },
    });
    await bench.product.stop();
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
