import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ReceivedRequest {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** A website that links redirect to. */
export const startDestination = async () => {
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
    /** Oldest first. */
    requests,
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

export type Destination = Awaited<ReturnType<typeof startDestination>>;
