import pLimit from 'p-limit';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendRepeatable, type HttpResponse } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import type { IssuedKey } from '../support/product.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { isClean } from '../../tools/audit/verify/report.js';
import { verify } from '../../tools/audit/verify/verify.js';
import { withDatabase } from '../../tools/cli/database.js';
import { readConfig } from '../../config/config.js';
import { retryOpenCreations, type Loading } from './load.js';
import { checkLog, checkIdleLog } from './log-check.js';
import type { LogCopy } from './log-copy.js';
import type { CatchUp } from './log-sources.js';
import type { PromisedLink, Promises } from './promises.js';
import { bearer, freePlan, type Target } from './setup.js';

const windowSeconds = 60;
const idleWithinMs = 120_000;
const readyWithinMs = 120_000;

interface Health {
  readonly projections: readonly { readonly lag: number }[];
  readonly spool: { readonly events: number } | null;
}

/** Calls `act` for each item, 32 concurrently. */
const forEach = async <Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<void> => {
  await pLimit(32).map(items, act);
};

const readHealth = (node: string): Promise<HttpResponse> => sendRepeatable(`${node}/health/ready`);

/** Waits until every node is ready. */
export const untilReady = ({ apis, edges }: Target): Promise<void> =>
  eventuallyPasses(async () => {
    const responses = await Promise.all([...apis, ...edges].map(readHealth));
    const notReady = responses.filter(({ status }) => status !== 200);
    if (notReady.length > 0) throw new Error(notReady.map(({ text }) => text).join('\n'));
  }, readyWithinMs);

/** Waits until all spools, also those of killed processes, are shipped and the projectors have no lag. */
const untilIdle = ({ edges }: Target): Promise<void> => {
  let idleReports = 0;
  const isIdle = async (): Promise<boolean> => {
    const responses = await Promise.all(edges.map(readHealth));
    const isBehind = responses.some((response) => {
      const { projections, spool } = response.json() as Health;
      return projections.some(({ lag }) => lag > 0) || (spool?.events ?? 0) > 0;
    });
    idleReports = isBehind ? 0 : idleReports + 1;
    // Three reports, because a report can be half a second old.
    if (idleReports < 3) await sleep(400);
    return idleReports === 3;
  };
  return eventually('spools are shipped and projectors have no lag', isIdle, idleWithinMs);
};

/** Whether the response to a HEAD, which is not counted as a visit, is correct for the link. */
const isServed = (
  link: PromisedLink,
  { status, headers }: HttpResponse,
  usedUp: boolean,
): boolean => {
  if (link.maxClicks === null) return status === 302 && headers.location === link.url;
  return status === (usedUp ? 410 : 200);
};

const head = (edge: string, { code }: PromisedLink): Promise<HttpResponse> =>
  sendRepeatable(`${edge}/${code}`, { method: 'HEAD' });

const checkLink = async (
  { target, keys, promises }: Loading,
  link: PromisedLink,
  api: string,
): Promise<void> => {
  const { code, redirected, unanswered } = link;
  const maxClicks = link.maxClicks ?? Infinity;
  const stats = await sendRepeatable(`${api}/v2/stats/${code}`, { headers: bearer(keys.pro) });
  const { clickCount = -1 } = stats.json() as { clickCount?: number };
  const most = Math.min(redirected + unanswered, maxClicks);
  if (clickCount < redirected || clickCount > most) {
    promises.broken.push(`${JSON.stringify(link)}: statistics are ${stats.status} ${stats.text}`);
  }
  for (const edge of target.edges) {
    const response = await head(edge, link);
    if (!isServed(link, response, clickCount >= maxClicks)) {
      promises.broken.push(`${code} (${clickCount} of ${maxClicks}) HEAD: ${response.status}`);
    }
  }
};

/** Checks the calls of each rate-limit window, and the distance between windows. */
const checkWindows = (promises: Promises): void => {
  const windows = [...promises.passed].sort(([a], [b]) => a - b);
  windows.forEach(([reset, passed], index) => {
    if (passed > freePlan.requestsPerMinute)
      promises.broken.push(`${passed} calls passed in one window`);
    const before = windows[index - 1]?.[0];
    if (before !== undefined && reset - before < windowSeconds) {
      promises.broken.push(`a window started ${reset - before} s after the previous one`);
    }
  });
};

/** Under load, with all nodes up: checks these links on every edge. */
export const checkLive = async (
  loading: Loading,
  links: readonly PromisedLink[],
): Promise<void> => {
  const { target, promises } = loading;
  await forEach(links, async (link) => {
    for (const edge of target.edges) {
      const response = await head(edge, link);
      if (isServed(link, response, false)) continue;
      if (link.maxClicks !== null && isServed(link, response, true)) continue;
      promises.broken.push(`${link.code} got a 201, but ${edge} returns ${response.status}`);
    }
  });
  checkWindows(promises);
};

/** Retries requests without a response, then checks every promise. */
const checkPromises = async (loading: Loading): Promise<void> => {
  const { target, keys, promises } = loading;
  await retryOpenCreations(loading);
  if (promises.openCreations.length > 0) promises.broken.push('a creation still has no response');
  await untilIdle(target);
  let checked = 0;
  await forEach(promises.links, (link) => {
    checked += 1;
    return checkLink(loading, link, target.apis[checked % target.apis.length] ?? '');
  });

  // As an operator: a call with the key itself could exceed its limit.
  const usageOf = async ({ id }: IssuedKey): Promise<number> => {
    const key = await sendRepeatable(`${target.admin}/admin/keys/${id}`, {
      headers: bearer({ key: target.adminToken }),
    });
    return (key.json() as { usage: { month: { links: number } } }).usage.month.links;
  };
  const used = await usageOf(keys.pro);
  if (used !== promises.links.length) {
    promises.broken.push(`${promises.links.length} links were created, the quota counts ${used}`);
  }
  const free = await usageOf(keys.small);
  if (promises.freeLinks > free || free > freePlan.monthlyLinks) {
    promises.broken.push(`FREE: ${promises.freeLinks} links, the quota counts ${free}`);
  }
  checkWindows(promises);
};

/** `linklog audit verify`: compares ledger and projections with the log. */
const verifyAll = (env: Checked['env']): Promise<readonly string[]> =>
  withDatabase(
    readConfig(env),
    async (database) => {
      const found = await verify({ ...database, limit: 3 });
      const { differences, gaps, setAside } = found;
      const aside = setAside.filter(({ deadLetters, parked }) => deadLetters + parked > 0);
      const unclean = isClean(found) ? [] : [...differences, ...gaps];
      return [...unclean, ...aside].map((fault) => `audit verify: ${JSON.stringify(fault)}`);
    },
    { deadlines: 'patient' },
  );

/** The product under test, and its promises. */
export interface Checked extends Loading {
  readonly log: LogCopy;
  readonly catchUp: CatchUp;
  /** The environment of commands. */
  readonly env: Readonly<Record<string, string>>;
}

/** Checks every promise of a healthy product without load. */
export const checkEverything = async (checked: Checked): Promise<void> => {
  const { target, keys, promises } = checked;
  await checkPromises(checked);
  await withLedger(target, async (pool) => {
    await checkLog({ ...checked, pool });
    await checkIdleLog({ ...checked, pool }, keys.pro.id);
  });
  promises.broken.push(...(await verifyAll(checked.env)));
};
