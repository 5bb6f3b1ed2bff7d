import { expect } from 'chai';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import Koa from 'koa';
import { createLogger } from '../../../ops/platform/logging.js';
import { sendRequest, type RequestOptions } from '../../../ops/test/support/http.js';
import { folderFixture } from '../../../ops/test/support/fixtures.js';
import { consoleFiles } from './files.js';

describe('command API: files of the console', () => {
  const temporary = folderFixture();
  const folder = () => temporary.path;
  let server: Server;

  before(() => {
    mkdirSync(path.join(folder(), 'assets'));
    for (const [name, text] of [
      ['index.html', '<title>developers</title>'],
      ['operators.html', '<title>operators</title>'],
      ['assets/index-a1.js', 'start()'],
      ['assets/index-a1.js.br', 'start() in brotli'],
      ['assets/index-a1.js.gz', 'start() in gzip'],
      ['assets/index-a1.css', 'a { color: red }'],
    ] as const) {
      writeFileSync(path.join(folder(), name), text);
    }
  });

  afterEach(() => server.close());

  const serve = async (
    page: 'index.html' | 'operators.html',
    from = folder(),
  ): Promise<(at: string, options?: RequestOptions) => ReturnType<typeof sendRequest>> => {
    const files = consoleFiles(page, createLogger('silent'), from);
    const app = new Koa();
    app.use((ctx) => {
      ctx.state = { headers: {} };
      files.serve(ctx);
    });
    const handle = app.callback();
    server = createServer((request, response) => void handle(request, response)).listen(0);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return (at, options) => sendRequest(`http://127.0.0.1:${port}${at}`, options);
  };

  it('are cached forever if their names contain a hash', async () => {
    const get = await serve('index.html');
    for (const [name, type] of [
      ['index-a1.js', 'text/javascript; charset=utf-8'],
      ['index-a1.css', 'text/css; charset=utf-8'],
    ] as const) {
      const { status, headers } = await get(`/console/assets/${name}`);
      expect([status, headers['content-type']]).to.deep.equal([200, type]);
      expect(headers['cache-control']).to.equal('public, max-age=31536000, immutable');
    }
  });

  it('are sent compressed, in the best coding that the client accepts', async () => {
    const get = await serve('index.html');
    for (const [accepted, coding, sent] of [
      ['gzip, deflate, br', 'br', 'start() in brotli'],
      ['gzip, br;q=0', 'gzip', 'start() in gzip'],
      ['deflate', undefined, 'start()'],
      [undefined, undefined, 'start()'],
    ] as const) {
      const { headers, text } = await get('/console/assets/index-a1.js', {
        headers: accepted === undefined ? {} : { 'Accept-Encoding': accepted },
      });
      expect([headers['content-encoding'], text], accepted).to.deep.equal([coding, sent]);
      expect(headers.vary).to.equal('Accept-Encoding');
      expect(headers['content-type']).to.equal('text/javascript; charset=utf-8');
    }
    expect((await get('/console/assets/index-a1.js.br')).status).to.equal(404);
  });

  it('are the page of the listener for all paths of the client', async () => {
    for (const [page, title] of [
      ['index.html', 'developers'],
      ['operators.html', 'operators'],
    ] as const) {
      const get = await serve(page);
      for (const at of ['/console', '/console/', '/console/links/spring', `/console/${page}`]) {
        const { status, headers, text } = await get(at);
        expect([status, text], at).to.deep.equal([200, `<title>${title}</title>`]);
        expect(headers['content-type']).to.equal('text/html; charset=utf-8');
        expect(headers['cache-control']).to.equal('no-cache');
        const again = await get(at, { headers: { 'If-None-Match': headers.etag ?? '' } });
        expect([again.status, again.text]).to.deep.equal([304, '']);
      }
      server.close();
    }
  });

  it('accept only GET and HEAD, and are 404 below reserved prefixes', async () => {
    const get = await serve('index.html');
    for (const at of ['/console', '/console/assets/index-a1.js']) {
      const refused = await get(at, { method: 'POST' });
      expect(refused.status).to.equal(405);
      expect(refused.headers['cache-control']).to.equal('no-store');
      expect(await get(at, { method: 'HEAD' })).to.include({ status: 200, text: '' });
    }
    for (const at of [
      '/console/assets/index-a2.js',
      '/console/assets/../../../package.json',
      '/console/admin/keys',
    ]) {
      const { status, headers } = await get(at);
      expect([status, headers['cache-control']], at).to.deep.equal([404, 'no-store']);
    }
  });

  it('describe how to build them if they are missing', async () => {
    const get = await serve('index.html', path.join(folder(), 'none'));
    const { status, headers, text } = await get('/console');
    expect(status).to.equal(503);
    expect(headers['content-type']).to.equal('text/html; charset=utf-8');
    expect(text).to.include('npm run build');
  });
});
