/** A server that speaks the API of another URL shortener, for tests. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SourceApi, type SourceApiOptions } from '../source-api.js';

export interface ApiRequest {
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  /** The number of the request, from 1. */
  readonly count: number;
}

export interface ApiResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, or as it is if it is a text. */
  readonly body?: unknown;
}

/** The response, or a function that sends it. */
export type ApiReply = ApiResponse | ((response: ServerResponse) => void);

/** Collects the requests, as path and query. @param reply the reply to a request */
export const startApiServer = async (reply: (request: ApiRequest) => ApiReply) => {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    requests.push(`${url.pathname}${url.search}`);
    const result = reply({ url, headers: request.headers, count: requests.length });
    if (typeof result === 'function') {
      result(response);
      return;
    }
    const { status = 200, headers = {}, body = {} } = result;
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const notices: string[] = [];
  return {
    host,
    requests,
    /** Reported notices, with `HOST` in place of the host. */
    notices,
    connect: (options: Partial<SourceApiOptions> = {}): SourceApi =>
      new SourceApi({
        service: 'the service',
        url: new URL(`http://${host}`),
        headers: { 'X-Api-Key': 'the-key' },
        signal: new AbortController().signal,
        report: (notice) => notices.push(notice.replaceAll(host, 'HOST')),
        pauses: { firstMs: 1, longestMs: 1 },
        ...options,
      }),
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
};

export type ApiServer = Awaited<ReturnType<typeof startApiServer>>;

export const collect = async (lines: AsyncIterable<string>): Promise<readonly string[]> => {
  const collected: string[] = [];
  for await (const line of lines) collected.push(line);
  return collected;
};
