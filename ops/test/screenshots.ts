/**
 * `npm run screenshots -- [FOLDER]`: screenshots of every page of the consoles, with sample links, in light mode, dark
 * mode and on a telephone. For a review after a change of styles.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { launchBrowser } from './support/browser.js';
import { openConsole, signIn, signInAsOperator } from './support/console.js';
import { temporaryDir } from './support/process.js';
import { startProduct } from './support/product.js';
import { createSampleLinks, sampleEnv, sampleLink } from './support/sample-links.js';

const modes = {
  light: { colorScheme: 'light', viewport: { width: 1_280, height: 860 } },
  dark: { colorScheme: 'dark', viewport: { width: 1_280, height: 860 } },
  phone: { colorScheme: 'light', viewport: { width: 360, height: 740 } },
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
  keys: '/keys',
};

const operators = {
  health: '',
  'all-keys': '/keys',
  'all-links': '/links',
  'any-link': `/links/${sampleLink}`,
  'all-domains': '/domains',
  projections: '/projections',
  platform: '/platform',
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
      if (pages === developers) await signIn(page, key);
      else await signInAsOperator(page, product.adminToken, 'ann');
      for (const [name, at] of Object.entries(pages)) {
        await page.goto(`${listener}/console${at}`, { waitUntil: 'networkidle' });
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
