import { setTimeout as sleep } from 'node:timers/promises';
import { ask, atOnce, type Answer, type Ask } from '../support/http.js';
import type { IssuedKey } from '../support/product.js';
import { bearer, settleCreations, type LoadKeys } from './load.js';
import type { PromisedLink, Promises, SwitchedLink } from './promises.js';
import type { Random } from './random.js';
import type { Target } from './target.js';

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

/** Does `act` for each item, some at once. */
const forEach = async <Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<void> => {
  const waiting = [...items];
  await atOnce(32, async () => {
    for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) await act(item);
  });
};

/** Asks for what may be asked twice, and does where a connection kept open had ended meanwhile. */
const read = async (url: string, options: Ask = {}): Promise<Answer> => {
  try {
    return await ask(url, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    return ask(url, options);
  }
};

const healthOf = (node: string): Promise<Answer> => read(`${node}/health/ready`);

/** Waits until every node has all that it needs. */
export const untilReady = async ({ apis, edges }: Target): Promise<void> => {
  const until = performance.now() + readyWithinMs;
  for (;;) {
    const answers = await Promise.allSettled([...apis, ...edges].map(healthOf));
    const isReady = (answer: PromiseSettledResult<Answer>): boolean =>
      answer.status === 'fulfilled' && answer.value.status === 200;
    if (answers.every(isReady)) return;
    if (performance.now() > until) {
      const seen = answers.map((one) =>
        one.status === 'fulfilled' ? one.value.text : String(one.reason),
      );
      throw new Error(`Not every node was ready in ${readyWithinMs} ms:\n${seen.join('\n')}`);
    }
    await sleep(100);
  }
};

/** Waits until the spools are shipped, those of killed processes too, and projectors are level. */
const settle = async ({ edges }: Target): Promise<void> => {
  const until = performance.now() + settleWithinMs;
  let level = 0;
  while (performance.now() < until) {
    const answers = await Promise.all(edges.map(healthOf));
    const behind = answers.some((answer) => {
      const { projections, spool } = answer.json() as Health;
      return projections.some(({ lag }) => lag > 0) || (spool?.events ?? 0) > 0;
    });
    // Once more, since the answer may be half a second old.
    level = behind ? 0 : level + 1;
    if (level === 3) return;
    await sleep(400);
  }
  throw new Error(`Spool and projectors were not level within ${settleWithinMs} ms`);
};

/** An answer of the edge to a HEAD, which counts for nothing: whether it is what this link is to get. */
const isServed = (link: PromisedLink, { status, headers }: Answer, usedUp: boolean): boolean => {
  if (link.maxClicks === null) return status === 302 && headers.location === link.url;
  return status === (usedUp ? 410 : 200);
};

const head = (edge: string, { code }: PromisedLink): Promise<Answer> =>
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
  const isSwitched = promises.switched.some((switched) => switched.link === link);
  for (const edge of isSwitched ? [] : target.edges) {
    const answer = await head(edge, link);
    if (!isServed(link, answer, usedUp)) {
      promises.broken.push(
        `${code} (${clickCount} of ${maxClicks ?? 'any'}) HEAD: ${answer.status}`,
      );
    }
  }
};

/** Sees that an operator's word is what every edge does, unless he takes it back meanwhile. */
const checkSwitched = async (
  target: Target,
  switched: SwitchedLink,
  promises: Promises,
): Promise<void> => {
  const { link, blocked, asked } = switched;
  if (blocked === null) return;
  const until = performance.now() + changeWithinMs;
  for (const edge of target.edges) {
    for (;;) {
      const answer = await head(edge, link);
      if (switched.asked !== asked || answer.status === (blocked ? 410 : 302)) break;
      if (performance.now() > until) {
        const state = blocked ? 'blocked' : 'unblocked';
        promises.broken.push(`${link.code} is ${state}, and ${edge} answers ${answer.status}`);
        break;
      }
      await sleep(50);
    }
  }
};

/** Under load, of nodes that are all up: these links and the operators' changes are on every edge. */
export const checkLive = async (
  target: Target,
  links: readonly PromisedLink[],
  promises: Promises,
): Promise<void> => {
  await forEach(links, async (link) => {
    if (promises.switched.some((switched) => switched.link === link)) return;
    for (const edge of target.edges) {
      const answer = await head(edge, link);
      if (isServed(link, answer, false)) continue;
      if (link.maxClicks !== null && isServed(link, answer, true)) continue;
      promises.broken.push(`${link.code} got a 201, and ${edge} answers ${answer.status}`);
    }
  });
  await Promise.all(promises.switched.map((switched) => checkSwitched(target, switched, promises)));
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
  await settleCreations(target, keys, promises, random);
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
