import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { issueKey, type Product } from './product.js';

/** Streams that one root key may have. */
export const streamsOfKey = 10;

/** Opens streams of the feed on raw connections, with default types, from now on. */
export const openStreams = async (
  product: Pick<Product, 'api' | 'admin' | 'adminToken'>,
  count: number,
  account = 'default',
) => {
  const { hostname, port } = new URL(product.api);
  const latencies: number[] = [];
  const sockets: Socket[] = [];
  for (let opened = 0; opened < count; opened += streamsOfKey) {
    const { key } = await issueKey(product, { plan: 'PRO', account });
    const started = Array.from({ length: Math.min(streamsOfKey, count - opened) }, async () => {
      const socket = connect({ host: hostname, port: Number(port) });
      sockets.push(socket);
      await once(socket, 'connect');
      socket.write(
        `GET /v2/events?types=LinkCreated HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n` +
          'Accept: text/event-stream\r\n\r\n',
      );
      const [head] = (await once(socket, 'data')) as [Buffer];
      if (!head.toString().startsWith('HTTP/1.1 200 ')) throw new Error(head.toString());
      socket.setEncoding('utf8').on('data', (text: string) => {
        for (const [, time = ''] of text.matchAll(/^data: .*?"type":.*?"time":"([^"]+)"/gm)) {
          latencies.push(Date.now() - Date.parse(time));
        }
      });
    });
    await Promise.all(started);
  }
  return {
    /** How late events were received (ms). */
    latencies,
    close(): void {
      for (const socket of sockets) socket.destroy();
    },
  };
};
