import { expect } from 'chai';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage, type RequestListener } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { rejection } from '../testing/failures.js';
import { eventually, gate } from '../testing/waiting.js';
import { ConfigError } from './config.js';
import { listen, type Listener } from './http-server.js';

const anyPort = { host: '127.0.0.1', port: 0 };
/** Far more than any test takes: only what must be cut waits for it. */
const longGrace = 20_000;

describe('a listener', () => {
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

  const start = async (handler: RequestListener, where = anyPort): Promise<Listener> => {
    const listener = await listen('API', where, () => handler);
    stops.push(() => listener.stop(0));
    return listener;
  };

  const get = async (url: string): Promise<IncomingMessage> => {
    const [response] = (await once(request(url, { agent }).end(), 'response')) as [IncomingMessage];
    return response;
  };

  const hello: RequestListener = (_, response) => response.end('hello');

  const elapsed = async (promise: Promise<void>): Promise<number> => {
    const begin = performance.now();
    await promise;
    return performance.now() - begin;
  };

  it('tells its handler and its caller where it can be reached', async () => {
    let told: unknown;
    const listener = await listen('EDGE', anyPort, (bound) => {
      told = bound;
      return hello;
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

  it('on a port in use is a ConfigError that names the variable', async () => {
    const { port } = await start(hello);
    for (const name of ['API', 'EDGE', 'ADMIN'] as const) {
      const error = await rejection(listen(name, { host: '127.0.0.1', port }, () => hello));
      expect(error).to.be.instanceOf(ConfigError);
      expect((error as Error).message).to.match(
        new RegExp(`^${name}_PORT ${port} is in use[^\n]*$`),
      );
    }
  });

  it('on an address of another machine is a ConfigError that names the variable', async () => {
    const error = await rejection(listen('EDGE', { host: '192.0.2.1', port: 0 }, () => hello));
    expect(error).to.be.instanceOf(ConfigError);
    expect((error as Error).message).to.match(/^HOST or EDGE_HOST: 192\.0\.2\.1 /);
  });

  describe('when it is stopped', () => {
    it('answers what is in flight, refuses new connections, and then ends', async () => {
      const held = gate();
      let arrived = false;
      const listener = await start((_, response) => {
        arrived = true;
        void held.opened.then(() => response.end('late'));
      });
      const answer = get(listener.url);
      await eventually('the request arrived', () => arrived);
      const stopped = listener.stop(longGrace);
      const refused = connect(listener.port, '127.0.0.1');
      const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException];
      expect(error.code).to.equal('ECONNREFUSED');
      held.open();
      expect(await text(await answer)).to.equal('late');
      // The client would keep its connection, which holds nothing any more.
      expect(await elapsed(stopped)).to.be.below(3_000);
    });

    it('does not wait for connections at rest after an answer', async () => {
      const listener = await start(hello);
      await text(await get(listener.url));
      expect(await elapsed(listener.stop(longGrace))).to.be.below(3_000);
    });

    it('does not wait for connections that never asked for anything', async () => {
      const listener = await start(hello);
      const socket = connect(listener.port, '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      // Behind it in the backlog: when this one is answered, the silent one has been accepted.
      await text(await get(listener.url));
      expect(await elapsed(listener.stop(longGrace))).to.be.below(3_000);
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
});
