import { connect, type Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';

/** How a client's sockets are made, and how a test takes them away. */
export interface CuttableSockets {
  readonly factory: ISocketFactory;
  /** Ends them without a word; new ones may be made. */
  cut(): void;
  /** Ends them for good, as the end of their process does. */
  kill(): void;
}

export const cuttableSockets = (): CuttableSockets => {
  const sockets = new Set<Socket>();
  let killed = false;
  const cut = (): void => {
    for (const socket of sockets) {
      socket.destroy(Object.assign(new Error('Cut'), { code: 'ECONNRESET' }));
    }
  };
  return {
    factory({ host, port, onConnect }) {
      const socket = connect({ host, port }, onConnect);
      socket.setKeepAlive(true, 60_000);
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      if (killed) socket.destroy(new Error('The process is gone'));
      return socket;
    },
    cut,
    kill() {
      killed = true;
      cut();
    },
  };
};
