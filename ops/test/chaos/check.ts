import pLimit from 'p-limit';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { hasCode } from '../../platform/errors.js';
import { createLogger } from '../../platform/logging.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
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
const settleWithinMs = 120_000;
const readyWithinMs = 120_000;
/** A change has a second; the rest is for a machine that has much else to do. */
const changeWithinMs = 5_000;

interface Health {
  readonly projections: readonly {
    readonly name: string;
    readonly lag: number;
    readonly deadLetters: number;
  }[];
  readonly spool: { readonly events: number } | null;
}

/** Does `act` for each item, 32 at once. */
const forEach = async <Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<void> => {
  await pLimit(32).map(items, act);
};

/** Sends a request that may be repeated: once more where the server has closed an idle connection. */
const read = async (url: string, options: RequestOptions = {}): Promise<HttpResponse> => {
  try {
    return await sendRequest(url, options);
  } catch (error) {
    if (!hasCode(error, 'ECONNRESET')) throw error;
    return sendRequest(url, options);
  }
};

const healthOf = (node: string): Promise<HttpResponse> => read(`${node}/health/ready`);

/** Waits until every node is ready. */
export const untilReady = ({ apis, edges }: Target): Promise<void> =>
  eventuallyPasses(readyWithinMs, async () => {
    const answers = await Promise.all([...apis, ...edges].map(healthOf));
    const notReady = answers.filter(({ status }) => status !== 200);
    if (notReady.length > 0) throw new Error(notReady.map(({ text }) => text).join('\n'));
  });

/** Waits until the spools are shipped, those of killed processes too, and the projectors have no lag. */
const settle = ({ edges }: Target): Promise<void> => {
  let settled = 0;
  const isSettled = async (): Promise<boolean> => {
    const answers = await Promise.all(edges.map(healthOf));
    const isBehind = answers.some((answer) => {
      const { projections, spool } = answer.json() as Health;
      return projections.some(({ lag }) => lag > 0) || (spool?.events ?? 0) > 0;
    });
    settled = isBehind ? 0 : settled + 1;
    // Three times, since an answer may be half a second old.
    if (settled < 3) await sleep(400);
    return settled === 3;
  };
  return eventually('spools are shipped and projectors have no lag', isSettled, settleWithinMs);
};

/** An answer of the edge to a HEAD, which counts for nothing: whether it is what this link is to get. */
const isServed = (
  link: PromisedLink,
  { status, headers }: HttpResponse,
  usedUp: boolean,
): boolean => {
  if (link.maxClicks === null) return status === 302 && headers.location === link.url;
  return status === (usedUp ? 410 : 200);
};

const head = (edge: string, { code }: PromisedLink): Promise<HttpResponse> =>
  read(`${edge}/${code}`, { method: 'HEAD' });

const checkLink = async (
  target: Target,
  keys: LoadKeys,
  link: PromisedLink,
  api: string,
  promises: Promises,
): Promise<void> => {
  const { code, maxClicks, redirected, unanswered } = link;
  const stats = await read(`${api}/v2/stats/${code}`, { headers: bearer(keys.pro) });
  if (stats.status !== 200) {
    promises.broken.push(`${code} got a 201 and has no statistics: ${stats.status}`);
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
    const answer = await head(edge, link);
    if (!isServed(link, answer, usedUp)) {
      promises.broken.push(
        `${code} (${clickCount} of ${maxClicks ?? 'any'}) HEAD: ${answer.status}`,
      );
    }
  }
};

/** Checks that every edge follows the operator's last change, unless another change was asked for. */
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
      await eventuallyPasses(changeWithinMs, async () => {
        const { status } = await head(edge, link);
        if (switched.switches === asked && status !== (blocked ? 410 : 302)) {
          throw new Error(`${link.code} is ${state}, and ${edge} answers ${status}`);
        }
      });
    } catch (error) {
      promises.broken.push((error as Error).message);
    }
  }
};

/** Checks that no edge redirects a link whose deletion was answered. */
const checkDeleted = async (
  target: Target,
  { link }: ManagedLink,
  promises: Promises,
): Promise<void> => {
  for (const edge of target.edges) {
    try {
      await eventuallyPasses(changeWithinMs, async () => {
        const { status } = await head(edge, link);
        if (status !== 410)
          throw new Error(`${link.code} is deleted, and ${edge} answers ${status}`);
      });
    } catch (error) {
      promises.broken.push((error as Error).message);
    }
  }
};

/** Checks that each API and edge has of a managed link what the log has. */
const checkManaged = async (
  { target, keys, promises, log }: Checked,
  { link }: ManagedLink,
): Promise<void> => {
  const { code } = link;
  const state = managedState(log, code);
  if (state === null) {
    promises.broken.push(`${code} was made, and the log has no such link`);
    return;
  }
  const { url, title, tags } = state.link;
  const expected = { url, title, tags, status: state.status, version: state.version };
  for (const api of target.apis) {
    const answer = await read(`${api}/v2/links/${code}`, { headers: bearer(keys.pro) });
    const details = answer.json() as Record<string, unknown>;
    const found = Object.fromEntries(Object.keys(expected).map((name) => [name, details[name]]));
    if (!isDeepStrictEqual(found, expected)) {
      promises.broken.push(
        `${api} says of ${code}: ${answer.text}, not ${JSON.stringify(expected)}`,
      );
    }
  }
  for (const edge of target.edges) {
    const answer = await head(edge, link);
    const isRight =
      state.status === 'active' ? isServed({ ...link, url }, answer, false) : answer.status === 410;
    if (!isRight) promises.broken.push(`${code} is ${state.status}, HEAD: ${answer.status}`);
  }
};

/** Under load, of nodes that are all up: these links and the operators' changes are on every edge. */
export const checkLive = async (
  target: Target,
  links: readonly PromisedLink[],
  promises: Promises,
): Promise<void> => {
  await forEach(links, async (link) => {
    if (mayChange(promises, link)) return;
    for (const edge of target.edges) {
      const answer = await head(edge, link);
      if (isServed(link, answer, false)) continue;
      if (link.maxClicks !== null && isServed(link, answer, true)) continue;
      promises.broken.push(`${link.code} got a 201, and ${edge} answers ${answer.status}`);
    }
  });
  await Promise.all(promises.switched.map((switched) => checkSwitched(target, switched, promises)));
  await forEach(
    promises.managed.filter(({ deletion }) => deletion === 'done'),
    (managed) => checkDeleted(target, managed, promises),
  );
  checkWindows(promises);
};

/** Calls that passed in one window, and windows that began too early. */
const checkWindows = (promises: Promises): void => {
  const windows = [...promises.passed].sort(([a], [b]) => a - b);
  windows.forEach(([reset, passed], index) => {
    if (passed > freeCallsPerMinute) promises.broken.push(`${passed} calls passed in one window`);
    const before = windows[index - 1]?.[0];
    if (before !== undefined && reset - before < windowSeconds) {
      promises.broken.push(`a window began ${reset - before} s after the one before`);
    }
  });
};

/** What held of all promises: asks again what was never answered, and looks at every link. */
export const checkPromises = async (
  target: Target,
  keys: LoadKeys,
  promises: Promises,
  random: Random,
): Promise<void> => {
  await retryOpenCreations(target, keys, promises, random);
  if (promises.openCreations.length > 0) promises.broken.push('a creation is still not answered');
  await settle(target);
  let asked = 0;
  await forEach(promises.links, (link) => {
    asked += 1;
    const api = target.apis[asked % target.apis.length] ?? '';
    return checkLink(target, keys, link, api, promises);
  });
  await Promise.all(promises.switched.map((switched) => checkSwitched(target, switched, promises)));

  // From the operators' side: asking with the key itself could meet its limit.
  const usageOf = async ({ id }: IssuedKey): Promise<number> => {
    const key = await read(`${target.admin}/admin/keys/${id}`, {
      headers: bearer({ key: target.adminToken }),
    });
    return (key.json() as { usage: { month: { links: number } } }).usage.month.links;
  };
  const used = await usageOf(keys.pro);
  if (used !== promises.links.length) {
    promises.broken.push(`${promises.links.length} links were made, ${used} are in the quota`);
  }
  const free = await usageOf(keys.small);
  if (promises.freeLinks > free || free > freeLinksPerMonth) {
    promises.broken.push(`FREE: ${promises.freeLinks} links were made, ${free} are in the quota`);
  }
  checkWindows(promises);
};

/** What is checked, against what. */
export interface Checked {
  readonly target: Target;
  readonly keys: LoadKeys;
  readonly promises: Promises;
  readonly random: Random;
  readonly log: LogCopy;
  readonly catchUp: CatchUp;
  /** For commands: see `verifyAll`. */
  readonly env: Readonly<Record<string, string>>;
}

/** Runs `work` on the PostgreSQL that runs in this data directory now. */
export const withPool = async (
  dataDir: string,
  work: (pool: Pool) => Promise<void>,
): Promise<void> => {
  const url = await runningPostgresUrl(dataDir);
  if (url === null) throw new Error('The embedded PostgreSQL is not running');
  const logger = createLogger('silent');
  const pool = createPool({ url, name: 'chaos', max: 2, deadlines: 'patient', logger });
  try {
    await work(pool);
  } finally {
    await pool.end();
  }
};

/** Everything that was promised, of a product that is well and under no load. */
export const checkEverything = async (checked: Checked): Promise<void> => {
  const { target, keys, promises, random } = checked;
  await checkPromises(target, keys, promises, random);
  await withPool(target.dataDir, async (pool) => {
    await checkLog({ ...checked, pool });
    await checkIdleLog({ ...checked, pool, keyId: keys.pro.id });
  });
  await forEach(promises.managed, (managed) => checkManaged(checked, managed));
  promises.broken.push(...(await verifyAll(checked.env)));
};
