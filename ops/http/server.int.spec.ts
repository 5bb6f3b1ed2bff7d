import { expect } from 'chai';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage, type RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GeneralError } from '../../schemas/http/errors.js';
import { eventually, rejection } from '../test/support/waiting.js';
import { RawClient, parseResponse, type RawResponse } from '../test/support/raw-http.js';
import { ConfigError } from '../platform/errors.js';
import { createLogger } from '../platform/logging.js';
import { trustNone } from './client-address.js';
import type { FastPath } from './fast-path.js';
import { listen, type HttpListener } from './server.js';
import { deferred } from '../platform/concurrency/deferred.js';

const anyPort = { host: '127.0.0.1', port: 0 };
/** Longer than a test may take. */
const longGrace = 120_000;

/** The behaviour of every listener, with and without a fast path that declines all requests. */
const suite = (fastPath: FastPath | null) => (): void => {
  let agent: Agent;
  let stops: (() => Promise<void>)[] = [];

  beforeEach(() => {
    agent = new Agent({ keepAlive: true });
  });

  afterEach(async () => {
    agent.destroy();
    for (const stop of stops) await stop();
    stops = [];
  });

  const start = async (handler: RequestListener, where = anyPort): Promise<HttpListener> => {
    const listener = await listen('API', where, deps, () => ({ http: handler, fastPath }));
    stops.push(() => listener.stop(0));
    return listener;
  };

  const get = async (url: string): Promise<IncomingMessage> => {
    const [response] = (await once(request(url, { agent }).end(), 'response')) as [IncomingMessage];
    return response;
  };

  const hello: RequestListener = (_, response) => response.end('hello');

  it('passes its address to its handler and its caller', async () => {
    let passed: unknown;
    const listener = await listen('EDGE', anyPort, deps, (bound) => {
      passed = bound;
      return { http: hello, fastPath };
    });
    stops.push(() => listener.stop(0));
    expect(listener.port).to.be.above(0);
    expect(listener.url).to.equal(`http://127.0.0.1:${listener.port}`);
    expect(passed).to.deep.equal({ host: '127.0.0.1', port: listener.port, url: listener.url });
    expect(await text(await get(listener.url))).to.equal('hello');
  });

  it('has a reachable URL on 0.0.0.0', async () => {
    const listener = await start(hello, { host: '0.0.0.0', port: 0 });
    expect(listener.url).to.equal(`http://127.0.0.1:${listener.port}`);
    expect((await get(listener.url)).statusCode).to.equal(200);
  });

  it('throws a ConfigError with the variable for a port in use, and for an address of another machine', async () => {
    const { port } = await start(hello);
    for (const [name, where, message] of [
      ['ADMIN', { host: '127.0.0.1', port }, `ADMIN_PORT ${port} is in use`],
      ['EDGE', { host: '192.0.2.1', port: 0 }, 'HOST or EDGE_HOST: 192.0.2.1 '],
    ] as const) {
      const error = await rejection(listen(name, where, deps, () => ({ http: hello })));
      expect(error).to.be.instanceOf(ConfigError);
      expect((error as Error).message.startsWith(message), String(error)).to.be.true;
      expect((error as Error).message).not.to.include('\n');
    }
  });

  const deps = { trustedProxies: trustNone, logger: createLogger('silent') };

  describe('responds with the general error envelope, and ends the connection, to', () => {
    const exchange = async (bytes: string): Promise<RawResponse[]> => {
      const listener = await start((request, response) => {
        request.resume();
        request.once('end', () => response.end('hello'));
        // The listener responds to an aborted request.
        request.once('error', () => undefined);
      });
      const client = new RawClient(listener.url);
      const toHead = bytes.startsWith('HEAD');
      return client.exchange({ bytes: Buffer.from(bytes, 'latin1'), toHead, last: true }, 10_000);
    };
    const expectRefusal = (response: RawResponse | undefined, expected: object): void => {
      const { timestamp, ...body } = JSON.parse(response?.body.toString() ?? '{}') as GeneralError;
      expect(body).to.deep.equal(expected);
      expect(timestamp).to.match(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      expect(response?.status).to.equal(body.statusCode);
      expect(response?.headers.get('content-type')).to.equal('application/json; charset=utf-8');
      expect(response?.headers.get('cache-control')).to.equal('no-store');
      expect(response?.headers.get('connection')).to.equal('close');
    };
    const host = 'Host: a\r\n';
    const bad = { statusCode: 400, message: 'Bad Request' };
    const badGet = { ...bad, method: 'GET', path: '/a' };
    const badPost = { ...bad, method: 'POST', path: '/a' };
    const chunked = `${host}Transfer-Encoding: chunked\r\n`;
    const tooLarge = { statusCode: 413, message: 'Request body is too large' };
    const cases: readonly (readonly [string, object])[] = [
      ['GET /a?b HTTP/1.1\r\n\r\n', badGet],
      [`GET /a HTTP/1.1\r\n${host}${host}\r\n`, badGet],
      [`get /a?b HTTP/1.1\r\n${host}\r\n`, { ...badGet, method: 'get' }],
      ['\x16\x03\x01\x02\x00', { ...bad, method: '', path: '' }],
      [
        `GET /a HTTP/1.1\r\n${host}X: ${'x'.repeat(20_000)}\r\n\r\n`,
        { ...badGet, statusCode: 431, message: 'Request header fields are too large' },
      ],
      [`POST /a HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, badPost],
      [`POST /a HTTP/1.1\r\n${chunked}Content-Length: 5\r\n\r\n0\r\n\r\n`, badPost],
      [`POST /a?b HTTP/1.1\r\n${chunked}\r\nzz\r\n`, badPost],
      [`POST /a HTTP/1.1\r\n${chunked}\r\n1;${'x'.repeat(20_000)}`, { ...badPost, ...tooLarge }],
    ];
    it('malformed requests', async () => {
      for (const [bytes, expected] of cases) {
        const [response, more] = await exchange(bytes);
        expectRefusal(response, expected);
        expect(more, bytes.slice(0, 60)).to.equal(undefined);
      }
    });

    it('invalid bytes after a request, which gets its response', async () => {
      const [first, second] = await exchange(`GET / HTTP/1.1\r\n${host}\r\n\x00\xff`);
      expect(first?.status).to.equal(200);
      if (second) expectRefusal(second, { ...bad, method: '', path: '' });
    });

    it('a malformed request in the packet of the end of a body', async () => {
      const listener = await start(hello);
      const socket = connect(listener.port, '127.0.0.1');
      let received = '';
      socket.on('data', (data) => (received += data.toString('latin1')));
      const closed = once(socket, 'close');
      socket.write(`POST / HTTP/1.1\r\n${host}Content-Length: 9\r\n\r\nhalf`);
      await eventually('the first request has its response', () => received.endsWith('hello'));
      received = '';
      socket.end(`wholeGET /a?b HTTP/1.1\r\n${host}No : such name\r\n\r\n`);
      await closed;
      const read = parseResponse(Buffer.from(received, 'latin1'), false);
      expect(read?.rest).to.have.length(0);
      expectRefusal(read?.response, badGet);
    });
  });

  it('sends nothing after the last response of a connection, even during its transmission', async () => {
    const body = 'a'.repeat(8 * 1_024 * 1_024);
    const listener = await start((_, response) => response.end(body));
    const socket = connect(listener.port, '127.0.0.1');
    const head = 'GET / HTTP/1.1\r\nHost: a\r\n';
    socket.pause().write(`${head}Connection: close\r\n\r\n`);
    await sleep(100);
    socket.write(`${head}\r\n`);
    await sleep(100);
    const received = await text(socket.resume());
    expect(received.split('HTTP/1.1 ')).to.have.length(2);
    expect(received.endsWith(body)).to.equal(true);
  });

  describe('with requests that do not wait for responses', () => {
    const head = (line: string, ...fields: string[]): string =>
      [`${line} HTTP/1.1`, 'Host: a', ...fields, '', ''].join('\r\n');

    /** Responds with path and body: to `/slow…` after `released`, to others immediately. */
    const startSlow = async () => {
      const released = deferred();
      let [inProgress, most, count] = [0, 0, 0];
      const listener = await start((request, response) => {
        count += 1;
        inProgress += 1;
        most = Math.max(most, inProgress);
        response.once('finish', () => (inProgress -= 1));
        const { url = '' } = request;
        const respond = async (): Promise<void> => {
          if (url.startsWith('/slow')) await released.promise;
          response.end(`${url} ${await text(request)}`);
        };
        // The listener responds to a malformed body.
        respond().catch(() => undefined);
      });
      return { listener, released, count: () => count, most: () => most };
    };

    const bodiesOf = (received: string): readonly string[] => {
      const bodies: string[] = [];
      for (let rest = Buffer.from(received, 'latin1'); ;) {
        const read = parseResponse(rest, false);
        if (!read) return bodies;
        bodies.push(read.response.body.toString());
        rest = Buffer.from(read.rest);
      }
    };

    const receive = (socket: Socket): (() => string) => {
      let received = '';
      socket.setEncoding('latin1').on('data', (data: string) => (received += data));
      return () => received;
    };

    it('limits the requests in progress, and responds to all of them in order', async () => {
      const { listener, released, count, most } = await startSlow();
      const socket = connect(listener.port, '127.0.0.1');
      const received = receive(socket);
      const kinds = [
        (index: number) => head(`GET /${index}`),
        (index: number) =>
          `${head(`POST /${index}`, 'Content-Length: 9')}some\n\nbody`.slice(0, -1),
        (index: number) =>
          `${head(`POST /${index}`, 'Transfer-Encoding: chunked')}4\r\nsome\r\n5\r\n body\r\n0\r\n\r\n`,
      ];
      const requests = Array.from({ length: 1_500 }, (_, index) => kinds[index % 3]?.(index) ?? '');
      socket.write(head('GET /slow') + requests.join(''));
      await eventually('some are in progress', () => count() > 1);
      // More would be parsed now.
      for (let round = 0; round < 50; round += 1) await sleep(1);
      expect(count()).to.be.below(12);
      released.resolve();
      await eventually('all responses are received', () => received().includes('/1499 '));
      expect(bodiesOf(received())).to.deep.equal([
        '/slow ',
        ...requests.map(
          (_, index) => `/${index} ${['', 'some\n\nbod', 'some body'][index % 3] ?? ''}`,
        ),
      ]);
      expect(most()).to.be.below(12);
      socket.destroy();
    });

    for (const [what, requests, read, expected] of [
      [
        'refuses bytes that it cannot parse',
        [head('GET /quick'), '\x00\xff'],
        2,
        [{ body: '/quick ' }, { statusCode: 400 }],
      ],
      [
        'refuses a malformed body',
        [head('POST /broken', 'Transfer-Encoding: chunked'), 'zz\r\n'],
        2,
        [{ statusCode: 400, path: '/broken' }],
      ],
      ['responds to CONNECT', [head('CONNECT a:1'), 'a tunnel'], 1, [{ body: '/a:1 ' }]],
    ] as const) {
      it(`${what} after the pending responses`, async () => {
        const { listener, released, count } = await startSlow();
        const socket = connect(listener.port, '127.0.0.1');
        const received = receive(socket);
        socket.write(head('GET /slow') + requests.join(''));
        await eventually('they are read', () => count() === read);
        for (let round = 0; round < 20; round += 1) await sleep(1);
        expect(received()).to.equal('');
        released.resolve();
        await once(socket, 'close');
        const [first, ...others] = bodiesOf(received());
        expect(first).to.equal('/slow ');
        expect(others).to.have.length(expected.length);
        expected.forEach((part, index) => {
          const body = others[index] ?? '';
          const found: unknown = body.startsWith('{') ? JSON.parse(body) : { body };
          expect(found).to.include(part);
        });
        expect(await text(await get(listener.url))).to.equal('/ ');
      });
    }
  });

  const bodyOf = async (listener: HttpListener, head: string): Promise<string | undefined> => {
    const client = new RawClient(listener.url);
    const [response] = await client.exchange(
      { bytes: Buffer.from(`${head}\r\n\r\n`), toHead: false, last: false },
      10_000,
    );
    client.end();
    return response?.body.toString();
  };

  it('uses the authority of a target in absolute form, not Host', async () => {
    const listener = await start((request, response) => response.end(request.headers.host));
    for (const [target, host] of [
      ['http://elsewhere:1/a', 'elsewhere:1'],
      ['HTTPS://Elsewhere', 'Elsewhere'],
      ['http://localhost@elsewhere/', 'localhost@elsewhere'],
      ['http:///a', ''],
      ['/http://elsewhere/', 'localhost'],
    ] as const) {
      const head = `GET ${target} HTTP/1.1\r\nHost: localhost`;
      expect(await bodyOf(listener, head), target).to.equal(host);
    }
  });

  it('passes every method and every form of target to its handler', async () => {
    const listener = await start((request, response) => {
      request.resume();
      response.end(`${request.method ?? ''} ${request.url ?? ''}`);
    });
    for (const [line, expected] of [
      ['GET http://elsewhere:1/a/b?c', 'GET /a/b?c'],
      ['GET HTTP://elsewhere', 'GET /'],
      ['GET http://elsewhere?c', 'GET /?c'],
      ['GET //a//b', 'GET //a//b'],
      ['OPTIONS *', 'OPTIONS /*'],
      ['CONNECT elsewhere:443', 'CONNECT /elsewhere:443'],
    ] as const) {
      const head = `${line} HTTP/1.1\r\nHost: a\r\nExpect: the worst`;
      expect(await bodyOf(listener, head)).to.equal(expected);
    }
  });

  /** A listener that responds with `late` after `released`. */
  const startLate = async () => {
    const [arrived, released] = [deferred(), deferred()];
    const listener = await start((_, response) => {
      arrived.resolve();
      void released.promise.then(() => response.end('late'));
    });
    return { listener, arrived: arrived.promise, release: released.resolve };
  };

  it('continues after a client resets the connection of a CONNECT request', async () => {
    const { listener, arrived, release } = await startLate();
    const socket = connect(listener.port, '127.0.0.1');
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
    await arrived;
    socket.resetAndDestroy();
    release();
    expect(await text(await get(listener.url))).to.equal('late');
  });

  describe('when it is stopped', () => {
    it('completes requests in progress, and refuses new connections', async () => {
      const { listener, arrived, release } = await startLate();
      const response = get(listener.url);
      await arrived;
      const stopped = listener.stop(longGrace);
      const refused = connect(listener.port, '127.0.0.1');
      const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException];
      expect(error.code).to.equal('ECONNREFUSED');
      release();
      expect(await text(await response)).to.equal('late');
      await stopped;
    });

    it('does not wait for connections that are idle, with or without an earlier request', async () => {
      const listener = await start(hello);
      const socket = connect(listener.port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      // The listener accepts the silent connection first.
      await text(await get(listener.url));
      await listener.stop(longGrace);
      socket.destroy();
    });

    it('resets connections without a response after the grace period', async () => {
      const { listener, arrived } = await startLate();
      const response = rejection(get(listener.url));
      await arrived;
      await listener.stop(50);
      expect(await response).to.include({ code: 'ECONNRESET' });
    });
  });
};

describe('platform: listener', suite(null));
describe(
  'platform: listener with a fast path',
  suite(() => () => false),
);
