/**
 * `npm run newcomer`: runs the first steps of a new installation in Chromium, and prints the waiting time of each step;
 * then the time of each page as the first page on a processor that is four times slower.
 */
import { launchBrowser } from './support/browser.js';
import { openConsole } from './support/console.js';
import { timeFirstPages } from './support/first-pages.js';
import { walkNewcomersPath, type NewcomerStep } from './support/newcomer.js';
import { mainFile } from './support/process.js';
import { startProduct } from './support/product.js';
import { createSampleLinks } from './support/sample-links.js';
import { markdownTable } from './support/table.js';

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
