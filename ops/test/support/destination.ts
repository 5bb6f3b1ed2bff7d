import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedRequest {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** A website of somebody else's, where links lead. */
export interface Destination {
  readonly port: number;
  /** Those who came, the first first. */
  readonly arrivals: ReceivedRequest[];
  close(): Promise<void>;
}

export const startDestination = async (): Promise<Destination> => {
  const arrivals: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request;
    if (path !== '/favicon.ico') arrivals.push({ method, host: headers.host ?? '', path, headers });
    response.setHeader('Content-Type', 'text/html').end('<title>Arrived</title><h1>Arrived</h1>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    arrivals,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
