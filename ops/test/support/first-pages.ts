import type { Browser, BrowserContext } from 'playwright-core';
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
  /** From the navigation to the first frame with all that the page needs, median of the runs. */
  readonly ms: number;
}

/** Runs in the page: tells when it can be used. Playwright's own looking would cost a slow processor too much. */
const tellWhenThere = (needs: readonly string[]): string => `(() => {
  const look = () => {
    if (!${JSON.stringify(needs)}.every((one) => document.querySelector(one))) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => isUsable(performance.now())));
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { childList: true, subtree: true });
})()`;

/** Milliseconds that the page takes in a window with nothing in its caches. */
const timeOf = async (
  context: BrowserContext,
  address: string,
  needs: readonly string[],
  slowDown: number,
): Promise<number> => {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowDown });
  const usable = new Promise<number>((resolve, reject) => {
    page.once('pageerror', reject);
    void page.exposeFunction('isUsable', resolve);
  });
  await page.addInitScript(tellWhenThere(needs));
  await page.goto(address, { waitUntil: 'commit' });
  return usable;
};

/**
 * How long each page of both consoles takes until it can be used, on a processor that is `slowDown` times slower,
 * where it is the first one that a person opens.
 */
export const timeFirstPages = async (
  browser: Browser,
  { api, admin, adminToken }: Product,
  key: string,
  { slowDown, runs }: { readonly slowDown: number; readonly runs: number },
): Promise<readonly FirstPageTime[]> => {
  const times: FirstPageTime[] = [];
  for (const [listener, places, begin] of [
    [api, signedOut, null],
    [api, developerRoutes(sampleLink), signIn],
    [admin, operatorRoutes(sampleLink), signInAsOperator],
  ] as const) {
    const first = await browser.newContext({ locale: 'en' });
    const page = await first.newPage();
    await page.goto(`${listener}/console`);
    if (begin === signIn) await signIn(page, key);
    if (begin === signInAsOperator) await signInAsOperator(page, adminToken, 'ann');
    const storageState = await first.storageState();
    await first.close();
    for (const { name, path, needs } of places) {
      const ofRuns: number[] = [];
      for (let run = 0; run < runs; run += 1) {
        const context = await browser.newContext({ locale: 'en', storageState });
        ofRuns.push(await timeOf(context, `${listener}/console${path}`, needs, slowDown));
        await context.close();
      }
      times.push({ name, ms: median(ofRuns) });
    }
  }
  return times;
};
