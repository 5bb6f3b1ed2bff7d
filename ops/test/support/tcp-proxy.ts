import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * How a network fails. `silent`: bytes and ends of connections are taken and go nowhere, and a connection
 * that has lost bytes stays silent for good. `slow`: each byte takes 200 ms longer, each way. `half-open`:
 * the server has forgotten its connections, and the clients have not heard of that; new connections are
 * reset and kept waiting in turn.
 */
export type Disturbance = 'silent' | 'slow' | 'half-open';

const slowMs = 200;

/** Does one thing after the other, each after its delay, or sooner where a later one is due. */
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

/** A client's connection and its own to the server. */
interface Relay {
  /** The server's side ends, and the client hears nothing of it. */
  halve(): void;
  /** Passes on an end that a silent network held back. */
  settle(): void;
}

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
  /** From now on, connections fail in this way, until `mend`. */
  disturb(how: Disturbance): void;
  mend(): void;
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
  const waiting: (() => void)[] = [];
  let isPaused = false;
  let isMuted = false;
  let look: ((chunk: Buffer, cut: () => void) => void) | null = null;
  let disturbance: Disturbance | null = null;
  const relays = new Set<Relay>();
  let refused = 0;

  const relay = (client: Socket): void => {
    if (client.destroyed) return;
    const upstream = connect(target);
    /** `lost`: bytes went nowhere. `halved`: only the client takes it for open. */
    let state: 'whole' | 'lost' | 'halved' = 'whole';
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
      relays.delete(one);
    };
    const one: Relay = {
      halve() {
        state = 'halved';
        upstream.destroy();
      },
      settle() {
        if (client.destroyed || (upstream.destroyed && state === 'whole')) cut();
      },
    };
    relays.add(one);

    const pass = (from: Socket, to: Socket, isPassed: (chunk: Buffer) => boolean): void => {
      const queue = createQueue();
      const delayMs = (): number => (disturbance === 'slow' ? slowMs : 0);
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
      look?.(chunk, cut);
      return !client.destroyed;
    });
    pass(upstream, client, () => !isMuted);
  };

  /** Whether a new connection is to wait, to be reset, or to be relayed. */
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
  const letIn = (): void => {
    for (const start of waiting.splice(0)) start();
  };
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
      letIn();
    },
    inspect(next) {
      look = next;
    },
    disturb(how) {
      disturbance = how;
      if (how === 'half-open') for (const one of relays) one.halve();
    },
    mend() {
      disturbance = null;
      for (const one of relays) one.settle();
      letIn();
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
