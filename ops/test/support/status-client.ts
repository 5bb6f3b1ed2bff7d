import { connect } from 'node:net';

/** A connection that pipelines requests and reads only status lines, so that the load costs little CPU time. */
interface StatusClient {
  /** Requests without a response. */
  readonly pending: () => number;
  /** Sends the text of a request. @returns the status of its response, or `lost` */
  send(request: string): Promise<string>;
  close(): void;
}

export const openStatusClient = (
  url: string,
  onClose: (client: StatusClient) => void = () => undefined,
): StatusClient => {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), noDelay: true });
  const waiting: ((status: string) => void)[] = [];
  let rest = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    const text = rest + chunk;
    let end = 0;
    for (const match of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
      waiting.shift()?.(match[1] ?? '');
      end = match.index + match[0].length;
    }
    // A chunk can end within a status line.
    rest = text.slice(Math.max(end, text.length - 16));
  });
  socket.on('error', () => undefined);
  const client: StatusClient = {
    pending: () => waiting.length,
    send(request) {
      if (socket.destroyed) return Promise.resolve('lost');
      socket.write(request);
      return new Promise((resolve) => waiting.push(resolve));
    },
    close: () => socket.destroy(),
  };
  socket.on('close', () => {
    onClose(client);
    for (const resolve of waiting.splice(0)) resolve('lost');
  });
  return client;
};
