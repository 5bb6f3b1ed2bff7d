import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { DurationHistogram, type Durations, type Labels } from './durations.js';
import { createRequestRecorder } from './requests.js';

/** A number with its labels. */
export type Sample = readonly [labels: Labels, value: number];

/** A number, or several with different labels, that is read for each answer of GET /metrics. */
export interface Figure {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** Must not fail: the whole answer would. A value that cannot be read is left out. */
  readonly read: () => number | readonly Sample[] | Promise<readonly Sample[]>;
}

const lookAtLoopMs = 500;

const samplesOf = async (read: Figure['read']): Promise<readonly Sample[]> => {
  const value = await read();
  return typeof value === 'number' ? [[{}, value]] : value;
};

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
  const metricOf = ({ name, help, labels = [], read }: Figure) => ({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    async collect(this: Counter | Gauge) {
      const samples = await samplesOf(read);
      this.reset();
      for (const [of, value] of samples) this.inc(of, value);
    },
  });
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

  return {
    /** A number that only rises. Its name ends in `_total`. */
    counter: (figure: Figure): unknown => new Counter(metricOf(figure)),
    gauge: (figure: Figure): unknown => new Gauge(metricOf(figure)),
    /** How long something takes. Its name ends in `_seconds`. */
    durations: (name: string, help: string): Durations => histogram(name, help).child(),
    /** The requests of one listener of this process. */
    requests: (listener: 'api' | 'edge' | 'admin') => createRequestRecorder(requests, listener),
    /** Everything, in Prometheus' text format. */
    async text(): Promise<string> {
      const known = await registry.metrics();
      return [known, ...histograms.map((made) => made.text())].join('\n');
    },
    contentType: registry.contentType,
  };
};

export type Metrics = ReturnType<typeof createMetrics>;
