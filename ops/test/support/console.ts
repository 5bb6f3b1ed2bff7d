import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Runs in the page, without its content security policy, like developer tools. */
const violationsOf = (options: object): string =>
  `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`;

/** Violations of accessibility rules, and a page that is wider than the window. */
export const faultsOfPage = async (
  page: Page,
  runOnly: readonly string[] = rules,
): Promise<readonly string[]> => {
  // Once for each document, because it is large.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(axe);
  const options = { runOnly, resultTypes: ['violations'] };
  const found = await page.evaluate<string[]>(violationsOf(options));
  const tooWide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  return tooWide > 0 ? [...found, `the page is ${tooWide} pixels too wide`] : found;
};

/** Violations in light mode, and additional ones in dark mode and on a telephone. */
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
    ...dark.map((fault) => `dark mode: ${fault}`),
    ...small.map((fault) => `telephone: ${fault}`),
  ];
};

export interface ConsolePage {
  readonly page: Page;
  /** Exceptions, errors and warnings on the console, dialogs, and requests to other servers. */
  readonly faults: readonly string[];
}

/** Opens the console of a listener, such as `http://127.0.0.1:40123`, in a window without cookies. */
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

/** The line of Chromium on the console for a response with an error status. */
export const loadError = (status: number): string =>
  `Failed to load resource: the server responded with a status of ${status} (${STATUS_CODES[status]})`;

export const signIn = async (page: Page, key: string): Promise<void> => {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
};

export const signInAsOperator = async (page: Page, token: string, name: string): Promise<void> => {
  await page.getByLabel('Admin token').fill(token);
  await page.getByLabel('Your name').fill(name);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
};
