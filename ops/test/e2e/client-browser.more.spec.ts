import { expect } from 'chai';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { projectFile } from '../../platform/files/project-file.js';
import { fixture } from '../support/fixture.js';
import { browserFixture } from '../support/fixtures.js';
import { productFixture } from './harness.js';

const modules = projectFile('dist', 'ops', 'clients', 'typescript', 'src');

/** Runs in the page. @returns what it observed, as JSON */
const program = (baseUrl: string, key: string): string => `(async () => {
  const { Linklog, LinklogError } = await import('/index.js');
  const client = new Linklog({ key: '${key}', baseUrl: '${baseUrl}' });
  const { shortCode } = await client.links.create({ url: 'https://example.com/', tags: ['browser'] });
  const { version } = await client.links.get(shortCode);
  const changed = await client.links.change(shortCode, { title: 'a' }, { ifMatch: version });
  const stale = await client.links.delete(shortCode, { ifMatch: version }).catch((error) => error);
  const png = await client.qr.get(shortCode);
  const types = [];
  for await (const { type } of client.events.stream({ after: 'start', types: ['LinkCreated', 'LinkDescribed'] })) {
    types.push(type.split('.')[1]);
    if (type.includes('LinkDescribed')) break;
  }
  const file = new Blob(['code,url\\nby-browser,https://example.com/\\n']);
  const { status } = await client.imports.start(file, { format: 'csv' });
  return JSON.stringify({
    shortCode, title: changed.title, types, isImported: status !== undefined,
    refusal: [stale instanceof LinklogError, stale.status, typeof stale.requestId],
    png: String.fromCharCode(...png.slice(1, 4)),
  });
})()`;

describe('client: in Chromium, from another origin', () => {
  const browser = browserFixture();
  /** A page with the modules of the client. */
  const pages = fixture(
    async () => {
      const server = createServer(({ url = '/' }, response) => {
        if (url === '/') response.setHeader('Content-Type', 'text/html').end('<!doctype html>');
        else {
          response.setHeader('Content-Type', 'text/javascript');
          createReadStream(path.join(modules, path.basename(url))).pipe(response);
        }
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      return { server, origin: `http://127.0.0.1:${port}` };
    },
    ({ server }) => {
      server.closeAllConnections();
      server.close();
    },
  );
  const bench = productFixture(() => ({ CORS_ORIGINS: pages.origin }));

  it('creates, changes and imports links, and reads errors, images and events', async () => {
    const { key } = await bench.key('PRO');
    const page = await browser.newPage();
    await page.goto(pages.origin);
    const observed = await page.evaluate<string>(program(bench.product.api, key));
    const { shortCode, ...others } = JSON.parse(observed) as { readonly shortCode: string };
    expect(others).to.deep.equal({
      title: 'a',
      types: ['LinkCreated', 'LinkDescribed'],
      isImported: true,
      refusal: [true, 412, 'string'],
      png: 'PNG',
    });
    const link = await bench.api(`/v2/links/${shortCode}`, key);
    expect(link.json()).to.include({ title: 'a' });
  });
});
