import { connect, type Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';

/** A socket factory of a client, whose sockets a test can destroy. */
export interface CuttableSockets {
  readonly factory: ISocketFactory;
  /** Destroys all sockets; new ones are possible. */
  cut(): void;
  /** Destroys all present and future sockets, like the end of the process. */
  kill(): void;
}

export const cuttableSockets = (): CuttableSockets => {
  const sockets = new Set<Socket>();
  let killed = false;
  const cut = (): void => {
    for (const socket of sockets) {
      socket.destroy(Object.assign(new Error('connection cut'), { code: 'ECONNRESET' }));
    }
  };
  return {
    factory({ host, port, onConnect }) {
      const socket = connect({ host, port }, onConnect);
      socket.setKeepAlive(true, 60_000);
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      if (killed) socket.destroy(new Error('process killed'));
      return socket;
    },
    cut,
    kill() {
      killed = true;
      cut();
    },
  };
};
