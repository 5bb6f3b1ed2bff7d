import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../testing/http.js';
import type { IssuedKey, Product } from '../testing/product.js';
import { bearer, create, type LoadKeys } from './load.js';
import type { PromisedLink, Promises } from './promises.js';

const freeCallsPerMinute = 60;
const freeLinksPerMonth = 35;
const windowSeconds = 60;
const settleWithinMs = 20_000;

interface Health {
  readonly projections: readonly {
    readonly name: string;
    readonly lag: number;
    readonly deadLetters: number;
  }[];
  readonly spool: { readonly events: number };
}

/** Does `act` for each item, some at once. */
const forEach = async <Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<void> => {
  const waiting = [...items];
  const work = async (): Promise<void> => {
    for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) await act(item);
  };
  await Promise.all(Array.from({ length: 32 }, work));
};

/** Waits until the spools are shipped, those of killed processes too, and projectors are level. */
export const settle = async (product: Product): Promise<void> => {
  const until = performance.now() + settleWithinMs;
  let level = 0;
  while (performance.now() < until) {
    const health = (await ask(`${product.edge}/health/ready`)).json() as Health;
    const behind = health.projections.some(({ lag }) => lag > 0) || health.spool.events > 0;
    // Once more, since the answer may be half a second old.
    level = behind ? 0 : level + 1;
    if (level === 3) return;
    await sleep(400);
  }
  throw new Error(`Spool and projectors were not level within ${settleWithinMs} ms`);
};

const checkLink = async (
  product: Product,
  keys: LoadKeys,
  link: PromisedLink,
  promises: Promises,
): Promise<void> => {
  const { code, url, maxClicks, redirected, unanswered } = link;
  const stats = await ask(`${product.api}/v2/stats/${code}`, { headers: bearer(keys.pro) });
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
  const head = await ask(`${product.edge}/${code}`, { method: 'HEAD' });
  const usedUp = maxClicks !== null && clickCount >= maxClicks;
  const expected = usedUp ? 410 : maxClicks === null ? 302 : 200;
  if (head.status !== expected || (expected === 302 && head.headers.location !== url)) {
    promises.broken.push(`${code} (${clickCount} of ${maxClicks ?? 'any'}) HEAD: ${head.status}`);
  }
};

/** What held of all promises: asks again what was never answered, and looks at every link. */
export const checkPromises = async (
  product: Product,
  keys: LoadKeys,
  promises: Promises,
): Promise<void> => {
  await forEach(promises.openCreations.splice(0), (creation) =>
    create(product, keys.pro, creation, promises),
  );
  if (promises.openCreations.length > 0) promises.broken.push('a creation is still not answered');
  await settle(product);
  await forEach(promises.links, (link) => checkLink(product, keys, link, promises));

  // From the operators' side: asking with the key itself could meet its limit.
  const usageOf = async ({ id }: IssuedKey): Promise<number> => {
    const key = await ask(`${product.admin}/admin/keys/${id}`, {
      headers: bearer({ key: product.adminToken }),
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

  const windows = [...promises.passed].sort(([a], [b]) => a - b);
  windows.forEach(([reset, passed], index) => {
    if (passed > freeCallsPerMinute) promises.broken.push(`${passed} calls passed in one window`);
    const before = windows[index - 1]?.[0];
    if (before !== undefined && reset - before < windowSeconds) {
      promises.broken.push(`a window began ${reset - before} s after the one before`);
    }
  });
};
