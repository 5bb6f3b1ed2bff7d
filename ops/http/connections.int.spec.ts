import { expect } from 'chai';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { eventually } from '../test/support/waiting.js';
import { trustNone } from './client-address.js';
import { allowStall, OpenConnections } from './connections.js';

describe('platform: stalled connections', () => {
  let server: Server;
  let connections: OpenConnections;
  let client: Socket;
  let socket: Socket;

  beforeEach(async () => {
    connections = new OpenConnections(trustNone);
    server = createServer((accepted) => connections.add(accepted)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
    client.on('error', () => undefined);
    const [accepted] = (await once(server, 'connection')) as [Socket];
    socket = accepted;
    socket.on('error', () => undefined);
  });

  afterEach(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });

  /** Writes more than the kernel accepts for a client that does not read. */
  const fill = async (): Promise<void> => {
    socket.write(Buffer.alloc(64 * 1_024 * 1_024));
    let received = -1;
    await eventually('the kernel accepts no more bytes', async () => {
      const before = received;
      await new Promise((resolve) => setTimeout(resolve, 50));
      received = queued();
      return before === received;
    });
  };
  const queued = (): number =>
    (socket as Socket & { readonly _handle: { readonly writeQueueSize: number } })._handle
      .writeQueueSize;

  it('are closed after 10 s', async () => {
    await fill();
    for (const now of [0, 5_000, 9_999]) connections.endStalled(now);
    expect(socket.destroyed).to.equal(false);
    connections.endStalled(10_000);
    await once(socket, 'close');
    expect(socket.destroyed).to.equal(true);
  });

  it('are closed after the limit of their response', async () => {
    const response = new ServerResponse(new IncomingMessage(socket));
    response.assignSocket(socket);
    allowStall(response, 60_000);
    await fill();
    for (const now of [0, 10_000, 59_999]) connections.endStalled(now);
    expect(socket.destroyed).to.equal(false);
    connections.endStalled(60_000);
    await once(socket, 'close');
  });

  it('are not connections of a slow reader', async () => {
    await fill();
    connections.endStalled(0);
    const before = queued();
    client.resume();
    await eventually('the client reads', () => queued() < before);
    client.pause();
    connections.endStalled(10_000);
    expect(socket.destroyed).to.equal(false);
    connections.endStalled(19_999);
    expect(socket.destroyed).to.equal(false);
  });
});
