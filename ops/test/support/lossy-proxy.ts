import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { buffer } from 'node:stream/consumers';
import type { Random } from './random.js';

/**
 * `dropped`: the request does not arrive, and its connection is closed. `cut`: the connection is closed before the
 * response, or after its start. `silent`: like `cut`, but the connection stays open, without further bytes. `delayed`: 50
 * to 300 ms. `duplicated`: the request arrives twice, and the second response returns.
 */
const faults = ['dropped', 'cut', 'silent', 'delayed', 'duplicated'] as const;

export type Fault = (typeof faults)[number];

/** Bytes of an endless response after which its connection is cut. */
const cutAfterBytes = 300_000;

/**
 * Starts an HTTP proxy in front of servers, alternately, that treats a part of the requests badly. A server that does not
 * respond cuts the connection of the client.
 *
 * @param share of the requests, 0 to 1
 */
export const startLossyProxy = async (
  targets: readonly string[],
  { random, share }: { readonly random: Random; readonly share: number },
) => {
  const counts: Record<Fault, number> = {
    ...{ dropped: 0, cut: 0, silent: 0, delayed: 0, duplicated: 0 },
  };
  let requests = 0;

  const send = async (
    { method = 'GET', url = '/', headers }: IncomingMessage,
    body: Buffer,
  ): Promise<IncomingMessage> => {
    requests += 1;
    const target = new URL(url, targets[requests % targets.length]);
    const sent = request(target, { method, headers: { ...headers, connection: 'close' } });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return response;
  };

  /** Sends a response back, at most this number of bytes, after which the connection is closed or silent. */
  const pass = async (
    received: IncomingMessage,
    response: ServerResponse,
    most: number,
    isSilent: boolean,
  ): Promise<void> => {
    const headers = Object.entries(received.headers).filter(
      ([name]) => !['transfer-encoding', 'connection'].includes(name),
    );
    response.writeHead(received.statusCode ?? 502, Object.fromEntries(headers)).flushHeaders();
    let left = most;
    for await (const chunk of received as AsyncIterable<Buffer>) {
      response.write(chunk.subarray(0, Math.max(0, left)));
      left -= chunk.length;
      if (left <= 0 || response.destroyed) break;
    }
    if (left > 0) response.end();
    else if (!isSilent) response.destroy();
  };

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(incoming);
    const isEndless = incoming.headers.accept === 'text/event-stream';
    const fault = random.between(0, 1) < share ? faults[random.below(faults.length)] : undefined;
    if (fault) counts[fault] += 1;
    if (fault === 'dropped') {
      response.destroy();
      return;
    }
    if (fault === 'delayed') await sleep(random.between(50, 300));
    const [first, second] = await Promise.all([
      send(incoming, body),
      fault === 'duplicated' && !isEndless ? send(incoming, body) : null,
    ]);
    if (second) first.resume();
    const isSilent = fault === 'silent';
    const isWhole = fault !== 'cut' && !isSilent;
    const most = isEndless ? cutAfterBytes : isWhole ? Infinity : 200;
    await pass(second ?? first, response, isWhole ? most : random.below(most), isSilent);
  };

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => {
      // The server was killed, or one of both sides left.
      response.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    /** The number of each fault. */
    counts: (): Readonly<Record<Fault, number>> => ({ ...counts }),
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
