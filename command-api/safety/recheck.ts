import { v7 as uuidv7 } from 'uuid';
import type { Logger } from '../../ops/platform/logging.js';
import { firstWithin } from '../../ops/platform/collections.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { ownActors } from '../../schemas/decision.js';
import { urlsOf } from '../../schemas/link-options.js';
import type { LinkBlockHandler } from '../links/block/handler.js';
import {
  announceScans,
  deleteEndedScans,
  endLease,
  readLiveLinks,
  takeLease,
  oldestPosition,
  type Lease,
  type LiveLink,
} from './safety-scans.js';
import { checkGroups } from './safety-check.js';
import { maxUrlsPerCall } from './threat-matches.js';
import type { Recheckers } from './web-safety.js';

/**
 * A scan of the live links, oldest first, in pages. Nodes share it: its position is a row in the database, and the node
 * with the lease checks the next page.
 */
export interface Scan {
  readonly name: string;
  /** The minimum age of the scanned links (ms). */
  readonly ageMs: number;
  /** The pause after a full page (ms). */
  readonly paceMs: number;
  /** The pause after the last link (ms); `null`: the scan ends. */
  readonly restMs: number | null;
  /** Whether the scan restarts at the oldest link after this pause, or continues with new links. */
  readonly restarts: boolean;
  readonly sources: 'blocklist' | 'all';
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Scans each link once, at an age or up to a twelfth later. */
const atAge = (name: string, ageMs: number): Scan => ({
  name,
  ageMs,
  paceMs: 0,
  restMs: ageMs / 12,
  restarts: false,
  sources: 'all',
});

/**
 * Young links are checked often: attacks start right after the creation of a link, and lists contain them minutes or
 * hours later. All links are checked every three days, at most one page per ten seconds, which stays below Google's
 * 10,000 free calls per day.
 */
export const recheckSchedule: readonly Scan[] = [
  atAge('1 minute', minuteMs),
  atAge('10 minutes', 10 * minuteMs),
  atAge('1 hour', hourMs),
  atAge('1 day', dayMs),
  {
    name: 'every 3 days',
    ageMs: dayMs,
    paceMs: 10 * secondMs,
    restMs: 3 * dayMs,
    restarts: true,
    sources: 'all',
  },
];

/**
 * Scans all live links once when the blocklist changes. Links that another node accepted with the old list meanwhile are
 * found by the scan at 1 minute.
 */
export const blocklistScan = (version: string): Scan => ({
  name: `blocklist ${version}`,
  ageMs: 0,
  paceMs: 0,
  restMs: null,
  restarts: false,
  sources: 'blocklist',
});

/** The duration of a lease (ms). A page takes one call (2 s) and a transaction. */
const leaseMs = 30_000;
/** The pause while the web safety service is unavailable (ms). */
const retryMs = 10_000;

/** The pause after a page that failed (ms). */
const failedMs = 1_000;

const actor = ownActors.webSafety;

/**
 * Checks links again after their creation, one page at a time, and blocks unsafe ones. While the service is unavailable,
 * scans do not continue.
 *
 * @returns a function that checks the next due page and returns 1, or 0 if no page is due
 */
export const createRecheck = (deps: {
  readonly pool: Pool;
  readonly safety: Recheckers;
  readonly blocks: LinkBlockHandler;
  readonly schedule: readonly Scan[];
  readonly logger: Logger;
  readonly pageSize?: number;
}): (() => Promise<number>) => {
  const { pool, safety, blocks, schedule, logger, pageSize = maxUrlsPerCall } = deps;
  let announced = '';
  /** A page that fails is halved, so that no links stop the scans of all accounts. */
  let size = pageSize;

  /** The scans of this process: the schedule, and the scan for its blocklist. */
  const scans = async (): Promise<readonly Scan[]> => {
    const version = safety.blocklist.version();
    const own = blocklistScan(version);
    if (announced !== version) {
      await announceScans(pool, [own.name, ...schedule.map(({ name }) => name)]);
      // If an earlier list is used again, it needs a new scan for the links created meanwhile.
      await deleteEndedScans(pool, blocklistScan('').name, own.name);
      announced = version;
    }
    return [own, ...schedule];
  };

  /** Checks a page and blocks unsafe links. @returns whether all verdicts are known */
  const check = async (links: readonly LiveLink[], { sources }: Scan): Promise<boolean> => {
    let open = links;
    let complete = true;
    for (const source of [safety.blocklist, ...(sources === 'all' ? safety.services : [])]) {
      const verdicts = await checkGroups(source, open.map(urlsOf));
      const unsafe = open.filter((_link, index) => verdicts[index] === 'unsafe');
      if (unsafe.length > 0) await block(unsafe, source.reason);
      complete &&= !open.some((_link, index) => (verdicts[index] ?? 'unknown') === 'unknown');
      open = open.filter((_link, index) => verdicts[index] === 'safe');
    }
    return complete;
  };

  const block = async (links: readonly LiveLink[], reason: string): Promise<void> => {
    const requestId = `recheck-${uuidv7()}`;
    const subjects = links.map(({ subject }) => subject);
    const blocked = await blocks.blockUnsafe(subjects, reason, { actor, requestId });
    if (blocked.length > 0)
      logger.warn({ blocked, reason, requestId }, 'unsafe links were blocked');
  };

  const checkPage = async (lease: Lease, scan: Scan): Promise<void> => {
    const found = await readLiveLinks(pool, lease, scan.ageMs, size);
    // Their destinations are checked in one call.
    const links = firstWithin(found.links, maxUrlsPerCall, (link) => urlsOf(link).length);
    if (!(await check(links, scan))) {
      await endLease(pool, lease, lease, retryMs);
      return;
    }
    const last = links.at(-1) ?? lease;
    if (found.hasMore || links.length < found.links.length) {
      await endLease(pool, lease, last, scan.paceMs);
    } else await endLease(pool, lease, scan.restarts ? oldestPosition : last, scan.restMs);
  };

  return async () => {
    const known = await scans();
    const scansOfLedger = known.map(({ name, paceMs, restMs }) => ({
      name,
      longestMs: Math.max(leaseMs, retryMs, paceMs, restMs ?? 0),
    }));
    const lease = await takeLease(pool, scansOfLedger, leaseMs);
    const scan = known.find(({ name }) => name === lease?.name);
    if (!lease || !scan) return 0;
    try {
      await checkPage(lease, scan);
      size = Math.min(pageSize, 2 * size);
    } catch (error) {
      size = Math.max(1, Math.floor(size / 2));
      await endLease(pool, lease, lease, failedMs);
      throw error;
    }
    return 1;
  };
};
