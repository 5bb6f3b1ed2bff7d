import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedRequest {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** A website that links redirect to. */
export interface Destination {
  readonly port: number;
  /** Oldest first. */
  readonly requests: ReceivedRequest[];
  close(): Promise<void>;
}

export const startDestination = async (): Promise<Destination> => {
  const requests: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request;
    if (path !== '/favicon.ico') requests.push({ method, host: headers.host ?? '', path, headers });
    response.setHeader('Content-Type', 'text/html').end('<title>Arrived</title><h1>Arrived</h1>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
