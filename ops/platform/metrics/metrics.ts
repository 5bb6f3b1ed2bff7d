import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { collectDefaultMetrics, Counter, Gauge, Registry, type Metric } from 'prom-client';
import { coalesce } from '../concurrency/deferred.js';
import { EventLoopQueue } from '../concurrency/periodic.js';
import type { Logger } from '../logging.js';
import { samplesOf, type Figure, type Gauges, type Labels, type Sample } from './figure.js';

const loopCheckMs = 500;

/** Minimum interval of renderings for GET /metrics (ms), because a client may send it at any rate. */
const scrapePauseMs = 1_000;

/** The note in the HELP text of metrics with the state of the installation, which several processes expose. */
const sharedNote = 'shared: take the maximum, do not add up';

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
  // The longest delay of a timer disables the monitor of prom-client.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 2 ** 31 - 1 });
  for (const figure of ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99']) {
    registry.removeSingleMetric(`nodejs_eventloop_lag_${figure}_seconds`);
  }
  // Gauges whose names are those of counters. They are the sums of `nodejs_active_handles` and so on.
  for (const kind of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`nodejs_active_${kind}_total`);
  }
  const histogram = (name: string, help: string) => createHistogram(registry, name, help);
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

  const text = (): Promise<string> => registry.metrics();
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

/** Upper bounds of the buckets (s): from a cached redirect to more than any client waits. */
const bounds = [
  0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const;

/** The series of a histogram. */
export class Durations {
  /** The counts of the buckets are not cumulative; the last bucket has no bound. */
  readonly counts = new Float64Array(bounds.length + 1);
  sum = 0;

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += seconds;
  }

  /** @param startedAt of `performance.now()` */
  observeSince(startedAt: number): void {
    this.observe((performance.now() - startedAt) / 1_000);
  }
}

/**
 * Registers a histogram that is cheap enough for redirects: prom-client renders it, but its `observe` joins the labels at
 * each call.
 */
const createHistogram = (registry: Registry, name: string, help: string) => {
  const children: { readonly labels: Labels; readonly durations: Durations }[] = [];
  const valuesOf = ({ labels: sharedLabels, durations: { counts, sum } }: (typeof children)[0]) => {
    let count = 0;
    const buckets = Array.from(counts, (inBucket, bucket) => {
      count += inBucket;
      const labels = { le: bounds[bucket] ?? '+Inf' };
      return { metricName: `${name}_bucket`, labels, sharedLabels, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, sharedLabels, value: sum },
      { metricName: `${name}_count`, sharedLabels, value: count },
    ];
  };
  const get = () => ({ name, help, type: 'histogram', values: children.flatMap(valuesOf) });
  // The types of prom-client require the methods of its own metrics, which a registry does not call.
  registry.registerMetric({ name, get } as unknown as Metric);
  return {
    /** Creates a series with these labels. */
    child(labels: Labels = {}): Durations {
      const durations = new Durations();
      children.push({ labels, durations });
      return durations;
    },
  };
};

type DurationHistogram = ReturnType<typeof createHistogram>;

/** Methods with their own label; clients may send about thirty others. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Records the requests of one listener, without string operations, because redirects are recorded too. */
const createRequestRecorder = (histogram: DurationHistogram, listener: string) => {
  /** The key is a route, then a number of method and status. */
  const routes = new Map<string, Map<number, Durations>>();
  /** @param route a pattern such as `/:shortCode`, or `other`, but never the path of a request */
  const durationsOf = (route: string, method: string | undefined, status: number): Durations => {
    let ofRoute = routes.get(route);
    if (!ofRoute) routes.set(route, (ofRoute = new Map<number, Durations>()));
    const known = methods.indexOf(method ?? '');
    const series = known * 1_000 + status;
    let durations = ofRoute.get(series);
    if (!durations) {
      const labels = {
        listener,
        route,
        method: methods[known] ?? 'other',
        status: String(status),
      };
      ofRoute.set(series, (durations = histogram.child(labels)));
    }
    return durations;
  };
  return {
    durationsOf,
    /** @param startedAt of `performance.now()` */
    record(route: string, method: string | undefined, status: number, startedAt: number): void {
      durationsOf(route, method, status).observeSince(startedAt);
    },
  };
};

export type RequestRecorder = ReturnType<typeof createRequestRecorder>;

/** Measures the file systems of directories, by purpose. */
export const measureDisks = (
  metrics: Gauges,
  dirs: Readonly<Record<string, string>>,
  logger: Logger,
): void => {
  const gauge = (name: string, help: string, bytesOf: (disk: StatsFs) => number): void => {
    const sample = async ([dir, path]: [string, string]): Promise<readonly Sample[]> => {
      try {
        return [[{ dir }, bytesOf(await statfs(path))]];
      } catch (err) {
        // The other metrics must be readable without this directory.
        logger.debug({ err, dir }, 'the disk of a directory could not be measured');
        return [];
      }
    };
    metrics.gauge({
      name,
      help,
      labels: ['dir'],
      read: async () => (await Promise.all(Object.entries(dirs).map(sample))).flat(),
    });
  };
  gauge(
    'linklog_disk_free_bytes',
    'Free bytes of the disk of DATA_DIR or SPOOL_DIR, for users other than root',
    ({ bavail, bsize }) => bavail * bsize,
  );
  gauge(
    'linklog_disk_size_bytes',
    'Size of the disk of DATA_DIR or SPOOL_DIR',
    ({ blocks, bsize }) => blocks * bsize,
  );
};
