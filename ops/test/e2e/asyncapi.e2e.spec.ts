import { expect } from 'chai';
import { asyncApiDocument } from '../../../command-api/http/asyncapi/document.js';
import { faultsInAllModes } from '../support/console.js';
import { fixture } from '../support/fixture.js';
import { browserFixture } from '../support/fixtures.js';
import { productFixture } from './harness.js';

// openapi.e2e.spec.ts checks the methods and listeners of both documents.
describe('command API: GET /asyncapi.json', () => {
  const bench = productFixture();

  it('is the document of the events, needs no key, and has an ETag', async () => {
    const response = await bench.api('/asyncapi.json', null);
    expect(response.status).to.equal(200);
    expect(response.headers).to.include({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
    });
    expect(response.text).to.equal(JSON.stringify(asyncApiDocument()));
    const { etag = '' } = response.headers;
    const headers = { 'If-None-Match': etag };
    const again = await bench.api('/asyncapi.json', null, { headers });
    expect([again.status, again.text]).to.deep.equal([304, '']);
    const head = await bench.api('/asyncapi.json', null, { method: 'HEAD' });
    expect([head.status, head.text]).to.deep.equal([200, '']);
  });

  describe('GET /docs/events', () => {
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

    it('has the content security policy of /docs, and complies with it', async () => {
      expect(errors).to.deep.equal([]);
      const [docs, events] = await Promise.all(
        ['/docs', '/docs/events'].map((path) => bench.api(path, null)),
      );
      const header = 'content-security-policy';
      expect(events?.headers[header]).to.be.a('string').that.equals(docs?.headers[header]);
      expect(events?.text).not.to.match(/<script|<style|style=|https?:\/\//);
    });

    it('shows each channel with its messages and their fields', async () => {
      for (const [name, { messages }] of Object.entries(asyncApiDocument().channels)) {
        const shown = await page.locator(`#${name} details`).count();
        expect(shown, name).to.equal(Object.keys(messages).length);
      }
      const rows = page.locator('[id="links-LinkCreated.v4"] tbody tr');
      const fields = (await rows.allTextContents()).map((row) => row.replace(/\s+/g, ' ').trim());
      expect(fields).to.include(
        'custom boolean Whether the code is an alias; otherwise it was generated.',
      );
      expect(fields).to.include('passwordHash string or null Secret. argon2id.');
      expect(fields).to.include('rules[].when.weekly.days list of integer');
      const inStream = page.locator('[id="stream-LinkCreated.v4.feed"]');
      expect(await inStream.textContent())
        .to.include('custom')
        .but.not.include('passwordHash');
    });

    it('is accessible in light mode, in dark mode and on a telephone', async () => {
      await page.evaluate(
        `document.querySelectorAll('details').forEach((details) => { details.open = true; })`,
      );
      expect(await faultsInAllModes(page)).to.deep.equal([]);
    });

    it('links to the documents, and /docs links to it', async () => {
      for (const [link, path] of [
        ['asyncapi.json', '/asyncapi.json'],
        ['API', '/docs'],
        ['Events', '/docs/events'],
      ] as const) {
        await page.getByRole('link', { name: link, exact: true }).click();
        await page.waitForURL(bench.product.api + path);
        if (path === '/asyncapi.json') await page.goBack();
      }
    });
  });
});
