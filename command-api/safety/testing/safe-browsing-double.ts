import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Find {
  readonly client: { readonly clientId: string };
  readonly threatInfo: Readonly<
    Record<'threatTypes' | 'platformTypes' | 'threatEntryTypes', readonly string[]>
  > & { readonly threatEntries: readonly { readonly url: string }[] };
}

export interface FindRequest extends Readonly<Record<'method' | 'path' | 'contentType', string>> {
  readonly key: string | null;
  readonly body: Find;
}

export type Behaviour =
  /** Like Google's service. Hosts with `evil` in their name match. */
  | 'answer'
  /** Never responds. */
  | 'hang'
  /** Sends only the head of the response. */
  | 'stall'
  | 'fail'
  | 'malformed'
  | 'otherJson'
  | 'otherUrl'
  | 'redirect'
  /** Closes the connection. */
  | 'reset'
  /** Closes the connection once. */
  | 'resetOnce';

export interface SafeBrowsingDouble {
  readonly url: string;
  readonly asked: FindRequest[];
  behaviour: Behaviour;
  /** Of matches; `undefined`: absent. */
  cacheDuration: string | undefined;
  /** Other hosts that match. */
  readonly listed: Set<string>;
  /** The delay of responses (ms). */
  delayMs: number;
  /** The requested URLs, per call. */
  urls(): string[][];
  /** The maximum of concurrent requests. */
  maxConcurrent(): number;
  stop(): Promise<void>;
}

const matchOf = (url: string, cacheDuration: string | undefined): object => ({
  ...{ threatType: 'SOCIAL_ENGINEERING', platformType: 'ANY_PLATFORM', threatEntryType: 'URL' },
  ...{ threat: { url }, cacheDuration },
});

const wrongAnswers = {
  fail: [500, '{"error":{"code":500}}'],
  malformed: [200, '<html>{"matches":[]}'],
  otherJson: [200, '{"matches":[{"threat":"https://evil.example/"}]}'],
  otherUrl: [200, JSON.stringify({ matches: [matchOf('https://other.example/', '300s')] })],
} as const;

/** A local server with the protocol of Safe Browsing v4, and with its failures. */
export const startSafeBrowsingDouble = async (): Promise<SafeBrowsingDouble> => {
  const asked: FindRequest[] = [];
  let open = 0;
  let most = 0;
  const server = createServer((request, response) => {
    open += 1;
    most = Math.max(most, open);
    response.once('close', () => {
      open -= 1;
    });
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Find;
      asked.push({
        method: request.method ?? '',
        path: pathname,
        key: searchParams.get('key'),
        contentType: request.headers['content-type'] ?? '',
        body,
      });
      const send = (status: number, text: string): void => {
        setTimeout(() => {
          response.writeHead(status, { 'Content-Type': 'application/json' }).end(text);
        }, double.delayMs);
      };
      const urls = body.threatInfo.threatEntries.map(({ url }) => url);
      const evil = urls.filter((url) => {
        const { hostname } = new URL(url);
        return hostname.includes('evil') || double.listed.has(hostname);
      });
      const matches = evil.map((url) => matchOf(url, double.cacheDuration));
      const { behaviour } = double;
      switch (behaviour) {
        case 'answer':
          send(200, JSON.stringify(matches.length > 0 ? { matches } : {}));
          break;
        case 'hang':
          break;
        case 'stall':
          response.writeHead(200, { 'Content-Type': 'application/json' });
          response.write('{');
          break;
        case 'redirect':
          response.writeHead(307, { Location: '/elsewhere' }).end();
          break;
        case 'resetOnce':
        case 'reset':
          if (behaviour === 'resetOnce') double.behaviour = 'answer';
          request.socket.destroy();
          break;
        case 'fail':
        case 'malformed':
        case 'otherJson':
        case 'otherUrl': {
          const [status, text] = wrongAnswers[behaviour];
          send(status, text);
        }
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const double: SafeBrowsingDouble = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    behaviour: 'answer',
    cacheDuration: '300.000s',
    listed: new Set(),
    delayMs: 0,
    urls: () => asked.map(({ body }) => body.threatInfo.threatEntries.map((entry) => entry.url)),
    maxConcurrent: () => most,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
  return double;
};
