import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { deferred, type Deferred } from '../platform/concurrency/deferred.js';
import { installFastPath, type PlainRequest } from './fast-path.js';

const day = 86_400_000;

describe('platform: fast path', () => {
  let server: Server;
  let requests: PlainRequest[];
  /** Delays the responses. */
  let delay: Deferred<void> | null;
  const start = async (times: { firstByteMs: number; keepAliveMs: number }): Promise<void> => {
    requests = [];
    delay = null;
    server = createServer();
    const open = (_: Socket, respond: (head: string) => void) => (request: PlainRequest) => {
      requests.push(request);
      const send = (): void => {
        respond('HTTP/1.1 204 No Content\r\n');
      };
      if (delay) void delay.promise.then(send);
      else send();
      return true;
    };
    installFastPath({ server, open, ...times });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  };
  const open = async (): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
  const get = async (socket: Socket, url: string, agent: string): Promise<IncomingHttpHeaders> => {
    socket.write(`GET ${url} HTTP/1.1\r\nHost: a\r\nUser-Agent: ${agent}\r\n\r\n`);
    await once(socket, 'data');
    const last = requests.at(-1);
    const [name, query = ''] = url.slice(1).split('?');
    expect(last).to.include({ name, query });
    expect(last?.headers).to.deep.equal({ host: 'a', 'user-agent': agent });
    return last?.headers ?? {};
  };
  afterEach(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });

  it('closes a connection without a request', async () => {
    await start({ firstByteMs: 1, keepAliveMs: day });
    const socket = await open();
    await once(socket.resume(), 'close');
  });

  it('closes a connection that is idle after a response', async () => {
    await start({ firstByteMs: day, keepAliveMs: 1 });
    const socket = await open();
    await get(socket, '/a', 'x');
    await once(socket, 'close');
  });

  it('does not close a connection with a request in progress', async () => {
    await start({ firstByteMs: 1, keepAliveMs: 1 });
    const [waiting, idle] = [await open(), await open()];
    delay = deferred();
    waiting.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
    // One sweep checks both connections.
    await once(idle.resume(), 'close');
    delay.resolve();
    const [response] = (await once(waiting, 'data')) as [Buffer];
    expect(response.toString()).to.match(/^HTTP\/1\.1 204 /);
  });
});
