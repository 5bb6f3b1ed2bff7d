import type { Page } from 'playwright-core';

/** A page of a console, for an account with a visited link. */
export interface ConsoleRoute {
  readonly name: string;
  /** Relative to /console. */
  readonly path: string;
  /** CSS selectors of the elements that make the page usable. */
  readonly needs: readonly string[];
}

/** The developers' console. `code` is the code of a visited link. */
export const developerRoutes = (code: string): readonly ConsoleRoute[] => [
  { name: 'overview', path: '', needs: ['.plot svg', '.bars a', 'meter'] },
  { name: 'links', path: '/links', needs: ['tbody tr'] },
  { name: 'tags', path: '/tags', needs: ['tbody tr'] },
  { name: 'new link', path: '/new', needs: ['input[name=url]'] },
  { name: 'new links', path: '/new?many', needs: ['textarea'] },
  { name: 'a link', path: `/links/${code}`, needs: ['.plot svg', '.bars li'] },
  { name: 'its QR code', path: `/links/${code}/qr`, needs: ['input[name=size]'] },
  { name: 'its settings', path: `/links/${code}/settings`, needs: ['input[name=url]'] },
  { name: 'its history', path: `/links/${code}/history`, needs: ['.history li'] },
  { name: 'import', path: '/imports', needs: ['form', 'main h2'] },
  { name: 'domains', path: '/domains', needs: ['form'] },
  { name: 'webhooks', path: '/webhooks', needs: ['form'] },
  { name: 'keys', path: '/keys', needs: ['li.card', 'form'] },
  { name: 'people', path: '/people', needs: ['main dl'] },
  { name: 'sessions', path: '/sessions', needs: ['main li'] },
  { name: 'none', path: '/nowhere', needs: ['h1'] },
];

/** The operators' console. */
export const operatorRoutes = (code: string): readonly ConsoleRoute[] => [
  { name: 'health', path: '', needs: ['tbody tr'] },
  { name: 'keys of all accounts', path: '/keys', needs: ['li.card'] },
  { name: 'links of all accounts', path: '/links', needs: ['tbody tr'] },
  { name: 'a link of any account', path: `/links/${code}`, needs: ['.history li'] },
  { name: 'its settings', path: `/links/${code}/settings`, needs: ['input[name=url]'] },
  { name: 'abuse', path: '/abuse', needs: ['tbody tr'] },
  { name: 'domains of all accounts', path: '/domains', needs: ['main p.soft'] },
  { name: 'people of all accounts', path: '/people', needs: ['main dl'] },
  { name: 'projections', path: '/projections', needs: ['li.card'] },
  { name: 'platform', path: '/platform', needs: ['[role=group] button'] },
  { name: 'sessions', path: '/sessions', needs: ['main li'] },
  { name: 'its statistics', path: `/links/${code}/statistics`, needs: ['main dl'] },
  { name: 'changes', path: '/changes', needs: ['.history li'] },
];

/** Opens the page, and resolves when it is usable. */
export const openRoute = async (
  page: Page,
  listener: string,
  { path, needs }: ConsoleRoute,
): Promise<void> => {
  await page.goto(`${listener}/console${path}`);
  for (const selector of needs) await page.locator(selector).first().waitFor();
};
