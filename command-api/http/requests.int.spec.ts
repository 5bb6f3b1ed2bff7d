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

const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json';
const withoutDelay = (): Promise<void> => Promise.resolve();

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
    expect(await read).to.deep.include({ type: 'refused' });
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
    const text = '{"url":"https://example.com/ü"}';
    for (const pack of [null, gzipSync, deflateSync, brotliCompressSync]) {
      const { read, socket, server } = await serveOne(100, withoutDelay);
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

  const readBytes = async (bytes: Buffer, headers: string): Promise<Read<string>> => {
    const { read, socket, server } = await serveOne(100, withoutDelay);
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
    socket.write(`Content-Length: ${bytes.length}\r\n\r\n`);
    socket.write(bytes);
    const body = await read;
    socket.destroy();
    server.close();
    return body;
  };

  const notUtf8: readonly (readonly [string, Buffer])[] = [
    ['Latin-1', Buffer.from('{"url":"https://example.com/M\xfcnchen"}', 'latin1')],
    ['a sequence that breaks off', Buffer.from('{"title":"\xc3\x28"}', 'latin1')],
    ['a surrogate', Buffer.from('{"title":"\xed\xa0\x80"}', 'latin1')],
    ['an overlong form', Buffer.from('{"title":"\xc0\xaf"}', 'latin1')],
    ['half a character at the end', Buffer.from('{"title":"\xc3', 'latin1')],
    ['UTF-16', Buffer.from('\ufeff{"title":"a"}', 'utf16le')],
  ];
  for (const [what, bytes] of notUtf8) {
    it(`is refused with 400 if it is not UTF-8: ${what}`, async () => {
      const json = 'Content-Type: application/json';
      for (const [headers, sent] of [
        [json, bytes],
        [`${json}; charset=utf-8`, bytes],
        [`${json}\r\nContent-Encoding: gzip`, gzipSync(bytes)],
      ] as const) {
        const body = await readBytes(sent, headers);
        expect(body, headers).to.have.nested.property('reply.status', 400);
        expect(body, headers).to.have.nested.property('reply.message', 'Invalid JSON body');
      }
    });
  }

  it('may name UTF-8 as its charset, in any case, quoted or not', async () => {
    for (const parameters of [
      '; charset=utf-8',
      ';CHARSET="UTF-8"',
      ' ; Charset=utf8 ; profile="a; charset=latin1"',
      '; profile=a',
      ';',
    ]) {
      const body = await readBytes(
        Buffer.from('{}'),
        `Content-Type: application/json${parameters}`,
      );
      expect(body, parameters).to.deep.equal({ type: 'read', value: '{}' });
    }
  });

  it('is refused with 415 if it names another charset', async () => {
    for (const parameters of [
      '; charset=iso-8859-1',
      '; charset="utf-16"',
      '; charset=utf-8; charset=latin1',
      '; profile="a"; charset=us-ascii',
      '; charset=',
      '; charset=""',
      '; charset="utf-8',
    ]) {
      const body = await readBytes(
        Buffer.from('{}'),
        `Content-Type: application/json${parameters}`,
      );
      expect(body, parameters).to.have.nested.property('reply.status', 415);
    }
  });

  it('without Content-Length is refused as soon as it is too large', async () => {
    const { read, socket, server } = await serveOne(10, withoutDelay);
    socket.write(`${head}\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n"123456789"\r\n`);
    expect(await read).to.have.nested.property('reply.status', 413);
    socket.destroy();
    server.close();
  });
});
