import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * A network failure. `silent`: bytes and ends of connections are dropped, and a connection that lost bytes stays silent.
 * `slow`: latency, each way. `half-open`: the server side of connections is closed without notice to the
 * clients; new connections are alternately reset and delayed.
 */
export type Disturbance = 'silent' | 'slow' | 'half-open';

/** Runs functions in order, each after its delay, or earlier if a later one is due. */
const createQueue = () => {
  const waiting: (() => void)[] = [];
  return (delayMs: number, act: () => void): void => {
    if (delayMs === 0 && waiting.length === 0) {
      act();
      return;
    }
    waiting.push(act);
    setTimeout(() => waiting.shift()?.(), delayMs);
  };
};

/** A client's connection, and the connection to the server. */
interface Relay {
  /** Closes the server side without notice to the client. */
  halve(): void;
  /** Forwards a close that a silent network dropped. */
  forwardClose(): void;
}

/** Starts a TCP proxy with network failures. */
export const startTcpProxy = async (serverUrl: string) => {
  const url = new URL(serverUrl);
  const target = { host: url.hostname, port: Number(url.port) };
  const open = new Set<Socket>();
  const waiting: (() => void)[] = [];
  let isPaused = false;
  let isMuted = false;
  let inspector: ((chunk: Buffer, cut: () => void) => void) | null = null;
  let disturbance: Disturbance | null = null;
  let latencyMs = 0;
  const relays = new Set<Relay>();
  let refused = 0;

  const relay = (client: Socket): void => {
    if (client.destroyed) return;
    const upstream = connect(target);
    /** `lost`: bytes were dropped. `halved`: open only for the client. */
    let state: 'whole' | 'lost' | 'halved' = 'whole';
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
      relays.delete(current);
    };
    const current: Relay = {
      halve() {
        state = 'halved';
        upstream.destroy();
      },
      forwardClose() {
        if (client.destroyed || (upstream.destroyed && state === 'whole')) cut();
      },
    };
    relays.add(current);

    const pass = (from: Socket, to: Socket, isPassed: (chunk: Buffer) => boolean): void => {
      const queue = createQueue();
      const delayMs = (): number => (disturbance === 'slow' ? latencyMs : 0);
      from.setNoDelay(true);
      from.on('data', (chunk: Buffer) => {
        if (state === 'halved' && disturbance === null) client.resetAndDestroy();
        if (state === 'whole' && disturbance === 'silent') state = 'lost';
        if (state !== 'whole' || !isPassed(chunk)) return;
        queue(delayMs(), () => to.write(chunk));
      });
      from.on('error', () => from.destroy());
      from.on('close', () => {
        if (disturbance === 'silent' || (state !== 'whole' && from === upstream)) return;
        queue(delayMs(), cut);
      });
    };
    pass(client, upstream, (chunk) => {
      inspector?.(chunk, cut);
      return !client.destroyed;
    });
    pass(upstream, client, () => !isMuted);
  };

  /** The treatment of a new connection. */
  const judge = (): 'wait' | 'reset' | 'relay' => {
    if (isPaused || disturbance === 'silent') return 'wait';
    if (disturbance !== 'half-open') return 'relay';
    refused += 1;
    return refused % 2 === 0 ? 'wait' : 'reset';
  };
  const server = createServer((client) => {
    open.add(client);
    client.on('close', () => open.delete(client));
    client.on('error', () => client.destroy());
    const verdict = judge();
    if (verdict === 'reset') client.resetAndDestroy();
    else if (verdict === 'relay') relay(client);
    else
      waiting.push(() => {
        relay(client);
      });
  });
  const relayWaiting = (): void => {
    for (const start of waiting.splice(0)) start();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);

  return {
    /** The URL of the server with the address of the proxy. */
    url: url.href,
    /** The number of open connections. */
    connections: () => open.size,
    /** Delays new connections until `resume`. */
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      relayWaiting();
    },
    /** Inspects chunks from clients; `cut` closes both sides before the chunk is sent. */
    inspect(next: typeof inspector) {
      inspector = next;
    },
    /** Starts a network failure, until `mend`. @param slowMs latency of `slow`, each way */
    disturb(how: Disturbance, slowMs = 200) {
      disturbance = how;
      latencyMs = slowMs;
      if (how === 'half-open') for (const connection of relays) connection.halve();
    },
    mend() {
      disturbance = null;
      for (const connection of relays) connection.forwardClose();
      relayWaiting();
    },
    /** Drops all bytes of the server until `cut`. */
    mute() {
      isMuted = true;
    },
    /** Closes all connections, and ends `mute`. */
    cut() {
      for (const socket of open) socket.destroy();
      isMuted = false;
    },
    async close(): Promise<void> {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;
