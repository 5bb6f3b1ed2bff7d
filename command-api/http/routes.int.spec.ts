import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Overloaded } from '../../ops/platform/concurrency/batcher.js';
import { createLogger } from '../../ops/platform/logging.js';
import { sendRequest } from '../../ops/test/support/http.js';
import { createApp } from './app.js';
import { createV2, type V2Deps } from './routes.js';

describe('command API: /v2, where the admission handler fails', () => {
  let server: Server;

  const start = async (error: Error): Promise<string> => {
    const deps = { admission: { admit: () => Promise.reject(error) } } as unknown as V2Deps;
    const health = (): never => {
      throw new Error('health() was called');
    };
    const requests = { record: () => undefined };
    const app = createApp(
      {
        ...{ health, requests, tracer: null, shortUrlHost: null, logger: createLogger('silent') },
        activeDomains: { ignoresCase: () => false },
      },
      () => null,
    );
    const v2 = createV2(deps, []);
    app.use((ctx) => v2.handle(ctx));
    const handle = app.callback();
    server = createServer((request, response) => void handle(request, response)).listen(0);
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  afterEach(() => server.close());

  for (const [error, status] of [
    [new Overloaded(7), 503],
    [new Error('a secret'), 500],
  ] as const) {
    it(`returns ${status} uncached and without details`, async () => {
      const response = await sendRequest(`${await start(error)}/v2/usage`);
      expect(response.status).to.equal(status);
      expect(response.headers['cache-control']).to.equal('no-store');
      expect(response.text).not.to.include(error.message);
    });
  }
});
