/**
 * `npm run tasks`: fifteen tasks of daily work, done in a real browser, with the number of clicks that each needs. A
 * click is a click, a choice in a list, or a selected file; typing and keys are not counted.
 */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { launchBrowser } from './support/browser.js';
import { createLink } from './support/create-links.js';
import { openConsole, signIn, signInAsOperator } from './support/console.js';
import { sendRequest } from './support/http.js';
import { median } from './support/median.js';
import { startProduct } from './support/product.js';
import { createSampleLinks, sampleEnv, sampleLink } from './support/sample-links.js';
import { eventually } from './support/waiting.js';

/** The maximum of the median. */
const maxClicks = 5;

const dayBefore = (days: number): string =>
  new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);

/** A user who counts the clicks. */
const userOf = (page: Page) => {
  let clicks = 0;
  const click = async (target: Locator): Promise<void> => {
    clicks += 1;
    await target.click();
  };
  return {
    page,
    clicks: (): number => clicks,
    click,
    button: (name: string | RegExp) =>
      click(page.getByRole('button', { name, exact: true }).last()),
    link: (name: string | RegExp) => click(page.getByRole('link', { name, exact: true }).first()),
    /** Opens a link of the list. */
    open: (code: string) =>
      click(
        page
          .getByRole('cell')
          .getByRole('link', { name: new RegExp(`${code}$`) })
          .first(),
      ),
    fill: (label: string, text: string) =>
      page.getByLabel(label, { exact: true }).first().fill(text),
    async choose(label: string, option: string): Promise<void> {
      clicks += 1;
      await page
        .getByRole('combobox', { name: label, exact: true })
        .first()
        .selectOption({ label: option });
    },
    enter: () => page.keyboard.press('Enter'),
    seen: (text: string | RegExp) => page.getByText(text).first().waitFor(),
    /** The text of the file that a button saves. */
    async saved(name: RegExp): Promise<Buffer> {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        click(page.getByRole('button', { name }).or(page.getByRole('link', { name })).first()),
      ]);
      return readFile(await download.path());
    },
  };
};
type User = ReturnType<typeof userOf>;

const product = await startProduct({ env: { ...sampleEnv, FIRST_KEY: 'none' } }, false);
const browser = await launchBrowser();
try {
  const key = await createSampleLinks(product);
  const api = (path: string, method = 'GET', body?: unknown) =>
    sendRequest(product.api + path, {
      method,
      headers: { Authorization: `Bearer ${key}` },
      ...(body !== undefined && { body }),
    });
  /** A link that was created a week ago. */
  const file = `url,code,createdat\nhttps://example.com/forgotten,of-last-week,${dayBefore(7)}T12:00:00Z\n`;
  expect((await api('/v2/imports?format=csv', 'POST', file)).status).to.equal(202);
  await eventually(
    'the link of last week is imported',
    async () => (await api('/v2/links/of-last-week')).status === 200,
  );
  const visit = (code: string) => sendRequest(`${product.edge}/${code}`);

  const developerTasks: readonly (readonly [string, (user: User) => Promise<void>])[] = [
    [
      'make a link, and copy it',
      async ({ page, ...user }) => {
        await page.keyboard.press('n');
        await user.fill('Destination', 'example.com/autumn');
        await user.enter();
        await user.seen('Your link is live');
        await user.button(/^Copy/);
        await user.seen('Copied');
      },
    ],
    [
      '50 links with aliases and titles from a spreadsheet',
      async (user) => {
        await user.link('New link');
        await user.link('Many links');
        const rows = Array.from(
          { length: 50 },
          (_, index) => `https://example.com/p/${index}\tposter-${index}\tPoster ${index}`,
        );
        await user.fill('Destinations', rows.join('\n'));
        await user.button('Create 50 links');
        await user.seen('50 of 50 created');
        const { status, text } = await api('/v2/links/poster-49');
        expect([status, text.includes('"title":"Poster 49"')]).to.deep.equal([200, true]);
      },
    ],
    [
      'find a link of last week',
      async (user) => {
        await user.link('Links');
        await user.fill('Created from', dayBefore(8));
        await user.fill('Created to', dayBefore(6));
        await user.enter();
        await user.open('of-last-week');
        await user.seen('https://example.com/forgotten');
      },
    ],
    [
      'change a destination',
      async ({ page, ...user }) => {
        await page.keyboard.press('/');
        await page.getByRole('searchbox').and(page.locator(':focus')).waitFor();
        await page.keyboard.type('https://go.example.com/menu');
        await user.enter();
        await user.seen(/^1 link$/);
        await user.open('menu');
        await user.link('Settings');
        await user.fill('Destination', 'https://example.com/new-menu');
        await user.enter();
        await user.seen('Saved');
        await eventually(
          'the link redirects to the new destination',
          async () => (await visit('menu')).headers.location === 'https://example.com/new-menu',
        );
      },
    ],
    [
      'sources of last month, compared with the month before',
      async (user) => {
        await user.link('Overview');
        await user.choose('Period', 'Last month');
        await user.click(user.page.getByLabel('Compare with the period before'));
        await user.seen(/compared with/);
        await user.page.getByRole('group', { name: 'Sources' }).waitFor();
      },
    ],
    [
      'download the numbers',
      async (user) => {
        await user.link('Overview');
        const csv = (await user.saved(/^Download CSV of Clicks over time/)).toString();
        expect(csv).to.match(/start,clicks/);
      },
    ],
    [
      'a QR code for a poster',
      async (user) => {
        await user.link('Links');
        await user.fill('Search', sampleLink);
        await user.enter();
        await user.open(sampleLink);
        await user.link('QR code');
        await user.fill('Size, pixels', '4000');
        await user.button('Create the QR code');
        const png = await user.saved(/^Save as PNG$/);
        expect(png.readUInt32BE(16)).to.equal(4_000);
      },
    ],
    [
      'a read-only key for a colleague',
      async (user) => {
        await user.link('Keys');
        await user.choose('Preset', 'Read only');
        await user.fill('Name', 'colleague');
        await user.enter();
        const secret = (await user.page.getByRole('dialog').locator('code').textContent()) ?? '';
        const headers = { Authorization: `Bearer ${secret}` };
        const read = await sendRequest(`${product.api}/v2/links`, { headers });
        const write = await sendRequest(`${product.api}/v2/links/menu`, {
          ...{ method: 'DELETE', headers },
        });
        expect([read.status, write.status]).to.deep.equal([200, 403]);
        await user.button('I have kept it');
      },
    ],
    [
      'why did a link stop',
      async (user) => {
        await createLink(product.api, key, {
          ...{ url: 'https://example.com/', alias: 'stopped', maxClicks: 1 },
        });
        await visit('stopped');
        await user.link('Links');
        await user.fill('Search', 'stopped');
        await user.enter();
        await user.open('stopped');
        await user.seen(/its click limit of 1 was reached on/);
      },
    ],
    [
      'how much of the quota is used',
      async (user) => {
        await user.link('Overview');
        await user.page.getByRole('heading', { name: 'QR codes' }).waitFor();
        await user.page.getByRole('meter').first().waitFor();
      },
    ],
    [
      'sign out everywhere',
      async (user) => {
        await user.link('Sessions');
        await user.button('Sign out everywhere');
        const confirm = { name: 'Sign out everywhere' };
        await user.click(user.page.getByRole('dialog').getByRole('button', confirm));
        await user.page.getByLabel('API key').waitFor();
      },
    ],
  ];

  const operatorTasks: readonly (readonly [string, (user: User) => Promise<void>])[] = [
    [
      'block the URL of an abuse mail',
      async (user) => {
        await user.link('Links');
        await user.fill('Short code or short URL', 'https://go.example.com/jobs?utm=mail');
        await user.enter();
        await user.fill('Reason for the block', 'phishing');
        await user.enter();
        await user.seen('Link blocked');
        await eventually('the link is blocked', async () => (await visit('jobs')).status === 410);
      },
    ],
    [
      'who did it',
      async (user) => {
        await user.link('Links');
        await user.fill('Short code or short URL', 'jobs');
        await user.enter();
        await user.seen('by Ann Example');
      },
    ],
    [
      'maintenance on and off',
      async (user) => {
        await user.link('Platform');
        await user.button('Switch maintenance on');
        await user.fill('Type maintenance to confirm', 'maintenance');
        await user.enter();
        await eventually('maintenance is on', async () => (await visit('menu')).status === 503);
        await user.button('Switch maintenance off');
        await eventually('maintenance is off', async () => (await visit('menu')).status === 302);
      },
    ],
    [
      'the lag of the projections',
      async (user) => {
        await user.link('Health');
        await user.page.getByRole('rowheader', { name: 'redirects' }).waitFor();
        await user.page.getByRole('columnheader', { name: 'Lag' }).waitFor();
      },
    ],
  ];

  const counts: (readonly [string, number])[] = [];
  for (const [listener, tasks] of [
    [product.api, developerTasks],
    [product.admin, operatorTasks],
  ] as const) {
    const { page, faults } = await openConsole(browser, listener);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    if (listener === product.api) await signIn(page, key);
    else await signInAsOperator(page, product.adminToken, 'Ann Example');
    for (const [name, task] of tasks) {
      const user = userOf(page);
      try {
        await task(user);
      } catch (cause) {
        const shown = await page.locator('body').innerText();
        throw new Error(`${name}: the task failed at ${page.url()}:\n${shown}`, { cause });
      }
      counts.push([name, user.clicks()]);
      process.stdout.write(`${name}: ${user.clicks()}\n`);
    }
    expect(faults).to.deep.equal([]);
    await page.context().close();
  }
  const middle = median(counts.map(([, clicks]) => clicks));
  process.stdout.write(`${counts.length} tasks, median ${middle} clicks (at most ${maxClicks})\n`);
  if (middle > maxClicks) process.exitCode = 1;
} finally {
  await browser.close();
  await product.stop();
  await product.cleanup();
}
