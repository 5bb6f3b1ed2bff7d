import { breakerSamples } from '../ops/platform/concurrency/circuit-breaker.js';
import type { Metrics, Sample } from '../ops/platform/metrics/metrics.js';
import type { LinkCache } from './links/link-cache.js';
import type { LinkReader } from './links/link-reader.js';
import type { SharedCacheActivity } from './links/shared-cache.js';
import type { Spool } from './spool/spool.js';

/** Tells of the edge's memory and of its spool. */
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
    help: 'Links looked up in memory; a miss is read from elsewhere',
    labels: ['result'],
    read: () => [
      [{ result: 'hit' }, links.lookups.hits],
      [{ result: 'miss' }, links.lookups.misses],
    ],
  });
  metrics.gauge({
    name: 'linklog_edge_cache_links',
    help: 'Links in memory',
    read: () => cache.count,
  });
  metrics.gauge({
    name: 'linklog_edge_cache_bytes',
    help: 'What the links in memory take, as estimated',
    read: () => cache.size,
  });

  metrics.gauge({
    name: 'linklog_spool_events',
    help: 'Visits in the spools of this process that are not in the log yet',
    read: () => spool.depth().events,
  });
  metrics.gauge({
    name: 'linklog_spool_bytes',
    help: 'Bytes in the spools of this process that are not in the log yet',
    read: () => spool.depth().bytes,
  });
  metrics.gauge({
    name: 'linklog_spool_max_bytes',
    help: 'Bytes of the spools at which visits are refused',
    read: () => maxSpoolBytes,
  });
  const { counters } = spool;
  const counts = [
    ['linklog_spool_appended_visits_total', 'Visits written down', 'appended'],
    ['linklog_spool_refused_visits_total', 'Visits that no spool could take: 503', 'refused'],
    ['linklog_spool_shipped_visits_total', 'Visits handed to the log, adopted ones too', 'shipped'],
    ['linklog_spool_ship_failures_total', 'Failed tries to hand visits to the log', 'shipFailures'],
    ['linklog_spool_adopted_total', 'Spools of processes that are gone, taken over', 'adopted'],
    ['linklog_spool_damaged_segments_total', 'Files put aside, unreadable', 'damaged'],
  ] as const;
  for (const [name, help, count] of counts) {
    metrics.counter({ name, help, read: () => counters[count] });
  }
};

/** Tells of the cache that the edges share. */
export const exposeSharedCache = (metrics: Metrics, activity: SharedCacheActivity): void => {
  const results = (counts: Readonly<Record<string, number>>): readonly Sample[] =>
    Object.entries(counts).map(([result, count]) => [{ result }, count]);
  metrics.counter({
    name: 'linklog_edge_shared_cache_lookups_total',
    help: 'Links looked up in Redis; whatever is no hit is read from PostgreSQL',
    labels: ['result'],
    read: () => results(activity.lookups),
  });
  metrics.counter({
    name: 'linklog_edge_shared_cache_writes_total',
    help: 'Links that were to be laid down in Redis',
    labels: ['result'],
    read: () => results(activity.writes),
  });
  metrics.gauge({
    name: 'linklog_edge_shared_cache_circuit',
    help: '1 for the state of the circuit to Redis; while it is open, Redis is left alone',
    labels: ['state'],
    read: () => breakerSamples(activity.circuit),
  });
};
