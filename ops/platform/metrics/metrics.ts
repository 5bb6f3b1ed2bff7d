import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { DurationHistogram, type Durations, type Labels } from './durations.js';
import { createRequestRecorder, type RequestRecorder } from './requests.js';

/** A number with its labels. */
export type Sample = readonly [labels: Labels, value: number];

/** A number, or several told apart by labels, that is read when somebody asks for the metrics. */
export interface Reading<Label extends string = string> {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly Label[];
  /** May not fail, or nothing could be told; what cannot be read is left out. */
  readonly read: () => number | readonly Sample[] | Promise<readonly Sample[]>;
}

/**
 * What a process tells of itself at GET /metrics. Made once a process and handed to its services:
 * they keep plain numbers, and say here how to read them.
 */
export interface Metrics {
  /** What only rises; its name ends in `_total`. */
  counter(reading: Reading): void;
  gauge(reading: Reading): void;
  /** How long something takes. Its name ends in `_seconds`. */
  durations(name: string, help: string): Durations;
  /** The requests of one listener of this process. */
  requests(listener: 'api' | 'edge' | 'admin'): RequestRecorder;
  /** Everything, in Prometheus' text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** Seldom enough to cost nothing, often enough that a minute tells. */
const lookAtLoopMs = 500;

const samplesOf = async (read: Reading['read']): Promise<readonly Sample[]> => {
  const value = await read();
  return typeof value === 'number' ? [[{}, value]] : value;
};

/** A time that does not come. */
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

export const createMetrics = (): Metrics => {
  // Of its own, since a test may start several products in one process.
  const registry = new Registry();
  const registers = [registry];
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
    counter({ name, help, labels = [], read }) {
      new Counter({
        name,
        help,
        labelNames: labels,
        registers,
        async collect() {
          const samples = await samplesOf(read);
          this.reset();
          for (const [of, value] of samples) this.inc(of, value);
        },
      });
    },
    gauge({ name, help, labels = [], read }) {
      new Gauge({
        name,
        help,
        labelNames: labels,
        registers,
        async collect() {
          const samples = await samplesOf(read);
          this.reset();
          for (const [of, value] of samples) this.set(of, value);
        },
      });
    },
    durations: (name, help) => histogram(name, help).child(),
    requests: (listener) => createRequestRecorder(requests, listener),
    async text() {
      const known = await registry.metrics();
      return [known, ...histograms.map((made) => made.text())].join('\n');
    },
    contentType: registry.contentType,
  };
};
