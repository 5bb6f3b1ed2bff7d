import { v7 as uuidv7 } from 'uuid';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { LinkBlockHandler } from '../ledger/link-blocks.js';
import {
  announceScans,
  endLease,
  forgetScans,
  readLiveLinks,
  takeLease,
  theBeginning,
  type LiveLink,
} from '../ledger/safety-scans.js';
import { blocklistScan, type Scan } from './recheck-schedule.js';
import { maxUrlsPerCall } from './threat-matches.js';
import type { Recheckers } from './web-safety.js';

/** A page takes one call of 2 s at most and a transaction; who has died is waited for so long. */
const leaseMs = 30_000;
/** While nobody can say what is safe. */
const retryMs = 10_000;

const actor = 'web-safety';

/**
 * Checks links again that were safe when they were made, one page at a time, and blocks those that
 * are not any more. Nothing is blocked, and no scan goes on, while the service cannot answer.
 *
 * @returns what does the next page that is due: 1, or 0 when none is
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

  /** The scans that this process can do: a blocklist's by those alone who have read that list. */
  const scans = async (): Promise<readonly Scan[]> => {
    const version = safety.blocklist.version();
    const own = blocklistScan(version);
    if (announced !== version) {
      await announceScans(pool, [own.name, ...schedule.map(({ name }) => name)]);
      // A list that comes back has links to find that were made under the one between.
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
    const lease = await takeLease(
      pool,
      known.map(({ name }) => name),
      leaseMs,
    );
    const scan = known.find(({ name }) => name === lease?.name);
    if (!lease || !scan) return 0;
    const links = await readLiveLinks(pool, lease.place, scan.ageMs, pageSize);
    if (!(await check(links, scan))) {
      await endLease(pool, lease, lease.place, retryMs);
      return 1;
    }
    const last = links.at(-1) ?? lease.place;
    if (links.length === pageSize) await endLease(pool, lease, last, scan.paceMs);
    else await endLease(pool, lease, scan.again ? theBeginning : last, scan.restMs);
    return 1;
  };
};
