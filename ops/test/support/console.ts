import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { STATUS_CODES } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { browserFixture } from './fixtures.js';
import type { Product } from './product.js';
import { eventually, eventuallyPasses } from './waiting.js';

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

interface ConsolePage {
  readonly page: Page;
  /** Exceptions, errors and warnings on the console, dialogs, and requests to other servers. */
  readonly faults: readonly string[];
}

interface WindowOptions extends BrowserContextOptions {
  /** The origin of a page to which the console leads. */
  readonly other?: string;
}

/** Opens the console of a listener, such as `http://127.0.0.1:40123`, in a window without cookies. */
export const openConsole = async (
  browser: Browser,
  listener: string,
  { other = listener, ...options }: WindowOptions = {},
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
    const isOwn = [listener, other].some((origin) => url.startsWith(`${origin}/`));
    if (!isOwn && !/^(?:blob|data):/.test(url)) faults.push(url);
  });
  await page.goto(`${listener}/console`);
  return { page, faults };
};

/** The line of Chromium on the console for a response with an error status. */
export const loadError = (status: number): string =>
  `Failed to load resource: the server responded with a status of ${status} (${STATUS_CODES[status]})`;

/** In English or German. */
export const signIn = async (page: Page, key: string): Promise<void> => {
  await page.getByLabel(/^API[ -]/).fill(key);
  await page.getByRole('button', { name: /^(?:Sign in|Anmelden)$/ }).click();
  await page.getByRole('button', { name: /^(?:Sign out|Abmelden)$/ }).waitFor();
};

/** In English or German. */
export const signInAsOperator = async (page: Page, token: string, name: string): Promise<void> => {
  await page.getByLabel(/^Admin[ -]/).fill(token);
  await page.getByLabel(/^(?:Your|Ihr) [Nn]ame$/).fill(name);
  await page.getByRole('button', { name: /^(?:Sign in|Anmelden)$/ }).click();
  await page.getByRole('button', { name: /^(?:Sign out|Abmelden)$/ }).waitFor();
};

/**
 * A window with the console for each test, and the steps that tests share. After a test, the page must have reported
 * exactly the faults that the test declared, repeats apart.
 */
export const consoleFixture = (bench: { readonly product: Product }) => {
  const browser = browserFixture();
  let opened: ConsolePage;
  let listener: string;
  let provoked: string[];
  const openWindow = async (at: string, options: WindowOptions): Promise<void> => {
    listener = at;
    opened = await openConsole(browser, at, { acceptDownloads: true, ...options });
  };
  const close = (): Promise<void> => opened.page.context().close();

  beforeEach('open the console', () => {
    provoked = [];
    return openWindow(bench.product.api, {});
  });
  afterEach('close the console', async () => {
    // A response may be late.
    await eventuallyPasses(() => {
      expect(opened.faults).to.have.length.at.least(provoked.length);
    });
    await close();
    // A page loads again when the data of the account change, and reports its faults again.
    expect(new Set(opened.faults)).to.deep.equal(new Set(provoked));
  });

  /** The page of the current window. */
  const page = new Proxy<Page>({} as Page, {
    get(_, property) {
      const member: unknown = Reflect.get(opened.page, property);
      return typeof member === 'function' ? (member.bind(opened.page) as unknown) : member;
    },
  });
  /** Replaces the window, by default with one of the developers' console. */
  const open = async (at = bench.product.api, options: WindowOptions = {}): Promise<void> => {
    await close();
    await openWindow(at, options);
  };
  return {
    page,
    open,
    openAsOperator: async (options: WindowOptions = {}): Promise<void> => {
      await open(bench.product.admin, options);
      await signInAsOperator(page, bench.product.adminToken, 'ann');
    },
    /** What the page has reported so far. */
    faults: () => opened.faults,
    /** Declares faults that the test causes. */
    provoke: (...faults: readonly string[]): void => {
      provoked.push(...faults);
    },
    signIn: (key: string) => signIn(page, key),
    /** Opens a page by its path below `/console`. */
    show: (path: string) => page.goto(`${listener}/console${path}`),
    /** Clicks the first link with this name. */
    goTo: (link: string) => page.getByRole('link', { name: link, exact: true }).first().click(),
    button: (name: string, within?: Locator) =>
      (within ?? page).getByRole('button', { name, exact: true }),
    dialog: () => page.getByRole('dialog'),
    /** Clicks a button or a link, and reads the file that is saved. */
    save: async (control: Locator): Promise<Buffer> => {
      const [download] = await Promise.all([page.waitForEvent('download'), control.click()]);
      return readFile(await download.path());
    },
    expectAccessible: async (what = page.url()): Promise<void> => {
      expect(await faultsInAllModes(page), what).to.deep.equal([]);
    },
    /** Reloads the page until its table has this number of rows. */
    expectListed: (count: number): Promise<void> =>
      eventually(`${count} rows are listed`, async () => {
        await page.reload();
        await page.locator('tbody tr, h2, .list p').first().waitFor();
        return (await page.locator('tbody tr').count()) === count;
      }),
  };
};
