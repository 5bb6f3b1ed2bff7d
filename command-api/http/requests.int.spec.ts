import { expect } from 'chai';
import Koa from 'koa';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { RequestState } from './app.js';
import { bodyReader, type Read } from './requests.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';

describe('command API: body', () => {
  it('that was broken off before it is read is its sender’s fault', async () => {
    const arrived = deferred();
    const app = new Koa();
    app.silent = true;
    const read = new Promise<Read<string>>((resolve, reject) => {
      app.use(async (ctx) => {
        // Nobody hears its error, as while the key is looked up: `once` of node:events would.
        const closed = new Promise<void>((done) => ctx.req.once('close', done));
        arrived.resolve();
        await closed;
        (ctx.state as RequestState).uncounted = (wait) => wait;
        await bodyReader(100)(ctx).then(resolve, reject);
      });
    });
    const handle = app.callback();
    const server = createServer((request, response) => void handle(request, response)).listen(0);
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port);
    const type = 'Content-Type: application/json';
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${type}\r\nContent-Length: 9\r\n\r\nhalf`);
    await arrived.promise;
    socket.destroy();
    expect(await read).to.deep.include({ type: 'refused' });
    expect(await read).to.have.nested.property('reply.status', 400);
    server.close();
  });
});
