/**
 * `npm run newcomer`: runs the first steps of a new installation in Chromium, and prints the waiting time of each step;
 * then the time of each page as the first page on a processor that is four times slower.
 */
import { launchBrowser } from './support/browser.js';
import { openConsole, signIn, signInAsOperator } from './support/console.js';
import { walkNewcomersPath, type NewcomerStep } from './support/newcomer.js';
import { mainFile } from './support/process.js';
import { startProduct, type Product } from './support/product.js';
import { createSampleLinks, sampleLink } from './support/sample-links.js';
import { markdownTable } from './support/table.js';
import type { Browser, BrowserContext } from 'playwright-core';
import { deferred } from '../platform/concurrency/deferred.js';
import { developerRoutes, operatorRoutes, type ConsoleRoute } from './support/console-pages.js';
import { median } from './support/median.js';

const signedOut: readonly ConsoleRoute[] = [
  { name: 'sign in', path: '', needs: ['input[type=password]'] },
];

interface FirstPageTime {
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
const timeFirstPages = async (
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

const slowDown = 4;
const runs = 5;

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;

const table = (title: string, steps: readonly NewcomerStep[]): string =>
  markdownTable(
    [title, 'Waiting'],
    steps.map(({ name, ms }) => [name, seconds(ms)]),
  );

const startedAt = performance.now();
// With an explicit program, no PostgreSQL cluster is copied into the data directory.
const product = await startProduct({ program: mainFile }, false);
const start = { name: 'start Linklog for the first time', ms: performance.now() - startedAt };
const browser = await launchBrowser();
try {
  const address = (product.ready as { readonly console: string }).console;
  const { page, faults } = await openConsole(browser, product.api);
  const steps = [start, ...(await walkNewcomersPath(page, { address, edge: product.edge }))];
  if (faults.length > 0) throw new Error(faults.join('\n'));
  const total = steps.reduce((sum, { ms }) => sum + ms, 0);
  process.stdout.write(`${table('Step', [...steps, { name: 'total', ms: total }])}\n`);
  await page.context().close();
  const key = await createSampleLinks(product);
  const pages = await timeFirstPages(browser, product, key, { slowDown, runs });
  const title = `First page, processor ${slowDown} × slower, median of ${runs}`;
  process.stdout.write(table(title, pages));
} finally {
  await browser.close();
  await product.stop();
  await product.cleanup();
}
