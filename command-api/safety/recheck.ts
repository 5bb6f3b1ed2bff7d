import { v7 as uuidv7 } from 'uuid';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { ownActors } from '../../schemas/decision.js';
import type { LinkBlockHandler } from '../links/block/handler.js';
import {
  announceScans,
  endLease,
  forgetScans,
  readLiveLinks,
  takeLease,
  theBeginning,
  type LiveLink,
} from './safety-scans.js';
import { maxUrlsPerCall } from './threat-matches.js';
import type { Recheckers } from './web-safety.js';

/**
 * A scan over the live links, oldest first, in pages. All nodes share it: its position is a row in
 * the database, and the node with the lease takes the next page.
 */
export interface Scan {
  readonly name: string;
  /** It sees links of at least this age. */
  readonly ageMs: number;
  /** Milliseconds from one full page to the next. */
  readonly paceMs: number;
  /** Milliseconds of rest after the last link; `null` ends the scan there. */
  readonly restMs: number | null;
  /** Whether it begins at the oldest link again after its rest, or goes on with new links. */
  readonly again: boolean;
  /** What is asked about each link. */
  readonly asks: 'blocklist' | 'everybody';
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Follows the youngest links up to an age: each is seen once, at that age or a twelfth later. */
const atAge = (name: string, ageMs: number): Scan => ({
  name,
  ageMs,
  paceMs: 0,
  restMs: ageMs / 12,
  again: false,
  asks: 'everybody',
});

/**
 * Young links soon and often: an attack begins right after its link was made, and lists hear of it
 * minutes or hours later. All links every three days, at one page in ten seconds, which is less than
 * Google's 10,000 free calls a day however many links there are.
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
    again: true,
    asks: 'everybody',
  },
];

/**
 * All live links once, at once, when a blocklist was not seen before. Those that are too young for it
 * were made under that list, or are seen a minute later: another node may not have read it yet.
 */
export const blocklistScan = (version: string): Scan => ({
  name: `blocklist ${version}`,
  ageMs: 0,
  paceMs: 0,
  restMs: null,
  again: false,
  asks: 'blocklist',
});

/** Lease: after this, another worker takes the page. A page takes one call (2 s) and a transaction. */
const leaseMs = 30_000;
/** Milliseconds until the next try while the web safety service is away. */
const retryMs = 10_000;

const actor = ownActors.webSafety;

/**
 * Checks links again that were safe when they were made, one page at a time, and blocks those that
 * are not any more. Nothing is blocked, and no scan goes on, while the service cannot answer.
 *
 * @returns a function that checks the next page that is due: 1, or 0 if none is
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

  /** The scans that this process can do. Only nodes that have read a blocklist scan for it. */
  const scans = async (): Promise<readonly Scan[]> => {
    const version = safety.blocklist.version();
    const own = blocklistScan(version);
    if (announced !== version) {
      await announceScans(pool, [own.name, ...schedule.map(({ name }) => name)]);
      // An earlier list that returns is scanned again: links were made while it was not in use.
      await forgetScans(pool, blocklistScan('').name, own.name);
      announced = version;
    }
    return [own, ...schedule];
  };

  /** Blocks what is unsafe. @returns whether all links of the page could be checked */
  const check = async (links: readonly LiveLink[], { asks }: Scan): Promise<boolean> => {
    let open = links;
    let complete = true;
    for (const source of [safety.blocklist, ...(asks === 'everybody' ? safety.services : [])]) {
      const verdicts = await source.check(open.map(({ url }) => url));
      const unsafe = open.filter((_link, index) => verdicts[index] === 'unsafe');
      if (unsafe.length > 0) await block(unsafe, source.reason);
      complete &&= !open.some((_link, index) => (verdicts[index] ?? 'unknown') === 'unknown');
      open = open.filter((_link, index) => verdicts[index] === 'safe');
    }
    return complete;
  };

  const block = async (links: readonly LiveLink[], reason: string): Promise<void> => {
    const requestId = `recheck-${uuidv7()}`;
    const codes = links.map(({ code }) => code);
    const blocked = await blocks.blockUnsafe(codes, reason, { actor, requestId });
    if (blocked.length > 0)
      logger.warn({ blocked, reason, requestId }, 'unsafe links were blocked');
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
    const links = await readLiveLinks(pool, lease, scan.ageMs, pageSize);
    if (!(await check(links, scan))) {
      await endLease(pool, lease, lease, retryMs);
      return 1;
    }
    const last = links.at(-1) ?? lease;
    if (links.length === pageSize) await endLease(pool, lease, last, scan.paceMs);
    else await endLease(pool, lease, scan.again ? theBeginning : last, scan.restMs);
    return 1;
  };
};
