import { breakerSamples } from '../ops/platform/concurrency/retry.js';
import type { Sample } from '../ops/platform/metrics/figure.js';
import type { Metrics } from '../ops/platform/metrics/metrics.js';
import type { AdmissionOutcome } from './admission/command.js';
import type { AdmissionCounts } from './admission/admission.js';
import type { ClockWatch } from './admission/clock-watch.js';
import type { WebSafety } from './safety/web-safety.js';

const outcomes: Readonly<Record<AdmissionOutcome['type'], string>> = {
  admitted: 'admitted',
  keyInvalid: 'unauthorized',
  logUnavailable: 'log_unavailable',
  rateLimited: 'minute_limit',
  callsExhausted: 'monthly_limit',
  maintenance: 'maintenance',
};

const admissionTypes = Object.keys(outcomes) as AdmissionOutcome['type'][];

const samples = (label: string, counts: Readonly<Record<string, number>>): readonly Sample[] =>
  Object.entries(counts).map(([value, count]) => [{ [label]: value }, count]);

/** Metrics of admission, of the web safety check and of PostgreSQL's clock. */
export const exposeApi = (
  metrics: Metrics,
  admissions: AdmissionCounts,
  { verdicts, safeBrowsing: activity }: Pick<WebSafety, 'verdicts' | 'safeBrowsing'>,
  watch: ClockWatch,
): void => {
  metrics.counter({
    name: 'linklog_admissions_total',
    help: 'Calls of /v2 by the outcome of admission',
    labels: ['outcome'],
    read: () => admissionTypes.map((type) => [{ outcome: outcomes[type] }, admissions[type]]),
  });
  metrics.gauge({
    name: 'linklog_clock_future_seconds',
    shared: true,
    help: "Seconds by which the latest stored time is ahead of PostgreSQL's clock",
    read: watch.aheadSeconds,
  });
  metrics.counter({
    name: 'linklog_web_safety_verdicts_total',
    help: 'Checked URLs by verdict; unknown ones are not accepted',
    labels: ['verdict'],
    read: () => samples('verdict', verdicts),
  });
  if (activity === null) return;
  metrics.counter({
    name: 'linklog_safe_browsing_cache_lookups_total',
    help: 'URLs looked up in the cache of verdicts',
    labels: ['result'],
    read: () => samples('result', activity.cache),
  });
  metrics.counter({
    name: 'linklog_safe_browsing_calls_total',
    help: 'Calls of Google Safe Browsing',
    labels: ['outcome'],
    read: () => samples('outcome', activity.calls),
  });
  metrics.gauge({
    name: 'linklog_safe_browsing_breaker',
    help: '1 for the current state of the circuit breaker',
    labels: ['state'],
    read: () => breakerSamples(activity.breaker),
  });
};
