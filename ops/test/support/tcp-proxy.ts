import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A relay before a server, which a test may interrupt where no server would. */
export interface TcpProxy {
  /** The server's URL with this relay's address in it. */
  readonly url: string;
  /** Connections that are open now. */
  connections(): number;
  /** From now on, new connections are taken and nothing is passed on until `resume`. */
  pause(): void;
  resume(): void;
  /** From now on, what a client sends passes here first; `cut` ends both sides, unsent. */
  inspect(look: ((chunk: Buffer, cut: () => void) => void) | null): void;
  /** From now on, nothing that the server sends reaches a client until `cut`. */
  mute(): void;
  /** Ends every connection; new ones are as at the start. */
  cut(): void;
  close(): Promise<void>;
}

export const startTcpProxy = async (serverUrl: string): Promise<TcpProxy> => {
  const url = new URL(serverUrl);
  const target = { host: url.hostname, port: Number(url.port) };
  const open = new Set<Socket>();
  const paused: (() => void)[] = [];
  let isPaused = false;
  let isMuted = false;
  let look: ((chunk: Buffer, cut: () => void) => void) | null = null;

  const relay = (client: Socket): void => {
    const upstream = connect(target);
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', cut);
      socket.on('close', cut);
    }
    client.on('data', (chunk: Buffer) => {
      look?.(chunk, cut);
      if (!client.destroyed) upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (!isMuted) client.write(chunk);
    });
  };

  const server = createServer((client) => {
    open.add(client);
    client.on('close', () => open.delete(client));
    client.on('error', () => client.destroy());
    if (isPaused)
      paused.push(() => {
        relay(client);
      });
    else relay(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);

  return {
    url: url.href,
    connections: () => open.size,
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      for (const start of paused.splice(0)) start();
    },
    inspect(next) {
      look = next;
    },
    mute() {
      isMuted = true;
    },
    cut() {
      for (const socket of open) socket.destroy();
      isMuted = false;
    },
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};
