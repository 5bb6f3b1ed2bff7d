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

/** Serves one request, whose body is read after `delay`; `read` is the result. */
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

const json = 'Content-Type: application/json';
const head = `POST / HTTP/1.1\r\nHost: a\r\n${json}`;
const withoutDelay = (): Promise<void> => Promise.resolve();

/** Reads the body of a raw request. */
const readRaw = async (limit: number, ...parts: readonly (string | Buffer)[]) => {
  const { read, socket, server } = await serveOne(limit, withoutDelay);
  for (const part of parts) socket.write(part);
  const body = await read;
  socket.destroy();
  server.close();
  return body;
};

const readBytes = (bytes: Buffer, headers: string): Promise<Read<string>> =>
  readRaw(
    100,
    `POST / HTTP/1.1\r\nHost: a\r\n${headers}\r\nContent-Length: ${bytes.length}\r\n\r\n`,
    bytes,
  );

describe('command API: body', () => {
  it('that is aborted before it is read gets 400', async () => {
    const arrived = deferred();
    const { read, socket, server } = await serveOne(100, (request) => {
      arrived.resolve();
      // Without a listener for `error`, as during the lookup of the key; `once` of node:events adds one.
      return new Promise<void>((done) => request.once('close', done));
    });
    socket.write(`${head}\r\nContent-Length: 9\r\n\r\nhalf`);
    await arrived.promise;
    socket.destroy();
    expect(await read).to.have.nested.property('reply.status', 400);
    server.close();
  });

  for (const encoding of ['identity', 'gzip', 'br']) {
    it(`that is aborted while it is read gets 400 (${encoding})`, async () => {
      const { read, socket, server } = await serveOne(100, withoutDelay);
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
    const value = '{"url":"https://example.com/ü"}';
    const bytes = Buffer.from(`\ufeff${value}`);
    for (const [encoding, body] of [
      ['identity', bytes],
      ['gzip', gzipSync(bytes)],
      ['deflate', deflateSync(bytes)],
      ['br', brotliCompressSync(bytes)],
    ] as const) {
      const headers = `Content-Encoding: ${encoding}\r\nTransfer-Encoding: chunked`;
      const chunks = Array.from(body, (byte) => Buffer.from([49, 13, 10, byte, 13, 10]));
      const read = await readRaw(100, `${head}\r\n${headers}\r\n\r\n`, ...chunks, '0\r\n\r\n');
      expect(read, encoding).to.deep.equal({ type: 'read', value });
    }
  });

  it('is refused with 400 if it is not UTF-8', async () => {
    for (const [what, text] of [
      ['Latin-1', '{"url":"https://example.com/M\xfcnchen"}'],
      ['a sequence that breaks off', '{"title":"\xc3\x28"}'],
      ['a surrogate', '{"title":"\xed\xa0\x80"}'],
      ['an overlong form', '{"title":"\xc0\xaf"}'],
      ['half a character at the end', '{"title":"\xc3'],
      ['UTF-16', '\xff\xfe{\0}\0'],
    ] as const) {
      const bytes = Buffer.from(text, 'latin1');
      for (const [headers, sent] of [
        [json, bytes],
        [`${json}; charset=utf-8`, bytes],
        [`${json}\r\nContent-Encoding: gzip`, gzipSync(bytes)],
      ] as const) {
        const body = await readBytes(sent, headers);
        expect(body, what).to.have.nested.property('reply.status', 400);
        expect(body, what).to.have.nested.property('reply.message', 'Invalid JSON body');
      }
    }
  });

  it('may name UTF-8 as its charset, in any case, quoted or not, and no other one', async () => {
    for (const parameters of [
      ...['; charset=utf-8', ';CHARSET="UTF-8"', '; profile=a', ';'],
      ' ; Charset=utf8 ; profile="a; charset=latin1"',
    ]) {
      const body = await readBytes(Buffer.from('{}'), `${json}${parameters}`);
      expect(body, parameters).to.deep.equal({ type: 'read', value: '{}' });
    }
    for (const parameters of [
      ...['; charset=iso-8859-1', '; charset="utf-16"', '; charset=utf-8; charset=latin1'],
      ...['; profile="a"; charset=us-ascii', '; charset=', '; charset=""', '; charset="utf-8'],
    ]) {
      const body = await readBytes(Buffer.from('{}'), `${json}${parameters}`);
      expect(body, parameters).to.have.nested.property('reply.status', 415);
    }
  });

  it('without Content-Length is refused as soon as it is too large', async () => {
    const chunked = `${head}\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n"123456789"\r\n`;
    expect(await readRaw(10, chunked)).to.have.nested.property('reply.status', 413);
  });
});
