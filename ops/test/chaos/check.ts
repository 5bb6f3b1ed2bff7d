import pLimit from 'p-limit';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { sendRepeatable, type HttpResponse } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import type { IssuedKey } from '../support/product.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { retryOpenCreations } from './load.js';
import { checkLog, checkIdleLog } from './log-check.js';
import type { LogCopy } from './log-copy.js';
import type { CatchUp } from './log-sources.js';
import { managedState } from './managed-links.js';
import {
  mayChange,
  type ManagedLink,
  type PromisedLink,
  type Promises,
  type SwitchedLink,
} from './promises.js';
import type { Random } from '../support/random.js';
import { bearer, type LoadKeys, type Target } from './setup.js';
import { verifyAll } from './verify.js';

const freeCallsPerMinute = 60;
const freeLinksPerMonth = 35;
const windowSeconds = 60;
const idleWithinMs = 120_000;
const readyWithinMs = 120_000;
/** The contract allows a second; the rest is for a busy machine. */
const changeWithinMs = 5_000;

interface Health {
  readonly projections: readonly {
    readonly name: string;
    readonly lag: number;
    readonly deadLetters: number;
  }[];
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
  target: Target,
  keys: LoadKeys,
  link: PromisedLink,
  api: string,
  promises: Promises,
): Promise<void> => {
  const { code, maxClicks, redirected, unanswered } = link;
  const stats = await sendRepeatable(`${api}/v2/stats/${code}`, { headers: bearer(keys.pro) });
  if (stats.status !== 200) {
    promises.broken.push(`${code} got a 201, but its statistics get ${stats.status}`);
    return;
  }
  const { clickCount } = stats.json() as { clickCount: number };
  if (clickCount < redirected || clickCount > redirected + unanswered) {
    promises.broken.push(
      `${code}: ${redirected} redirects, ${unanswered} unanswered, ${clickCount} counted`,
    );
  }
  if (maxClicks !== null && (clickCount > maxClicks || redirected > maxClicks)) {
    promises.broken.push(
      `${code}: limit ${maxClicks}, ${redirected} redirects, ${clickCount} counted`,
    );
  }
  const usedUp = maxClicks !== null && clickCount >= maxClicks;
  for (const edge of mayChange(promises, link) ? [] : target.edges) {
    const response = await head(edge, link);
    if (!isServed(link, response, usedUp)) {
      promises.broken.push(
        `${code} (${clickCount} of ${maxClicks ?? 'any'}) HEAD: ${response.status}`,
      );
    }
  }
};

const expectSoon = async (promises: Promises, check: () => Promise<void>): Promise<void> => {
  try {
    await eventuallyPasses(check, changeWithinMs);
  } catch (error) {
    promises.broken.push((error as Error).message);
  }
};

/** Checks that every edge serves the operator's last change, unless another change has started. */
const checkSwitched = async (
  target: Target,
  switched: SwitchedLink,
  promises: Promises,
): Promise<void> => {
  const { link, blocked, switches: asked } = switched;
  if (blocked === null) return;
  const state = blocked ? 'blocked' : 'unblocked';
  for (const edge of target.edges) {
    try {
      await eventuallyPasses(async () => {
        const { status } = await head(edge, link);
        if (switched.switches === asked && status !== (blocked ? 410 : 302)) {
          throw new Error(`${link.code} is ${state}, but ${edge} returns ${status}`);
        }
      }, changeWithinMs);
    } catch (error) {
      promises.broken.push((error as Error).message);
    }
  }
};

/** Checks that no edge redirects a link after the response to its deletion. */
const checkDeleted = async (
  target: Target,
  { link }: ManagedLink,
  promises: Promises,
): Promise<void> => {
  for (const edge of target.edges) {
    await expectSoon(promises, async () => {
      const { status } = await head(edge, link);
      if (status !== 410) throw new Error(`${link.code} is deleted, but ${edge} returns ${status}`);
    });
  }
};

/** Checks that each API and edge returns the state of a managed link in the log. */
const checkManaged = async (
  { target, keys, promises, log }: Checked,
  { link }: ManagedLink,
): Promise<void> => {
  const { code } = link;
  const state = managedState(log, code);
  if (state === null) {
    promises.broken.push(`${code} got a 201, but it is not in the log`);
    return;
  }
  const { url, title, tags } = state.link;
  const expected = { url, title, tags, status: state.status, version: state.version };
  for (const api of target.apis) {
    const response = await sendRepeatable(`${api}/v2/links/${code}`, { headers: bearer(keys.pro) });
    const details = response.json() as Record<string, unknown>;
    const found = Object.fromEntries(Object.keys(expected).map((name) => [name, details[name]]));
    if (!isDeepStrictEqual(found, expected)) {
      promises.broken.push(
        `${api} returns for ${code}: ${response.text}, not ${JSON.stringify(expected)}`,
      );
    }
  }
  for (const edge of target.edges) {
    const response = await head(edge, link);
    const isRight =
      state.status === 'active'
        ? isServed({ ...link, url }, response, false)
        : response.status === 410;
    if (!isRight) promises.broken.push(`${code} is ${state.status}, HEAD: ${response.status}`);
  }
};

/** Under load, with all nodes up: checks these links and the operators' changes on every edge. */
export const checkLive = async (
  target: Target,
  links: readonly PromisedLink[],
  promises: Promises,
): Promise<void> => {
  await forEach(links, async (link) => {
    if (mayChange(promises, link)) return;
    for (const edge of target.edges) {
      const response = await head(edge, link);
      if (isServed(link, response, false)) continue;
      if (link.maxClicks !== null && isServed(link, response, true)) continue;
      promises.broken.push(`${link.code} got a 201, but ${edge} returns ${response.status}`);
    }
  });
  await Promise.all(promises.switched.map((switched) => checkSwitched(target, switched, promises)));
  await forEach(
    promises.managed.filter(({ deletion }) => deletion === 'done'),
    (managed) => checkDeleted(target, managed, promises),
  );
  checkWindows(promises);
};

/** Checks the calls of each rate-limit window, and the distance between windows. */
const checkWindows = (promises: Promises): void => {
  const windows = [...promises.passed].sort(([a], [b]) => a - b);
  windows.forEach(([reset, passed], index) => {
    if (passed > freeCallsPerMinute) promises.broken.push(`${passed} calls passed in one window`);
    const before = windows[index - 1]?.[0];
    if (before !== undefined && reset - before < windowSeconds) {
      promises.broken.push(`a window started ${reset - before} s after the previous one`);
    }
  });
};

/** Retries requests without a response, then checks every promise. */
export const checkPromises = async (
  target: Target,
  keys: LoadKeys,
  promises: Promises,
  random: Random,
): Promise<void> => {
  await retryOpenCreations(target, keys, promises, random);
  if (promises.openCreations.length > 0) promises.broken.push('a creation still has no response');
  await untilIdle(target);
  let checked = 0;
  await forEach(promises.links, (link) => {
    checked += 1;
    const api = target.apis[checked % target.apis.length] ?? '';
    return checkLink(target, keys, link, api, promises);
  });
  await Promise.all(promises.switched.map((switched) => checkSwitched(target, switched, promises)));

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
  if (promises.freeLinks > free || free > freeLinksPerMonth) {
    promises.broken.push(
      `FREE: ${promises.freeLinks} links were created, the quota counts ${free}`,
    );
  }
  checkWindows(promises);
};

/** The product under test, and its promises. */
export interface Checked {
  readonly target: Target;
  readonly keys: LoadKeys;
  readonly promises: Promises;
  readonly random: Random;
  readonly log: LogCopy;
  readonly catchUp: CatchUp;
  /** The environment of `verifyAll`. */
  readonly env: Readonly<Record<string, string>>;
}

/** Checks every promise of a healthy product without load. */
export const checkEverything = async (checked: Checked): Promise<void> => {
  const { target, keys, promises, random } = checked;
  await checkPromises(target, keys, promises, random);
  await withLedger(target, async (pool) => {
    await checkLog({ ...checked, pool });
    await checkIdleLog({ ...checked, pool, keyId: keys.pro.id });
  });
  await forEach(promises.managed, (managed) => checkManaged(checked, managed));
  promises.broken.push(...(await verifyAll(checked.env)));
};
