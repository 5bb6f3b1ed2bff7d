import type { Page } from 'playwright-core';
import { sendRequest } from './http.js';
import { eventually } from './waiting.js';

/** A product after its first start. */
interface Fresh {
  /** The printed one-time address. */
  readonly address: string;
  readonly edge: string;
}

export interface NewcomerStep {
  readonly name: string;
  /** From the first click to the end of the step. */
  readonly ms: number;
}

const destination = 'https://example.com/a-long-address';
const alias = 'my-first-link';

/**
 * The first steps of a user in the console: from the printed address to a link, its QR code, its first click on the
 * plot, a second key that reads only statistics, and the sign-out.
 */
export const walkNewcomersPath = async (
  page: Page,
  { address, edge }: Fresh,
): Promise<readonly NewcomerStep[]> => {
  const steps: NewcomerStep[] = [];
  const step = async (name: string, walk: () => Promise<unknown>): Promise<void> => {
    const startedAt = performance.now();
    await walk();
    steps.push({ name, ms: performance.now() - startedAt });
  };
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const link = (name: string) => page.getByRole('link', { name, exact: true }).first();

  await step('open the printed address', async () => {
    await page.goto('about:blank');
    await page.goto(address);
    await button('Open it').click();
    await link('Create your first link').waitFor();
  });
  await step('make a link with an alias', async () => {
    await link('Create your first link').click();
    await page.getByLabel('Destination').fill(destination);
    await page.getByLabel('Alias').fill(alias);
    await button('Create the link').click();
    await page.getByText('Your link is live').waitFor();
  });
  await step('make its QR code', async () => {
    await link('QR code').click();
    await button('Save as PNG').click();
    await page.getByAltText(`QR code of ${alias}`).waitFor();
  });
  await step('follow it, and see the bar on the plot', async () => {
    const { headers } = await sendRequest(`${edge}/${alias}`);
    if (headers.location !== destination)
      throw new Error(`the link redirects to ${headers.location}`);
    await link('Statistics').click();
    await eventually('the plot has a bar', async () => {
      // As if the user closes the tab of the destination.
      await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
      const heights = page.locator('.plot rect');
      return (
        (await heights.all()).length > 0 && (await heights.last().getAttribute('height')) === '1'
      );
    });
  });
  await step('make a key that reads statistics only', async () => {
    await link('Keys').click();
    await page.getByLabel('Name').fill('dashboard');
    for (const box of await page.getByRole('checkbox').all()) {
      await box.setChecked((await box.getAttribute('value')) === 'stats:read');
    }
    await button('Create key').click();
    await button('I have kept it').click();
    const row = page.getByRole('listitem').filter({ hasText: 'dashboard' });
    await row.waitFor();
    const scopes = await row.locator('.tag').allTextContents();
    if (scopes.join() !== 'Read statistics')
      throw new Error(`the key has the scopes ${scopes.join()}, not “Read statistics”`);
  });
  await step('sign out', async () => {
    await button('Sign out').click();
    await page.getByLabel('API key').waitFor();
  });
  return steps;
};
