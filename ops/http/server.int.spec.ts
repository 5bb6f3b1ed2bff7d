import { expect } from 'chai';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage, type RequestListener } from 'node:http';
import { connect, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GeneralError } from '../../schemas/http/errors.js';
import { eventually, rejection } from '../test/support/waiting.js';
import { RawClient, parseResponse, type RawResponse } from '../test/support/raw-http.js';
import { ConfigError } from '../platform/process/config-error.js';
import { trustNobody } from './client-address.js';
import type { OpenLane } from './fast-path.js';
import { listen, type HttpListener } from './server.js';
import { deferred } from '../platform/concurrency/deferred.js';

const anyPort = { host: '127.0.0.1', port: 0 };
/** Far more than any test takes: only what must be cut waits for it. */
/** Longer than a test may take. */
const longGrace = 120_000;

/** What holds of every listener, also where a lane looks at each request, and leaves it to node:http. */
const suite = (lane: OpenLane | null) => (): void => {
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
    const listener = await listen('API', where, trustNobody, () => ({ http: handler, lane }));
    stops.push(() => listener.stop(0));
    return listener;
  };

  const get = async (url: string): Promise<IncomingMessage> => {
    const [response] = (await once(request(url, { agent }).end(), 'response')) as [IncomingMessage];
    return response;
  };

  const hello: RequestListener = (_, response) => response.end('hello');

  it('tells its handler and its caller where it can be reached', async () => {
    let told: unknown;
    const listener = await listen('EDGE', anyPort, trustNobody, (bound) => {
      told = bound;
      return { http: hello, lane };
    });
    stops.push(() => listener.stop(0));
    expect(listener.port).to.be.above(0);
    expect(listener.url).to.equal(`http://127.0.0.1:${listener.port}`);
    expect(told).to.deep.equal({ host: '127.0.0.1', port: listener.port, url: listener.url });
    expect(await text(await get(listener.url))).to.equal('hello');
  });

  for (const [host, address] of [
    ['0.0.0.0', '127.0.0.1'],
    ['localhost', 'localhost'],
  ] as const) {
    it(`on ${host} names ${address}, which can be connected to`, async () => {
      const listener = await start(hello, { host, port: 0 });
      expect(listener.url).to.equal(`http://${address}:${listener.port}`);
      expect((await get(listener.url)).statusCode).to.equal(200);
    });
  }

  describe('with a client that opens all the connections it can', () => {
    const open = async (port: number, localAddress: string, count: number): Promise<Socket[]> => {
      const sockets: Socket[] = [];
      while (sockets.length < count) {
        const wave = Array.from({ length: 250 }, async () => {
          const socket = connect({ host: '127.0.0.1', port, localAddress });
          // Closed at once by the listener, some are reset.
          socket.on('error', () => undefined);
          await once(socket, 'connect');
          // One that asks for nothing is closed after ten seconds.
          socket.resume().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
          return socket;
        });
        sockets.push(...(await Promise.all(wave)));
      }
      return sockets;
    };
    let hoard: Socket[] = [];
    afterEach(() => {
      for (const socket of hoard) socket.destroy();
    });

    // It takes long, and once is enough: what the lane leaves is as without it.
    if (lane !== null)
      it('still serves another client, and the first one again when it has closed some', async function () {
        this.timeout(90_000);
        const listener = await start(hello);
        const { connections, port } = listener;
        hoard = await open(port, '127.0.0.1', 10_000);
        const other = request(listener.url, { localAddress: '127.0.0.2' }).end();
        const [response] = (await once(other, 'response')) as [IncomingMessage];
        expect(await text(response)).to.equal('hello');
        expect(connections.refused).to.equal(5_000);
        for (const socket of hoard) socket.destroy();
        await eventually('they are closed', () => connections.sockets.size <= 1);
        expect(await text(await get(listener.url))).to.equal('hello');
      });
  });

  it('goes on after errors of accepting connections', async () => {
    const listener = await start((request, response) => {
      const { server } = request.socket as unknown as { readonly server: Server };
      for (let error = 0; error < 2; error += 1) server.emit('error', new Error('accept EMFILE'));
      response.end('hello');
    });
    expect(await text(await get(listener.url))).to.equal('hello');
    expect(await text(await get(listener.url))).to.equal('hello');
  });

  it('on a port in use is a ConfigError that names the variable', async () => {
    const { port } = await start(hello);
    for (const name of ['API', 'EDGE', 'ADMIN'] as const) {
      const error = await rejection(
        listen(name, { host: '127.0.0.1', port }, trustNobody, () => ({ http: hello })),
      );
      expect(error).to.be.instanceOf(ConfigError);
      expect((error as Error).message).to.match(
        new RegExp(`^${name}_PORT ${port} is in use[^\n]*$`),
      );
    }
  });

  it('on an address of another machine is a ConfigError that names the variable', async () => {
    const error = await rejection(
      listen('EDGE', { host: '192.0.2.1', port: 0 }, trustNobody, () => ({ http: hello })),
    );
    expect(error).to.be.instanceOf(ConfigError);
    expect((error as Error).message).to.match(/^HOST or EDGE_HOST: 192\.0\.2\.1 /);
  });

  describe('answers in the general envelope, and ends the connection,', () => {
    const exchange = async (bytes: string): Promise<RawResponse[]> => {
      const listener = await start((request, response) => {
        request.resume();
        request.once('end', () => response.end('hello'));
        // Broken off: its answer is the listener's.
        request.once('error', () => undefined);
      });
      const client = new RawClient(listener.url);
      const toHead = bytes.startsWith('HEAD');
      return client.exchange({ bytes: Buffer.from(bytes, 'latin1'), toHead, last: true }, 10_000);
    };
    const expectRefusal = (answer: RawResponse | undefined, expected: object): void => {
      const { timestamp, ...body } = JSON.parse(answer?.body.toString() ?? '{}') as GeneralError;
      expect(body).to.deep.equal(expected);
      expect(timestamp).to.match(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      expect(answer?.status).to.equal(body.statusCode);
      expect(answer?.headers.get('content-type')).to.equal('application/json; charset=utf-8');
      expect(answer?.headers.get('cache-control')).to.equal('no-store');
      expect(answer?.headers.get('connection')).to.equal('close');
    };
    const host = 'Host: a\r\n';
    const bad = { statusCode: 400, message: 'Bad Request' };
    const cases: readonly (readonly [string, string, object])[] = [
      ['no Host', 'GET /a?b HTTP/1.1\r\n\r\n', { ...bad, method: 'GET', path: '/a' }],
      ['two Hosts', `GET /a HTTP/1.1\r\n${host}${host}\r\n`, { ...bad, method: 'GET', path: '/a' }],
      [
        'an unknown method',
        `get /a?b HTTP/1.1\r\n${host}\r\n`,
        { ...bad, method: 'get', path: '/a' },
      ],
      ['what is no HTTP', '\x16\x03\x01\x02\x00', { ...bad, method: '', path: '' }],
      [
        'headers beyond 16 KiB',
        `GET /a HTTP/1.1\r\n${host}X: ${'x'.repeat(20_000)}\r\n\r\n`,
        {
          statusCode: 431,
          message: 'Request header fields are too large',
          method: 'GET',
          path: '/a',
        },
      ],
      [
        'two lengths',
        `POST /a HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
        { ...bad, method: 'POST', path: '/a' },
      ],
      [
        'a length and chunks',
        `POST /a HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        { ...bad, method: 'POST', path: '/a' },
      ],
      [
        'a bad chunk behind a good head',
        `POST /a?b HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
        { ...bad, method: 'POST', path: '/a' },
      ],
      [
        'an endless chunk extension',
        `POST /a HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}`,
        { statusCode: 413, message: 'Request body is too large', method: 'POST', path: '/a' },
      ],
    ];
    for (const [what, bytes, expected] of cases) {
      it(what, async () => {
        const [answer, more] = await exchange(bytes);
        expectRefusal(answer, expected);
        expect(more).to.equal(undefined);
      });
    }

    it('what stands behind a request, which is answered itself', async () => {
      const [first, second] = await exchange(`GET / HTTP/1.1\r\n${host}\r\n\x00\xff`);
      expect(first?.status).to.equal(200);
      if (second) expectRefusal(second, { ...bad, method: '', path: '' });
    });

    it('without a body for HEAD', async () => {
      const [answer] = await exchange('HEAD /a HTTP/1.1\r\n\r\n');
      expect(answer?.status).to.equal(400);
    });

    for (const method of ['HEAD', 'GET']) {
      it(`a broken ${method} that came with the rest of a body`, async () => {
        const listener = await start(hello);
        const socket = connect(listener.port, '127.0.0.1');
        let received = '';
        socket.on('data', (data) => (received += data.toString('latin1')));
        const closed = once(socket, 'close');
        socket.write(`POST / HTTP/1.1\r\n${host}Content-Length: 9\r\n\r\nhalf`);
        // Answered before its body has come, as where it is refused.
        await eventually('the first was answered', () => received.endsWith('hello'));
        received = '';
        socket.end(`whole${method} /a?b HTTP/1.1\r\n${host}No : such name\r\n\r\n`);
        await closed;
        const read = parseResponse(Buffer.from(received, 'latin1'), method === 'HEAD');
        expect(read?.rest).to.have.length(0);
        if (method === 'HEAD') expect(read?.response.status).to.equal(400);
        else expectRefusal(read?.response, { ...bad, method, path: '/a' });
      });
    }
  });

  it('answers nothing behind a connection’s last answer, also while that is on its way', async () => {
    const body = 'a'.repeat(8 * 1_024 * 1_024);
    const listener = await start((_, response) => response.end(body));
    const socket = connect(listener.port, '127.0.0.1');
    const head = 'GET / HTTP/1.1\r\nHost: a\r\n';
    socket.pause().write(`${head}Connection: close\r\n\r\n`);
    // Each is read before the next; the answer waits for its reader.
    await sleep(100);
    socket.write(`${head}\r\n`);
    await sleep(100);
    const answers = await text(socket.resume());
    expect(answers.split('HTTP/1.1 ')).to.have.length(2);
    expect(answers).to.satisfy((all: string) => all.endsWith(body));
  });

  describe('with requests that do not wait for responses', () => {
    const head = (line: string, ...fields: string[]): string =>
      [`${line} HTTP/1.1`, 'Host: a', ...fields, '', ''].join('\r\n');

    /** Responds to `/slow…` when it is released, and to all others with the path and the body as soon as they are read. */
    const startSlow = async () => {
      const released = deferred();
      let [inProgress, most, count] = [0, 0, 0];
      const listener = await start((request, response) => {
        count += 1;
        inProgress += 1;
        most = Math.max(most, inProgress);
        response.once('finish', () => (inProgress -= 1));
        const { url = '' } = request;
        const answer = async (): Promise<void> => {
          if (url.startsWith('/slow')) await released.promise;
          response.end(`${url} ${await text(request)}`);
        };
        // text() rejects for a malformed body, to which the listener itself responds: the tests see its response.
        answer().catch(() => undefined);
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

    it('has few of them in progress, and responds to all of them in order', async () => {
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
      for (let turn = 0; turn < 50; turn += 1) await sleep(1);
      expect(count()).to.be.below(12);
      released.resolve();
      await eventually('all are answered', () => received().includes('/1499 '));
      expect(bodiesOf(received())).to.deep.equal([
        '/slow ',
        ...requests.map(
          (_, index) => `/${index} ${['', 'some\n\nbod', 'some body'][index % 3] ?? ''}`,
        ),
      ]);
      expect(most()).to.be.below(12);
      socket.destroy();
    });

    it('refuses bytes that it cannot parse after the responses that are due', async () => {
      const { listener, released, count } = await startSlow();
      const socket = connect(listener.port, '127.0.0.1');
      const received = receive(socket);
      socket.write(
        head('GET /slow') + head('GET /quick') + head('POST /quick', 'Content-Length: 0'),
      );
      socket.write('\x00\xff');
      await eventually('they are read', () => count() === 3);
      for (let turn = 0; turn < 20; turn += 1) await sleep(1);
      expect(received()).to.equal('');
      released.resolve();
      await once(socket, 'close');
      const bodies = bodiesOf(received());
      expect(bodies.slice(0, 3)).to.deep.equal(['/slow ', '/quick ', '/quick ']);
      expect(JSON.parse(bodies[3] ?? '')).to.include({ statusCode: 400 });
      expect(bodies).to.have.length(4);
    });

    it('refuses a malformed body after the responses that are due', async () => {
      const { listener, released, count } = await startSlow();
      const socket = connect(listener.port, '127.0.0.1');
      const received = receive(socket);
      socket.write(
        head('GET /slow') + head('POST /broken', 'Transfer-Encoding: chunked') + 'zz\r\n',
      );
      await eventually('they are read', () => count() === 2);
      for (let turn = 0; turn < 20; turn += 1) await sleep(1);
      expect(received()).to.equal('');
      released.resolve();
      await once(socket, 'close');
      const [first, second, third] = bodiesOf(received());
      expect(first).to.equal('/slow ');
      expect(JSON.parse(second ?? '')).to.include({ statusCode: 400, path: '/broken' });
      expect(third).to.equal(undefined);
    });

    it('lives on when a client asks for a tunnel before it has a response', async () => {
      const { listener, released, count } = await startSlow();
      const socket = connect(listener.port, '127.0.0.1');
      const received = receive(socket);
      socket.write(head('GET /slow') + head('CONNECT a:1') + 'bytes for the tunnel');
      await eventually('the first is read', () => count() === 1);
      released.resolve();
      await once(socket, 'close');
      expect(bodiesOf(received())).to.deep.equal(['/slow ', '/a:1 ']);
      expect(await text(await get(listener.url))).to.equal('/ ');
    });
  });

  it('goes by the authority of a target in absolute form, not by Host', async () => {
    const listener = await start((request, response) => response.end(request.headers.host));
    for (const [target, host] of [
      ['http://elsewhere:1/a', 'elsewhere:1'],
      ['HTTPS://Elsewhere', 'Elsewhere'],
      ['http://localhost@elsewhere/', 'localhost@elsewhere'],
      ['http:///a', ''],
      ['/http://elsewhere/', 'localhost'],
    ] as const) {
      const bytes = Buffer.from(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      const client = new RawClient(listener.url);
      const [answer] = await client.exchange({ bytes, toHead: false, last: false }, 10_000);
      client.end();
      expect(answer?.body.toString(), target).to.equal(host);
    }
  });

  it('hands every method and every form of target to its handler', async () => {
    const listener = await start((request, response) => {
      request.resume();
      response.end(`${request.method ?? ''} ${request.url ?? ''}`);
    });
    for (const [line, seen] of [
      ['GET http://elsewhere:1/a/b?c', 'GET /a/b?c'],
      ['GET HTTP://elsewhere', 'GET /'],
      ['GET http://elsewhere?c', 'GET /?c'],
      ['GET //a//b', 'GET //a//b'],
      ['OPTIONS *', 'OPTIONS /*'],
      ['CONNECT elsewhere:443', 'CONNECT /elsewhere:443'],
    ] as const) {
      const bytes = Buffer.from(`${line} HTTP/1.1\r\nHost: a\r\nExpect: the worst\r\n\r\n`);
      const client = new RawClient(listener.url);
      const [answer] = await client.exchange({ bytes, toHead: false, last: false }, 10_000);
      client.end();
      expect(answer?.body.toString()).to.equal(seen);
    }
  });

  it('lives on when a client that asked for a tunnel resets it', async () => {
    const held = deferred();
    let asked = 0;
    const listener = await start((_, response) => {
      asked += 1;
      void held.promise.then(() => response.end('late'));
    });
    const socket = connect(listener.port, '127.0.0.1');
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
    await eventually('it was asked for', () => asked === 1);
    socket.resetAndDestroy();
    held.resolve();
    expect(await text(await get(listener.url))).to.equal('late');
  });

  describe('when it is stopped', () => {
    it('answers what is in flight, refuses new connections, and then ends', async () => {
      const held = deferred();
      let arrived = false;
      const listener = await start((_, response) => {
        arrived = true;
        void held.promise.then(() => response.end('late'));
      });
      const answer = get(listener.url);
      await eventually('the request arrived', () => arrived);
      const stopped = listener.stop(longGrace);
      const refused = connect(listener.port, '127.0.0.1');
      const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException];
      expect(error.code).to.equal('ECONNREFUSED');
      held.resolve();
      expect(await text(await answer)).to.equal('late');
      // The client would keep its connection, which holds nothing any more.
      await stopped;
    });

    it('does not wait for connections at rest after an answer', async () => {
      const listener = await start(hello);
      await text(await get(listener.url));
      await listener.stop(longGrace);
    });

    it('does not wait for connections that never asked for anything', async () => {
      const listener = await start(hello);
      const socket = connect(listener.port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      // Behind it in the backlog: when this one is answered, the silent one has been accepted.
      await text(await get(listener.url));
      await listener.stop(longGrace);
      socket.destroy();
    });

    it('cuts what is not answered in time', async () => {
      let arrived = false;
      const listener = await start(() => {
        arrived = true;
      });
      const answer = rejection(get(listener.url));
      await eventually('the request arrived', () => arrived);
      await listener.stop(50);
      expect(await answer).to.include({ code: 'ECONNRESET' });
    });
  });
};

describe('platform: listener', suite(null));
describe(
  'platform: listener with a lane',
  suite(() => () => false),
);
