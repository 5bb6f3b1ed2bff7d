import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** The response of a receiver. @param request the first bytes that it received, as Latin-1 */
export type Respond = (socket: Socket, request: string) => void;

/** A TCP server that records its connections. */
export interface RawListener {
  readonly port: number;
  readonly connections: readonly string[];
  readonly open: number;
  /** The first bytes of each connection that sent some. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

export const listen = async (host: string, respond: Respond): Promise<RawListener> => {
  const connections: string[] = [];
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connections.push((socket.localAddress ?? '').replace('::ffff:', ''));
    sockets.add(socket);
    // The client may reset a connection.
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.once('data', (data) => {
      const request = data.toString('latin1');
      requests.push(request);
      respond(socket, request);
    });
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connections,
    requests,
    get open() {
      return sockets.size;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
