/**
 * `npm run newcomer`: walks a newcomer's path in Chromium, from the first start of a new data directory on, and prints
 * how long a person waits at each step; then how long the first pages take on a processor that is four times slower.
 */
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from './support/browser.js';
import { openConsole, signIn } from './support/console.js';
import { walkNewcomersPath, type NewcomerStep } from './support/newcomer.js';
import { mainFile } from './support/process.js';
import { startProduct, type Product } from './support/product.js';

const slowDown = 4;

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;

const table = (title: string, steps: readonly NewcomerStep[]): string =>
  [`| ${title} | Waiting |`, '| --- | ---: |']
    .concat(steps.map(({ name, ms }) => `| ${name} | ${seconds(ms)} |`))
    .join('\n');

/** From the request of the page until what it is for can be used: nothing of it is in the browser's cache. */
const timeOf = async (page: Page, name: string, use: () => Promise<unknown>) => {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.clearBrowserCache');
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowDown });
  const began = performance.now();
  await page.reload({ waitUntil: 'commit' });
  await use();
  const ms = performance.now() - began;
  await session.send('Emulation.setCPUThrottlingRate', { rate: 1 });
  return { name, ms };
};

const firstPages = async (browser: Browser, product: Product): Promise<readonly NewcomerStep[]> => {
  const { page } = await openConsole(browser, product.api);
  const field = page.getByLabel('API key');
  const welcome = await timeOf(page, 'sign in: the field takes a key', () => field.fill('ll_'));
  const { key } = await product.createKey({ plan: 'PRO', name: 'a person' });
  await signIn(page, key);
  const overview = await timeOf(page, 'overview: the plot and the quotas are there', async () => {
    await page.locator('.plot canvas').waitFor();
    await page.getByRole('heading', { name: 'API calls' }).waitFor();
  });
  return [welcome, overview];
};

const began = performance.now();
// Named, it begins with nothing: no cluster of PostgreSQL that is there already.
const product = await startProduct({ program: mainFile }, false);
const start = { name: 'start Linklog for the first time', ms: performance.now() - began };
const browser = await launchBrowser();
try {
  const address = (product.ready as { readonly console: string }).console;
  const { page, faults } = await openConsole(browser, product.api);
  const steps = [start, ...(await walkNewcomersPath(page, { address, edge: product.edge }))];
  if (faults.length > 0) throw new Error(faults.join('\n'));
  const total = steps.reduce((sum, { ms }) => sum + ms, 0);
  process.stdout.write(`${table('Step', [...steps, { name: 'in all', ms: total }])}\n\n`);
  const pages = await firstPages(browser, product);
  process.stdout.write(`${table(`First page, processor ${slowDown} × slower`, pages)}\n`);
} finally {
  await browser.close();
  await product.stop();
  await product.cleanup();
}
