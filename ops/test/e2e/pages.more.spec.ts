import { expect } from 'chai';
import type { BrowserContextOptions, Page, Response } from 'playwright-core';
import { focused, zoomText } from '../support/browser.js';
import { faultsOfPage } from '../support/console.js';
import { browserFixture } from '../support/fixtures.js';
import { eventually } from '../support/waiting.js';
import { concurrently } from '../support/http.js';
import { keyFixture, passwordForm, sharedProduct } from './harness.js';
import { fixture } from '../support/fixture.js';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ReceivedRequest {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** A website that links redirect to. */
const startDestination = async () => {
  const requests: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request;
    if (path !== '/favicon.ico') requests.push({ method, host: headers.host ?? '', path, headers });
    response.setHeader('Content-Type', 'text/html').end('<title>Arrived</title><h1>Arrived</h1>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    /** Oldest first. */
    requests,
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const password = 'correct horse & bätterie';
const googlebot = 'Mozilla/5.0 (compatible; Googlebot/2.1)';
const phone = { width: 360, height: 740 };
const desktop = { width: 1_280, height: 800 };
/** The narrowest width of WCAG 1.4.10: a desktop window at 400 %. */
const narrow = { width: 320, height: 640 };

describe('redirect edge: pages for visitors, in a browser', () => {
  const bench = sharedProduct();
  const browser = browserFixture();
  const elsewhere = fixture(
    () => startDestination(),
    (elsewhere) => elsewhere.close(),
  );
  const pro = keyFixture(bench, 'PRO');

  const path = async (body: Record<string, unknown> = {}): Promise<string> =>
    `/${(await bench.link(pro.key, body)).shortCode}`;

  interface Tab {
    readonly page: Page;
    readonly requests: string[];
    readonly errors: string[];
    readonly open: (at: string) => Promise<Response>;
  }

  const withTab = async (
    options: BrowserContextOptions,
    test: (tab: Tab) => Promise<void>,
  ): Promise<void> => {
    const context = await browser.newContext({ viewport: phone, ...options });
    context.setDefaultTimeout(20_000);
    const requests: string[] = [];
    const errors: string[] = [];
    const page = await context.newPage();
    page.on('request', (request) => requests.push(`${request.resourceType()} ${request.url()}`));
    page.on('requestfailed', (request) => errors.push(`failed: ${request.url()}`));
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('dialog', (dialog) => errors.push(`dialog: ${dialog.message()}`));
    page.on('console', (message) => {
      // The browser reports the status of each error page.
      const ownStatus = /^Failed to load resource: the server responded with a status of \d+/;
      const bad = message.type() === 'error' || message.type() === 'warning';
      if (bad && !ownStatus.test(message.text())) errors.push(message.text());
    });
    const open = async (at: string): Promise<Response> => {
      const response = await page.goto(bench.product.edge + at);
      if (!response) throw new Error(`no request for ${at}`);
      return response;
    };
    try {
      await test({ page, requests, errors, open });
    } finally {
      await context.close();
    }
  };

  const enter = async ({ page }: Tab, text: string): Promise<Response> => {
    await page.getByLabel('Password').fill(text);
    const [response] = await Promise.all([
      page.waitForResponse((response) => response.request().isNavigationRequest()),
      page.getByRole('button', { name: 'Continue' }).click(),
    ]);
    await page.waitForLoadState();
    return response;
  };

  const notice = (heading: string): RegExp =>
    new RegExp(`^- main:\n {2}- heading "${heading}" \\[level=1\\]\n {2}- paragraph: \\S`);
  const preview = (...terms: string[]): RegExp =>
    new RegExp(`heading "Link preview".*${terms.map((term) => `term: ${term}`).join('.*')}`, 's');
  const shownPreview = preview('Website', 'Destination', 'Created', 'Expires');
  const hiddenPreview = preview('Destination', 'Created');
  const form = /heading "Password required".*textbox "Password".*button "Continue"/s;
  const longHost = `${'مثال'.repeat(8)}.${'long-label.'.repeat(12)}example`;

  const openLink =
    (body: Record<string, unknown>, suffix = '') =>
    async (tab: Tab): Promise<Response> =>
      tab.open((await path(body)) + suffix);
  const enterWrong = async (tab: Tab, earlier = 0): Promise<Response> => {
    const at = await path({ password });
    await tab.open(at);
    await concurrently(earlier, () => bench.visit(at.slice(1), passwordForm('wrong')));
    return enter(tab, 'wrong');
  };
  const openInMaintenance = async (tab: Tab): Promise<Response> => {
    await bench.admin('PATCH', '/admin/platform', { maintenance: true });
    try {
      await eventually('maintenance is on', async () => (await bench.visit('')).status === 503);
      return await tab.open('/nothing0');
    } finally {
      await bench.admin('PATCH', '/admin/platform', { maintenance: false });
    }
  };

  for (const [name, status, aria, open, userAgent] of [
    ['not found', 404, notice('Short URL not found'), (tab: Tab) => tab.open('/nothing0')],
    [
      ...(['for bots', 200, /heading "A short link".*paragraph: \S.*button "Continue"/s] as const),
      ...([openLink({ maxClicks: 5 }), googlebot] as const),
    ],
    ['preview', 200, shownPreview, openLink({}, '+')],
    [
      ...(['preview of a long host and of right-to-left text', 200, shownPreview] as const),
      openLink({ url: `https://${longHost}/${'سلام'.repeat(40)}\u202e🙂` }, '+'),
    ],
    ['preview of a limited link', 200, hiddenPreview, openLink({ maxClicks: 5 }, '+')],
    ['password form', 200, form, openLink({ password })],
    [
      ...(['wrong password', 401] as const),
      /textbox "Password".*\n.*alert: That password is wrong. Please try again.\n.*button/,
      (tab: Tab) => enterWrong(tab),
    ],
    [
      ...(['too many attempts', 429] as const),
      /heading "Too many attempts. Try again later.".*again in \d+ seconds?\..*link "Back to the password"/s,
      (tab: Tab) => enterWrong(tab, 5),
    ],
    ['maintenance', 503, notice('Down for maintenance'), openInMaintenance],
  ] as const) {
    it(`${name}: fits the window, is legible, and loads no other resource`, () =>
      withTab(userAgent === undefined ? {} : { userAgent }, async (tab) => {
        const { page, requests, errors } = tab;
        const response = await open(tab);
        expect(response.status()).to.equal(status);
        expect(await page.locator('body').ariaSnapshot()).to.match(aria);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          for (const viewport of [phone, narrow, desktop]) {
            await page.setViewportSize(viewport);
            const faults = await faultsOfPage(page);
            expect(faults, `${colorScheme}, ${viewport.width} px`).to.deep.equal([]);
          }
        }
        await zoomText(page, 200);
        for (const viewport of [phone, desktop]) {
          await page.setViewportSize(viewport);
          const faults = await faultsOfPage(page);
          expect(faults, `text of 200 %, ${viewport.width} px`).to.deep.equal([]);
        }
        expect(errors).to.deep.equal([]);
        const others = requests.filter(
          (request) => !request.startsWith(`document ${bench.product.edge}/`),
        );
        expect(others).to.deep.equal([]);
      }));
  }

  describe('the password form', () => {
    const urls = (): string[] =>
      ['127.0.0.1', 'localhost'].map((host) => `http://${host}:${elsewhere.port}/a?b=1&c=%22`);

    it('works with the keyboard alone', () =>
      withTab({}, async (tab) => {
        const { page, errors } = tab;
        const [url = ''] = urls();
        await tab.open(await path({ url, password }));
        const field = page.getByLabel('Password');
        expect(await field.getAttribute('autocomplete')).to.equal('current-password');
        // The field has the focus initially.
        for (const [key, tag] of [
          ['', 'INPUT'],
          ['Tab', 'BUTTON'],
          ['Shift+Tab', 'INPUT'],
        ] as const) {
          if (key !== '') await page.keyboard.press(key);
          const state = await focused(page);
          expect(state.tag).to.equal(tag);
          expect(state.ring, tag).to.be.at.least(2);
        }
        await page.keyboard.type('wrong');
        await page.keyboard.press('Enter');
        await page.getByRole('alert').waitFor();
        expect((await focused(page)).tag).to.equal('INPUT');
        expect(await field.inputValue()).to.equal('');
        expect(await field.getAttribute('aria-invalid')).to.equal('true');
        const described = await field.getAttribute('aria-describedby');
        expect(await page.locator(`#${described ?? ''}`).textContent()).to.equal(
          'That password is wrong. Please try again.',
        );
        expect(await page.title()).to.match(/^Error: /);
        await page.keyboard.type(password);
        await page.keyboard.press('Enter');
        await page.waitForURL(url);
        expect(errors).to.deep.equal([]);
      }));

    it('redirects to another origin', async () => {
      for (const url of urls()) {
        await withTab({}, async (tab) => {
          const { page, errors } = tab;
          const at = await path({ url, password });
          expect((await tab.open(at)).status()).to.equal(200);
          expect((await enter(tab, 'wrong')).status()).to.equal(401);
          expect((await enter(tab, password)).status()).to.equal(303);
          await page.waitForURL(url);
          const { method, path: pathname, host, headers } = elsewhere.requests.at(-1) ?? {};
          expect([method, `http://${host ?? ''}${pathname ?? ''}`]).to.deep.equal(['GET', url]);
          expect(headers?.referer).to.equal(bench.product.edge + at);
          expect(errors).to.deep.equal([]);
        });
      }
    });
  });
});
