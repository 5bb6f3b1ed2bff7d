import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Runs in the page, and past its policy, as a browser's own tools do. */
const violationsOf = (options: object): string =>
  `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`;

/** What is wrong for people with assistive technology, and whatever is wider than the window. */
export const faultsOfPage = async (
  page: Page,
  runOnly: readonly string[] = rules,
): Promise<readonly string[]> => {
  // Once a document: it is large.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(axe);
  const options = { runOnly, resultTypes: ['violations'] };
  const found = await page.evaluate<string[]>(violationsOf(options));
  const tooWide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  return tooWide > 0 ? [...found, `The page is ${tooWide} pixels too wide`] : found;
};

/** The same in the light, in the dark, and on a telephone, as far as these differ. */
export const faultsInAllModes = async (page: Page): Promise<readonly string[]> => {
  const light = await faultsOfPage(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await faultsOfPage(page, ['color-contrast']);
  await page.emulateMedia({ colorScheme: 'light' });
  const size = page.viewportSize();
  await page.setViewportSize({ width: 360, height: 740 });
  const small = await faultsOfPage(page, ['target-size', 'color-contrast']);
  if (size) await page.setViewportSize(size);
  return [
    ...light,
    ...dark.map((fault) => `in the dark: ${fault}`),
    ...small.map((fault) => `on a telephone: ${fault}`),
  ];
};

export interface ConsolePage {
  readonly page: Page;
  /**
   * Exceptions, lines on the console (the policy's refusals are some), `alert`s, and requests to other servers. A test that
   * provokes one expects it.
   */
  readonly faults: readonly string[];
}

/** A window without any cookies, at the console of a listener such as `http://127.0.0.1:40123`. */
export const openConsole = async (
  browser: Browser,
  listener: string,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> => {
  const context = await browser.newContext({ locale: 'en', ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(message.text());
  });
  page.on('dialog', (dialog) => {
    faults.push(dialog.message());
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${listener}/`) && !/^(?:blob|data):/.test(url)) faults.push(url);
  });
  await page.goto(`${listener}/console`);
  return { page, faults };
};

/** What Chromium writes to the console for an answer that says no. */
export const loadError = (status: number): string =>
  `Failed to load resource: the server responded with a status of ${status} (${STATUS_CODES[status]})`;

export const signIn = async (page: Page, key: string): Promise<void> => {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
};

/** As one of the operators. */
export const signInAsOperator = async (page: Page, token: string, name: string): Promise<void> => {
  await page.getByLabel('Admin token').fill(token);
  await page.getByLabel('Your name').fill(name);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
};
