import { expect } from 'chai';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fixture } from '../test/support/fixture.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../test/support/http.js';
import { operatorsListener } from './operators-listener.js';

const domain = 'go.example';

describe('HTTP: GET /tls/ask', () => {
  let shortUrlHost: string | null = 'https://short.example:8443';
  const server = fixture(
    async () => {
      const listening = createServer((request, response) => {
        const deps = { isDomain: (name: string) => name === domain, shortUrlHost, hosts: [] };
        const handler = operatorsListener(deps, (_, passed) => passed.writeHead(418).end());
        handler(request, response);
      }).listen(0, '127.0.0.1');
      await once(listening, 'listening');
      return listening;
    },
    async (listening) => {
      listening.closeAllConnections();
      listening.close();
      await once(listening, 'close');
    },
  );
  const send = (path: string, options: RequestOptions = {}): Promise<HttpResponse> =>
    sendRequest(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, options);
  const statusOf = async (name: string): Promise<number> =>
    (await send(`/tls/ask?domain=${encodeURIComponent(name)}`)).status;

  it('responds with 200 to active domains and the default domain', async () => {
    for (const [host, names] of [
      ['https://short.example:8443', ['short.example', 'SHORT.example', 'short.example.']],
      ['http://localhost:8081', ['localhost', 'LOCALHOST']],
      ['https://xn--mnchen-3ya.example', ['münchen.example', 'xn--mnchen-3ya.example']],
      [null, ['go.example', 'GO.Example', 'go.example.']],
    ] as const) {
      shortUrlHost = host;
      for (const name of names) expect(await statusOf(name), name).to.equal(200);
    }
  });

  it('responds with 404 to every other text', async () => {
    for (const name of [
      ...['', 'www.go.example', 'example', '127.0.0.1', 'go.example:443', 'go.example/'],
      ...['a@go.example', 'go.example\u0000', ' go.example', 'null', '__proto__'],
    ]) {
      expect(await statusOf(name), name).to.equal(404);
    }
    for (const path of ['/tls/ask', '/tls/ask?', '/tls/ask?Domain=go.example', '/tls/ask?%']) {
      expect((await send(path)).status, path).to.equal(404);
    }
  });

  it('sends no body, and nothing to store', async () => {
    const { headers, text } = await send('/tls/ask?domain=go.example');
    expect(text).to.equal('');
    expect(headers).to.include({ 'cache-control': 'no-store', 'content-length': '0' });
    expect(headers['x-content-type-options']).to.equal('nosniff');
  });

  it('rejects other methods, and passes on other paths', async () => {
    const response = await send('/tls/ask?domain=go.example', { method: 'POST' });
    expect([response.status, response.headers.allow]).to.deep.equal([405, 'GET, HEAD']);
    for (const path of ['/', '/tls', '/tls/ask/', '/tls/asks']) {
      expect((await send(path)).status, path).to.equal(418);
    }
  });
});
