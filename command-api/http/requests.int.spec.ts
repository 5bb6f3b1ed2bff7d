import { expect } from 'chai';
import Koa from 'koa';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { RequestState } from './app.js';
import { bodyReader, type Read } from './requests.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { eventually } from '../../ops/test/support/waiting.js';

/** Serves one request, whose body is read after `delay`; `read` is what came of it. */
const serveOne = async (limit: number, delay: (request: IncomingMessage) => Promise<unknown>) => {
  const app = new Koa();
  app.silent = true;
  const read = new Promise<Read<string>>((resolve, reject) => {
    app.use(async (ctx) => {
      await delay(ctx.req);
      (ctx.state as RequestState).uncounted = (wait) => wait;
      await bodyReader(limit)(ctx).then(resolve, reject);
    });
  });
  const handle = app.callback();
  const server = createServer((request, response) => void handle(request, response)).listen(0);
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port);
  return { read, socket, server };
};

const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json';
const atOnce = (): Promise<void> => Promise.resolve();

describe('command API: body', () => {
  it('that was broken off before it is read is its sender’s fault', async () => {
    const arrived = deferred();
    const { read, socket, server } = await serveOne(100, (request) => {
      arrived.resolve();
      // Nobody hears its error, as while the key is looked up: `once` of node:events would.
      return new Promise<void>((done) => request.once('close', done));
    });
    socket.write(`${head}\r\nContent-Length: 9\r\n\r\nhalf`);
    await arrived.promise;
    socket.destroy();
    expect(await read).to.deep.include({ type: 'refused' });
    expect(await read).to.have.nested.property('reply.status', 400);
    server.close();
  });

  for (const encoding of ['identity', 'gzip', 'br']) {
    it(`that is broken off while it is read is its sender’s fault (${encoding})`, async () => {
      const { read, socket, server } = await serveOne(100, atOnce);
      const headers = `Content-Encoding: ${encoding}\r\nContent-Length: 9`;
      socket.write(`${head}\r\n${headers}\r\n\r\nhalf`);
      const [request] = (await once(server, 'request')) as [IncomingMessage];
      await eventually('it is being read', () => request.readableFlowing === true);
      socket.destroy();
      expect(await read).to.have.nested.property('reply.status', 400);
      server.close();
    });
  }

  it('is read in parts, decompressed, as UTF-8 without a byte order mark', async () => {
    const text = '{"url":"https://example.com/ü"}';
    for (const pack of [null, gzipSync, deflateSync, brotliCompressSync]) {
      const { read, socket, server } = await serveOne(100, atOnce);
      const bytes = Buffer.from(`\ufeff${text}`);
      const body = pack?.(bytes) ?? bytes;
      const names = new Map<unknown, string>([
        [gzipSync, 'gzip'],
        [deflateSync, 'deflate'],
        [brotliCompressSync, 'br'],
      ]);
      const encoding = names.get(pack) ?? 'identity';
      socket.write(
        `${head}\r\nContent-Encoding: ${encoding}\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      for (const byte of body) {
        socket.write(`1\r\n${String.fromCharCode(byte)}\r\n`, 'latin1');
      }
      socket.write('0\r\n\r\n');
      expect(await read, encoding).to.deep.equal({ type: 'read', value: text });
      socket.destroy();
      server.close();
    }
  });

  it('of no stated length is refused as soon as it is too large', async () => {
    const { read, socket, server } = await serveOne(10, atOnce);
    socket.write(`${head}\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n"123456789"\r\n`);
    expect(await read).to.have.nested.property('reply.status', 413);
    socket.destroy();
    server.close();
  });
});
