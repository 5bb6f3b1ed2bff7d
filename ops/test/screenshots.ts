/**
 * `npm run screenshots -- [FOLDER]`: screenshots of every page of the consoles, with sample links, in light mode, dark
 * mode, in German and on a telephone. For a review after a change of styles.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Page, Request } from 'playwright-core';
import { launchBrowser } from './support/browser.js';
import { openConsole, signIn, signInAsOperator } from './support/console.js';
import { temporaryDir } from './support/process.js';
import { startProduct } from './support/product.js';
import { createSampleLinks, sampleEnv, sampleLink } from './support/sample-links.js';
import { eventually } from './support/waiting.js';

const modes = {
  light: { colorScheme: 'light', viewport: { width: 1_280, height: 860 } },
  dark: { colorScheme: 'dark', viewport: { width: 1_280, height: 860 } },
  german: { colorScheme: 'light', viewport: { width: 1_280, height: 860 }, locale: 'de' },
  phone: { colorScheme: 'light', viewport: { width: 375, height: 740 } },
  'german-phone': { colorScheme: 'dark', viewport: { width: 375, height: 740 }, locale: 'de' },
} as const;

const developers = {
  overview: '?compare=1',
  links: '/links',
  'new-link': '/new',
  'new-links': '/new?many',
  link: `/links/${sampleLink}?compare=1`,
  'qr-code': `/links/${sampleLink}/qr`,
  settings: `/links/${sampleLink}/settings`,
  history: `/links/${sampleLink}/history`,
  domains: '/domains',
  webhooks: '/webhooks',
  keys: '/keys',
  people: '/people',
  imports: '/imports',
  tags: '/tags',
  sessions: '/sessions',
};

const operators = {
  health: '',
  'all-keys': '/keys',
  'all-links': '/links',
  'any-link': `/links/${sampleLink}`,
  'all-domains': '/domains',
  'all-people': '/people',
  abuse: '/abuse',
  changes: '/changes',
  projections: '/projections',
  platform: '/platform',
};

/** Waits until a page had no calls for 500 ms. `networkidle` would wait for the stream of the live view too. */
const idleOf = (page: Page): (() => Promise<void>) => {
  const calls = new Set<Request>();
  let endedAt = 0;
  const end = (request: Request): void => {
    calls.delete(request);
    endedAt = performance.now();
  };
  page.on('request', (request) => {
    if (!request.url().includes('/v2/events?')) calls.add(request);
  });
  page.on('requestfinished', end);
  page.on('requestfailed', end);
  return () =>
    eventually('the page is idle', () => calls.size === 0 && performance.now() - endedAt > 500);
};

const [folder = await temporaryDir()] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
const product = await startProduct({ env: sampleEnv }, false);
const browser = await launchBrowser();
try {
  const key = await createSampleLinks(product);
  for (const [mode, options] of Object.entries(modes)) {
    for (const [listener, pages] of [
      [product.api, developers],
      [product.admin, operators],
    ] as const) {
      const { page } = await openConsole(browser, listener, options);
      const idle = idleOf(page);
      if (pages === developers) await signIn(page, key);
      else await signInAsOperator(page, product.adminToken, 'ann');
      for (const [name, at] of Object.entries(pages)) {
        await page.goto(`${listener}/console${at}`);
        await idle();
        await page.screenshot({ path: path.join(folder, `${name}-${mode}.png`), fullPage: true });
      }
      await page.context().close();
    }
  }
} finally {
  await browser.close();
  await product.stop();
  await product.cleanup();
}
process.stdout.write(`screenshots are in ${folder}\n`);
