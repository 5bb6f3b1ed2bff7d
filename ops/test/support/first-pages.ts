import type { Browser, BrowserContext } from 'playwright-core';
import { deferred } from '../../platform/concurrency/deferred.js';
import { developerRoutes, operatorRoutes, type ConsoleRoute } from './console-pages.js';
import { signIn, signInAsOperator } from './console.js';
import { median } from './median.js';
import type { Product } from './product.js';
import { sampleLink } from './sample-links.js';

const signedOut: readonly ConsoleRoute[] = [
  { name: 'sign in', path: '', needs: ['input[type=password]'] },
];

export interface FirstPageTime {
  readonly name: string;
  /** From the navigation to the first frame with all needed elements, median of the runs. */
  readonly ms: number;
}

/** Runs in the page: reports when it is usable. The polling of Playwright is too expensive for a slow processor. */
const reportUsable = (needs: readonly string[]): string => `(() => {
  const check = () => {
    if (!${JSON.stringify(needs)}.every((selector) => document.querySelector(selector))) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => isUsable(performance.now())));
  };
  const observer = new MutationObserver(check);
  observer.observe(document, { childList: true, subtree: true });
})()`;

/** Milliseconds until the page is usable in a window with empty caches. */
const measurePage = async (
  context: BrowserContext,
  address: string,
  needs: readonly string[],
  slowDown: number,
): Promise<number> => {
  const page = await context.newPage();
  const usable = deferred<number>();
  page.once('pageerror', usable.reject);
  await page.exposeFunction('isUsable', usable.resolve);
  await page.addInitScript(reportUsable(needs));
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowDown });
  await page.goto(address, { waitUntil: 'commit' });
  return usable.promise;
};

/**
 * The time until each page of both consoles is usable as the first page, on a processor that is `slowDown` times
 * slower.
 */
export const timeFirstPages = async (
  browser: Browser,
  { api, admin, adminToken }: Product,
  key: string,
  { slowDown, runs }: { readonly slowDown: number; readonly runs: number },
): Promise<readonly FirstPageTime[]> => {
  const times: FirstPageTime[] = [];
  for (const [listener, routes, signInTo] of [
    [api, signedOut, null],
    [api, developerRoutes(sampleLink), signIn],
    [admin, operatorRoutes(sampleLink), signInAsOperator],
  ] as const) {
    const first = await browser.newContext({ locale: 'en' });
    const page = await first.newPage();
    await page.goto(`${listener}/console`);
    if (signInTo === signIn) await signIn(page, key);
    if (signInTo === signInAsOperator) await signInAsOperator(page, adminToken, 'ann');
    const storageState = await first.storageState();
    await first.close();
    for (const { name, path, needs } of routes) {
      const runTimes: number[] = [];
      for (let run = 0; run < runs; run += 1) {
        const context = await browser.newContext({ locale: 'en', storageState });
        runTimes.push(await measurePage(context, `${listener}/console${path}`, needs, slowDown));
        await context.close();
      }
      times.push({ name, ms: median(runTimes) });
    }
  }
  return times;
};
