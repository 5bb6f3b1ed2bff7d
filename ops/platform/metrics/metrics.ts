import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { coalesce } from '../concurrency/coalesce.js';
import { EventLoopQueue } from '../concurrency/event-loop-queue.js';
import { DurationHistogram, type Durations } from './durations.js';
import { samplesOf, type Figure } from './figure.js';
import { createRequestRecorder } from './requests.js';

const loopCheckMs = 500;

/** Minimum interval of renderings for GET /metrics (ms), because a client may send it at any rate. */
const scrapePauseMs = 1_000;

/** In the HELP text of metrics with the state of the installation, which several processes expose. */
export const sharedNote = 'shared: take the maximum, do not add up';

/** The longest timer delay disables prom-client's monitor. */
const neverMs = 2 ** 31 - 1;

/** Measures how late a timer fires, which is the wait of a request that arrives at a random time. */
const watchEventLoop = (delays: Durations): void => {
  let due = performance.now() + loopCheckMs;
  setInterval(() => {
    const now = performance.now();
    delays.observe(Math.max(now - due, 0) / 1_000);
    due = now + loopCheckMs;
  }, loopCheckMs).unref();
};

/** The metrics of a process. Services keep plain numbers and register functions that read them. */
export const createMetrics = () => {
  // Not the global registry, because a test may start several products in one process.
  const registry = new Registry();
  // prom-client's monitor of the event loop wakes the process 100 times a second, a fifth of the CPU time of an idle
  // process; `watchEventLoop` wakes it twice.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: neverMs });
  for (const figure of ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99']) {
    registry.removeSingleMetric(`nodejs_eventloop_lag_${figure}_seconds`);
  }
  // Gauges whose names are those of counters. They are the sums of `nodejs_active_handles` and so on.
  for (const kind of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  }
  const histograms: DurationHistogram[] = [];

  const histogram = (name: string, help: string): DurationHistogram => {
    if (registry.getSingleMetric(name) ?? histograms.some((known) => known.name === name)) {
      throw new Error(`the metric ${name} exists already`);
    }
    const created = new DurationHistogram(name, help);
    histograms.push(created);
    return created;
  };
  const figures = new Map<string, Figure[]>();
  /** A name with labels may have several figures, such as one for each connection pool. */
  const expose = (Kind: typeof Counter | typeof Gauge, figure: Figure): void => {
    const { name, help, labels = [], shared = false } = figure;
    const known = figures.get(name);
    if (known) {
      if (labels.length === 0) throw new Error(`the metric ${name} exists already`);
      known.push(figure);
      return;
    }
    const registered = [figure];
    figures.set(name, registered);
    const metric: Counter | Gauge = new Kind({
      name,
      help: shared ? `${help} (${sharedNote})` : help,
      labelNames: labels,
      registers: [registry],
      async collect() {
        const samples = (await Promise.all(registered.map(samplesOf))).flat();
        metric.reset();
        for (const [sampleLabels, value] of samples) metric.inc(sampleLabels, value);
      },
    });
  };
  const requests = histogram(
    'linklog_http_request_duration_seconds',
    'Time from the head of a request to its answer',
  );

  watchEventLoop(
    histogram(
      'linklog_event_loop_delay_seconds',
      'How late the event loop is, twice a second',
    ).child(),
  );

  const text = async (): Promise<string> => {
    const known = await registry.metrics();
    return [known, ...histograms.map((created) => created.text())].join('\n');
  };

  const render = coalesce(async () => Buffer.from(await text()), scrapePauseMs);
  const responses = new EventLoopQueue();

  return {
    /** The name ends in `_total`. */
    counter(figure: Figure): void {
      expose(Counter, figure);
    },
    gauge(figure: Figure): void {
      expose(Gauge, figure);
    },
    /** The name ends in `_seconds`. */
    durations: (name: string, help: string): Durations => histogram(name, help).child(),
    requests: (listener: 'api' | 'edge' | 'admin') => createRequestRecorder(requests, listener),
    text,
    /** Renders the body of GET /metrics. Concurrent calls share a rendering. */
    scrape: async (): Promise<Buffer> => {
      const body = await render();
      await new Promise<void>((resolve) => {
        responses.add(resolve);
      });
      return body;
    },
    contentType: registry.contentType,
  };
};

export type Metrics = ReturnType<typeof createMetrics>;
