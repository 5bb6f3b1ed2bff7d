import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import type { FeedEvent } from './feed-event.js';
import { fixture } from './fixture.js';

/** The request of a delivery. */
export interface ReceivedDelivery {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The webhook-id. */
  readonly id: string;
  /** Whether the body is an array. */
  readonly isBatch: boolean;
  readonly events: readonly FeedEvent[];
}

/** A response to a delivery; `silent`: none until the receiver closes. */
export type ScriptedResponse =
  | 'silent'
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    };

/** A path of a receiver. */
export interface Hook {
  readonly url: string;
  /** Oldest first. */
  readonly deliveries: readonly ReceivedDelivery[];
  /** The events of all deliveries, in order. */
  readonly events: readonly FeedEvent[];
  /** Sets the next responses; the last one is repeated. 204 without a script. */
  respond(...responses: readonly (ScriptedResponse | number)[]): void;
}

/** A server on loopback that webhooks deliver to. */
interface Receiver {
  readonly port: number;
  /** A new path. */
  hook(): Hook;
  close(): Promise<void>;
}

const toDelivery = ({ method = '', headers }: IncomingMessage, body: string): ReceivedDelivery => {
  const parsed = JSON.parse(body) as FeedEvent | readonly FeedEvent[];
  const isBatch = Array.isArray(parsed);
  return {
    ...{ method, headers, body, id: String(headers['webhook-id']), isBatch },
    events: isBatch ? (parsed as readonly FeedEvent[]) : [parsed as FeedEvent],
  };
};

/** Whether a delivery has a valid signature of the secret. */
export const isSignedWith = (secret: string, { headers, body }: ReceivedDelivery): boolean => {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
};

interface HookState {
  readonly deliveries: ReceivedDelivery[];
  script: readonly ScriptedResponse[];
}

const startReceiver = async (): Promise<Receiver> => {
  const hooks = new Map<string, HookState>();
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const hook = hooks.get(request.url ?? '');
      if (!hook) {
        response.writeHead(404).end();
        return;
      }
      hook.deliveries.push(toDelivery(request, body));
      const [next = { status: 204 }, ...later] = hook.script;
      if (later.length > 0) hook.script = later;
      if (next !== 'silent') response.writeHead(next.status, next.headers).end(next.body);
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    port,
    hook() {
      const path = `/hook-${hooks.size + 1}`;
      const state: HookState = { deliveries: [], script: [] };
      hooks.set(path, state);
      return {
        url: `http://127.0.0.1:${port}${path}`,
        deliveries: state.deliveries,
        get events() {
          return state.deliveries.flatMap(({ events }) => events);
        },
        respond(...responses) {
          state.script = responses.map((response) =>
            typeof response === 'number' ? { status: response } : response,
          );
        },
      };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

export const receiverFixture = (): Receiver =>
  fixture(
    () => startReceiver(),
    (receiver) => receiver.close(),
  );
