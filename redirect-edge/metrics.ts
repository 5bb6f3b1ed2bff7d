import { breakerSamples } from '../ops/platform/concurrency/retry.js';
import type { Sample } from '../ops/platform/metrics/figure.js';
import type { Metrics } from '../ops/platform/metrics/metrics.js';
import type { LinkCache, LinkReader } from './links/link-reader.js';
import type { SharedCache } from './links/shared-cache.js';
import type { Spool } from './spool/spool.js';

/** Metrics of the links in memory and of the spool. */
export const exposeEdge = (
  metrics: Metrics,
  edge: {
    readonly links: Pick<LinkReader, 'lookups'>;
    readonly cache: LinkCache;
    readonly spool: Spool;
    readonly maxSpoolBytes: number;
  },
): void => {
  const { links, cache, spool, maxSpoolBytes } = edge;
  metrics.counter({
    name: 'linklog_edge_cache_lookups_total',
    help: 'Links looked up in memory, by result',
    labels: ['result'],
    read: () => [
      [{ result: 'hit' }, links.lookups.hits],
      [{ result: 'miss' }, links.lookups.misses],
    ],
  });
  const gauges = [
    ['linklog_edge_cache_links', 'Links in memory', () => cache.count],
    ['linklog_edge_cache_bytes', 'Estimated bytes of the links in memory', () => cache.size],
    [
      'linklog_spool_events',
      'Visits in the spools of this process that are not in the log yet',
      () => spool.depth().events,
    ],
    [
      'linklog_spool_bytes',
      'Bytes in the spools of this process that are not in the log yet',
      () => spool.depth().bytes,
    ],
    [
      'linklog_spool_own_bytes',
      "Bytes of the files of this process's own spool, which are bounded",
      () => spool.diskBytes(),
    ],
    [
      'linklog_spool_max_bytes',
      'Bytes of its own spool at which an edge refuses visits',
      () => maxSpoolBytes,
    ],
    [
      'linklog_spool_left_over_spools',
      'Spools of ended processes that are not in the log yet',
      () => spool.leftOver().spools,
    ],
    ['linklog_spool_left_over_bytes', 'Bytes of these spools', () => spool.leftOver().bytes],
  ] as const;
  for (const [name, help, read] of gauges) metrics.gauge({ name, help, read });
  const setAside = [
    [
      'linklog_spool_set_aside_files',
      'Damaged files in SPOOL_DIR that are set aside',
      () => spool.setAside().files,
    ],
    ['linklog_spool_set_aside_bytes', 'Bytes of these files', () => spool.setAside().bytes],
  ] as const;
  for (const [name, help, read] of setAside) metrics.gauge({ name, help, shared: true, read });
  const { counters } = spool;
  const counts = [
    ['linklog_spool_appended_visits_total', 'Visits written to the spool', 'appended'],
    ['linklog_spool_refused_visits_total', 'Visits that the spool refused: 503', 'refused'],
    [
      'linklog_spool_shipped_visits_total',
      'Visits appended to the log, including those of adopted spools',
      'shipped',
    ],
    [
      'linklog_spool_ship_failures_total',
      'Failed attempts to append visits to the log',
      'shipFailures',
    ],
    ['linklog_spool_adopted_total', 'Adopted spools of ended processes', 'adopted'],
    ['linklog_spool_damaged_segments_total', 'Damaged files that were set aside', 'damaged'],
  ] as const;
  for (const [name, help, count] of counts) {
    metrics.counter({ name, help, read: () => counters[count] });
  }
};

export const exposeSharedCache = (metrics: Metrics, cache: SharedCache): void => {
  const results = (counts: Readonly<Record<string, number>>): readonly Sample[] =>
    Object.entries(counts).map(([result, count]) => [{ result }, count]);
  const counters = [
    ['lookups', 'Links looked up in Redis; all except hits are read from PostgreSQL'],
    ['writes', 'Links to be written to Redis'],
  ] as const;
  for (const [operation, help] of counters) {
    const name = `linklog_edge_shared_cache_${operation}_total`;
    metrics.counter({ name, help, labels: ['result'], read: () => results(cache[operation]) });
  }
  metrics.gauge({
    name: 'linklog_edge_shared_cache_circuit',
    help: '1 for the state of the circuit to Redis; while it is open, Redis is not used',
    labels: ['state'],
    read: () => breakerSamples(cache.circuit),
  });
};
