import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { deferred, type Deferred } from '../platform/concurrency/deferred.js';
import { createLane, type PlainRequest } from './fast-path.js';

const day = 86_400_000;

describe('platform: lane', () => {
  let server: Server;
  let asked: PlainRequest[];
  /** Until then, no answer. */
  let held: Deferred<void> | null;
  const start = async (times: { firstByteMs: number; keepAliveMs: number }): Promise<void> => {
    asked = [];
    held = null;
    server = createServer();
    const open = (_: Socket, answer: (head: string) => void) => (request: PlainRequest) => {
      asked.push(request);
      if (held)
        void held.promise.then(() => {
          answer('HTTP/1.1 204 No Content\r\n');
        });
      else answer('HTTP/1.1 204 No Content\r\n');
      return true;
    };
    createLane({ server, open, ...times });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  };
  const open = async (): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
  const ask = async (socket: Socket, url: string, agent: string): Promise<IncomingHttpHeaders> => {
    socket.write(`GET ${url} HTTP/1.1\r\nHost: a\r\nUser-Agent: ${agent}\r\n\r\n`);
    await once(socket, 'data');
    const last = asked.at(-1);
    const [name, query = ''] = url.slice(1).split('?');
    expect(last).to.include({ name, query });
    expect(last?.headers).to.deep.equal({ 'user-agent': agent });
    return last?.headers ?? {};
  };
  afterEach(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });

  it('ends a connection that asks for nothing', async () => {
    await start({ firstByteMs: 1, keepAliveMs: day });
    const socket = await open();
    await once(socket.resume(), 'close');
  });

  it('ends a connection that asks for nothing more', async () => {
    await start({ firstByteMs: day, keepAliveMs: 1 });
    const socket = await open();
    await ask(socket, '/a', 'x');
    await once(socket, 'close');
  });

  it('lets a request wait for its answer', async () => {
    await start({ firstByteMs: 1, keepAliveMs: 1 });
    const [waiting, idle] = [await open(), await open()];
    held = deferred();
    waiting.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(idle.resume(), 'close');
    // The sweep that ended it has looked at all of them.
    held.resolve();
    const [answer] = (await once(waiting, 'data')) as [Buffer];
    expect(answer.toString()).to.match(/^HTTP\/1\.1 204 /);
  });

  it('gives the headers of a connection as one object while they are the same', async () => {
    await start({ firstByteMs: day, keepAliveMs: day });
    const [one, other] = [await open(), await open()];
    const first = await ask(one, '/a', 'x');
    expect(await ask(one, '/longer?b=c', 'x')).to.equal(first);
    expect(await ask(one, '/a', 'y')).to.not.equal(first);
    expect(await ask(one, '/a', 'xy')).to.not.equal(first);
    expect(await ask(other, '/a', 'x')).to.not.equal(first);
    one.destroy();
    other.destroy();
  });
});
