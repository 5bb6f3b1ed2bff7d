import type { Page } from 'playwright-core';

/** A page of a console, of an account with a link that has visits. */
export interface ConsoleRoute {
  readonly name: string;
  /** Below /console. */
  readonly path: string;
  /** What must be there before a person can use it, as selectors of CSS. */
  readonly needs: readonly string[];
}

/** Of the developers' console. `code` is that of a link with visits. */
export const developerRoutes = (code: string): readonly ConsoleRoute[] => [
  { name: 'overview', path: '', needs: ['.plot canvas', '.bars a', 'meter'] },
  { name: 'links', path: '/links', needs: ['tbody tr'] },
  { name: 'new link', path: '/new', needs: ['input[name=url]'] },
  { name: 'new links', path: '/new?many', needs: ['textarea'] },
  { name: 'a link', path: `/links/${code}`, needs: ['.plot canvas', '.bars li'] },
  { name: 'its QR code', path: `/links/${code}/qr`, needs: ['input[name=size]'] },
  { name: 'its settings', path: `/links/${code}/settings`, needs: ['input[name=url]'] },
  { name: 'its history', path: `/links/${code}/history`, needs: ['.history li'] },
  { name: 'keys', path: '/keys', needs: ['li.card', 'form'] },
  { name: 'none', path: '/nowhere', needs: ['h1'] },
];

/** Of the operators' console. */
export const operatorRoutes = (code: string): readonly ConsoleRoute[] => [
  { name: 'health', path: '', needs: ['tbody tr'] },
  { name: 'keys of all accounts', path: '/keys', needs: ['li.card'] },
  { name: 'links of all accounts', path: '/links', needs: ['tbody tr'] },
  { name: 'a link of any account', path: `/links/${code}`, needs: ['.history li'] },
  { name: 'its settings', path: `/links/${code}/settings`, needs: ['input[name=url]'] },
  { name: 'projections', path: '/projections', needs: ['li.card'] },
  { name: 'platform', path: '/platform', needs: ['input[type=checkbox]'] },
];

/** Opens it in the window, and resolves when it can be used. */
export const openRoute = async (
  page: Page,
  listener: string,
  { path, needs }: ConsoleRoute,
): Promise<void> => {
  await page.goto(`${listener}/console${path}`);
  for (const selector of needs) await page.locator(selector).first().waitFor();
};
