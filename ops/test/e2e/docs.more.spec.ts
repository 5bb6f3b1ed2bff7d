import { expect } from 'chai';
import type { Locator, Page, Response } from 'playwright-core';
import { asyncApiDocument } from '../../../command-api/http/asyncapi/document.js';
import { faultsInAllModes, openConsole, signIn } from '../support/console.js';
import { fixture } from '../support/fixture.js';
import { browserFixture } from '../support/fixtures.js';
import { sharedProduct } from './harness.js';

/** Opens an operation for “Try it out”. */
const tryOut = async (page: Page, id: string): Promise<Locator> => {
  const operation = page.locator(`#operations-${id}`);
  await operation.locator('.opblock-summary-control').click();
  await operation.locator('.try-out__btn').click();
  return operation;
};

describe('command API: GET /docs', () => {
  const bench = sharedProduct();
  const browser = browserFixture();
  const page = fixture(
    () => browser.newPage(),
    (page) => page.close(),
  );
  const requestedUrls: string[] = [];
  const errors: string[] = [];

  before('open the page', async function () {
    this.timeout(60_000);
    page.on('request', (request) => requestedUrls.push(request.url()));
    // The console reports violations of the content security policy and failed requests.
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    page.on('pageerror', (error) => errors.push(error.message));
    const response = await page.goto(`${bench.product.api}/docs`);
    expect(response?.status()).to.equal(200);
    await page.locator('.opblock').first().waitFor();
  });

  const expectNoErrors = (): void => {
    expect(errors).to.deep.equal([]);
    const otherOrigins = requestedUrls.filter(
      (url) => !url.startsWith(`${bench.product.api}/`) && !/^(?:data|blob):/.test(url),
    );
    expect(otherOrigins).to.deep.equal([]);
  };

  it('shows every operation and its responses', async function () {
    this.timeout(120_000);
    const document = (await bench.api('/openapi.json', null)).json() as {
      paths: Record<string, object>;
    };
    const shown = await page.locator('.opblock-summary-path').allTextContents();
    const plain = shown.map((text) => text.replaceAll('\u200b', ''));
    const operations = Object.entries(document.paths).flatMap(([at, item]) =>
      Object.keys(item).flatMap((name) => (name === 'parameters' ? [] : [at])),
    );
    expect(plain).to.have.members(operations);
    await page
      .locator('.info')
      .getByText(/^curl .*\/v2\/shorten/)
      .waitFor();

    // One per method: the page needs seconds to draw an operation.
    for (const method of ['get', 'post', 'patch', 'delete']) {
      const operation = page.locator(`.opblock-${method}`).last();
      await operation.locator('.opblock-summary-control').click();
      await operation.locator('.response[data-code^="20"]').first().waitFor();
    }
    await page.locator('.errors-wrapper').first().waitFor({ state: 'detached' });
    expectNoErrors();
  });

  describe('with a session of the console', () => {
    const console = fixture(
      () => openConsole(browser, bench.product.api),
      ({ page: opened }) => opened.context().close(),
    );

    /** Executes an operation. @returns the response of the API */
    const execute = async (operation: Locator): Promise<Response> => {
      const response = console.page.waitForResponse((sent) =>
        /^(?:\/console)?\/v2\//.test(new URL(sent.url()).pathname),
      );
      await operation.locator('.execute').click();
      await operation.locator('.live-responses-table').waitFor();
      return response;
    };

    const pathOf = (response: Response): string => new URL(response.url()).pathname;

    before('sign in, and open the page', async function () {
      this.timeout(60_000);
      const { key } = await bench.key('PRO', { name: 'Key of the docs' });
      await signIn(console.page, key);
      await console.page.goto(`${bench.product.api}/docs`);
      await console.page.locator('.opblock').first().waitFor();
    });

    it('names its key, and calls with its cookie', async function () {
      this.timeout(60_000);
      const { page, faults } = console;
      await page.getByText('Calls use the key Key of the docs of your session.').waitFor();
      const shorten = await tryOut(page, 'Links-shorten');
      const created = await execute(shorten);
      expect([created.status(), pathOf(created)]).to.deep.equal([201, '/console/v2/shorten']);
      expect(created.headers()).to.include({ 'x-api-key-name': 'Key of the docs' });
      expect(await shorten.locator('.curl-command').textContent())
        .to.include(`${bench.product.api}/v2/shorten`)
        .but.not.include('/console/');
      expect(faults).to.deep.equal([]);
    });
  });
});

describe('command API: GET /docs/events', () => {
  const bench = sharedProduct();
  const browser = browserFixture();
  const page = fixture(
    () => browser.newPage(),
    (page) => page.close(),
  );
  const errors: string[] = [];

  before('open the page', async () => {
    // The browser reports violations of the content security policy and failed requests.
    page.on('console', (message) => errors.push(message.text()));
    await page.goto(`${bench.product.api}/docs/events`);
  });

  it('shows each channel with its messages and their fields', async () => {
    for (const [name, { messages }] of Object.entries(asyncApiDocument().channels)) {
      const shown = await page.locator(`#${name} details`).count();
      expect(shown, name).to.equal(Object.keys(messages).length);
    }
    const rows = page.locator('[id="links-LinkCreated.v4"] tbody tr');
    const fields = (await rows.allTextContents()).map((row) => row.replace(/\s+/g, ' ').trim());
    expect(fields).to.include(
      'custom boolean Whether the code is an alias (always, if imported); otherwise it was generated.',
    );
    expect(fields).to.include('passwordHash string or null Secret. argon2id.');
    expect(fields).to.include(
      'rules[].when.weekly.days list of integer Days of the week; 1 is Monday.',
    );
    const inStream = page.locator('[id="stream-LinkCreated.v4.feed"]');
    expect(await inStream.textContent())
      .to.include('custom')
      .but.not.include('passwordHash');
  });

  it('complies with its content security policy, and is accessible in all modes', async () => {
    expect(errors).to.deep.equal([]);
    await page.evaluate(
      `document.querySelectorAll('details').forEach((details) => { details.open = true; })`,
    );
    expect(await faultsInAllModes(page)).to.deep.equal([]);
  });
});
