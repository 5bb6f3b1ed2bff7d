import { expect } from 'chai';
import { browserFixture } from '../support/fixtures.js';
import { productFixture } from './harness.js';
import { fixture } from '../support/fixture.js';

describe('command API: GET /docs', () => {
  const bench = productFixture();
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

  it('has a content security policy without foreign origins or inline code', async () => {
    const response = await bench.api('/docs', null);
    expect(response.headers['content-type']).to.equal('text/html; charset=utf-8');
    const policy = response.headers['content-security-policy'] ?? '';
    expect(policy).to.match(/default-src 'none'.*script-src 'self';/);
    expect(policy).not.to.match(/unsafe|https?:|\*/);
  });

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

    // One per method: the page needs seconds to draw an operation.
    for (const method of ['get', 'post', 'patch', 'delete']) {
      const operation = page.locator(`.opblock-${method}`).last();
      await operation.locator('.opblock-summary-control').click();
      await operation.locator('.response[data-code^="20"]').first().waitFor();
    }
    expect(await page.locator('.errors-wrapper').count()).to.equal(0);
    expectNoErrors();
  });

  it('creates a link with “Try it out”, and shows the curl command', async () => {
    const { key } = await bench.key('PRO');
    await page.locator('.authorize').click();
    await page.locator('.modal-ux input').fill(key);
    await page.locator('.modal-ux button.authorize').click();
    await page.locator('.modal-ux button.btn-done').click();

    const operation = page.locator('#operations-Links-shorten');
    await operation.locator('.opblock-summary-control').click();
    await operation.locator('.try-out__btn').click();
    await operation.locator('.execute').click();
    const live = operation.locator('.live-responses-table');
    await live.waitFor();
    expect(await live.locator('.response-col_status').last().textContent()).to.match(/^201/);
    expect(await operation.locator('.curl-command').textContent()).to.include(
      `${bench.product.api}/v2/shorten`,
    );
    expectNoErrors();
  });
});
