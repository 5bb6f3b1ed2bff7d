import { expect } from 'chai';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fixture } from '../test/support/fixture.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../test/support/http.js';
import { answerTlsAsk } from './tls-ask.js';

const domain = 'go.example';

describe('HTTP: GET /tls/ask', () => {
  for (const [shortUrlHost, defaultNames] of [
    ['https://short.example:8443', ['short.example', 'SHORT.example', 'short.example.']],
    ['http://localhost:8081', ['localhost', 'LOCALHOST']],
    ['https://xn--mnchen-3ya.example', ['münchen.example', 'xn--mnchen-3ya.example']],
    [null, []],
  ] as const) {
    describe(`with the default domain ${shortUrlHost ?? 'unknown'}`, () => {
      const server = fixture(
        async () => {
          const listening = createServer(
            answerTlsAsk(
              { isDomain: (name) => name === domain, shortUrlHost },
              (_request, response) => response.writeHead(418).end(),
            ),
          ).listen(0, '127.0.0.1');
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
        for (const name of ['go.example', 'GO.Example', 'go.example.', ...defaultNames]) {
          expect(await statusOf(name), name).to.equal(200);
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
        for (const method of ['GET', 'HEAD']) {
          const { status, headers, text } = await send('/tls/ask?domain=go.example', { method });
          expect([status, text]).to.deep.equal([200, '']);
          expect(headers).to.include({ 'cache-control': 'no-store', 'content-length': '0' });
          expect(headers['x-content-type-options']).to.equal('nosniff');
        }
      });

      it('rejects other methods, and passes on other paths', async () => {
        for (const method of ['POST', 'PUT', 'OPTIONS']) {
          const response = await send('/tls/ask?domain=go.example', { method });
          expect([response.status, response.headers.allow]).to.deep.equal([405, 'GET, HEAD']);
        }
        for (const path of ['/', '/tls', '/tls/ask/', '/tls/asks', '/health']) {
          expect((await send(path)).status, path).to.equal(418);
        }
      });
    });
  }
});
