import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { coalesce } from '../concurrency/coalesce.js';
import { EventLoopQueue } from '../concurrency/event-loop-queue.js';
import { DurationHistogram, type Durations } from './durations.js';
import { samplesOf, type Figure } from './figure.js';
import { createRequestRecorder } from './requests.js';

const lookAtLoopMs = 500;

/** Milliseconds between two renderings for GET /metrics: anybody may send it, as often as they like. */
const scrapePauseMs = 250;

/** Longest timer delay: disables prom-client's own monitor. */
const neverMs = 2 ** 31 - 1;

/** How late a timer fires: what any request waits that comes at a moment like any other. */
const watchEventLoop = (delays: Durations): void => {
  let due = performance.now() + lookAtLoopMs;
  setInterval(() => {
    const now = performance.now();
    delays.observe(Math.max(now - due, 0) / 1_000);
    due = now + lookAtLoopMs;
  }, lookAtLoopMs).unref();
};

/**
 * The metrics of a process, for GET /metrics. Made once and handed to its services: they keep plain
 * numbers, and say here how to read them.
 */
export const createMetrics = () => {
  // Of its own, since a test may start several products in one process.
  const registry = new Registry();
  // Its monitor of the event loop wakes the process a hundred times a second, which was a fifth of
  // what an idle process took; ours looks twice.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: neverMs });
  for (const figure of ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99']) {
    registry.removeSingleMetric(`nodejs_eventloop_lag_${figure}_seconds`);
  }
  const histograms: DurationHistogram[] = [];

  const histogram = (name: string, help: string): DurationHistogram => {
    if (registry.getSingleMetric(name) ?? histograms.some((known) => known.name === name)) {
      throw new Error(`There are metrics named ${name} already`);
    }
    const made = new DurationHistogram(name, help);
    histograms.push(made);
    return made;
  };
  const figures = new Map<string, Figure[]>();
  /** Several places may tell of one name, where labels tell them apart: each pool of connections does. */
  const expose = (Kind: typeof Counter | typeof Gauge, figure: Figure): void => {
    const { name, help, labels = [] } = figure;
    const known = figures.get(name);
    if (known) {
      if (labels.length === 0) throw new Error(`There are metrics named ${name} already`);
      known.push(figure);
      return;
    }
    const all = [figure];
    figures.set(name, all);
    const metric: Counter | Gauge = new Kind({
      name,
      help,
      labelNames: labels,
      registers: [registry],
      async collect() {
        const samples = (await Promise.all(all.map(samplesOf))).flat();
        metric.reset();
        for (const [of, value] of samples) metric.inc(of, value);
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

  /** Everything, in Prometheus' text format. */
  const text = async (): Promise<string> => {
    const known = await registry.metrics();
    return [known, ...histograms.map((made) => made.text())].join('\n');
  };

  const render = coalesce(async () => Buffer.from(await text()), scrapePauseMs);
  const responses = new EventLoopQueue();

  return {
    /** A number that only rises. Its name ends in `_total`. */
    counter(figure: Figure): void {
      expose(Counter, figure);
    },
    gauge(figure: Figure): void {
      expose(Gauge, figure);
    },
    /** How long something takes. Its name ends in `_seconds`. */
    durations: (name: string, help: string): Durations => histogram(name, help).child(),
    /** The requests of one listener of this process. */
    requests: (listener: 'api' | 'edge' | 'admin') => createRequestRecorder(requests, listener),
    text,
    /** The body of GET /metrics: as `text`, but many calls share a rendering that starts after them. */
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
