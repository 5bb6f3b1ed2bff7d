import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is when it is text or bytes, otherwise as JSON with its content type. */
  readonly body?: unknown;
  /** Milliseconds until the actor gives up; 30,000. */
  readonly timeoutMs?: number;
  /** Of the client; any address of 127.0.0.0/8. */
  readonly localAddress?: string;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as it came: an image is no text. */
  readonly bytes: Buffer;
  /** @throws SyntaxError when the body is not JSON. */
  json(): unknown;
}

/** Hundreds of connections at once, each used again: a race is to be one in the server. */
const agent = new Agent({ keepAlive: true, maxSockets: 1_000, maxFreeSockets: 1_000 });

const bytesOf = (body: unknown): string | Buffer | undefined =>
  body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
    ? body
    : JSON.stringify(body);

/** Parts of a URL; the path as it is, where the URL parser would resolve `..` and the like. */
const targetOf = (url: string): { host: string; port: string; path: string } => {
  const { hostname: host, port, origin } = new URL(url);
  return { host, port, path: url.slice(origin.length) || '/' };
};

/**
 * One request, answered in full; never repeated, and redirects are not followed. `url` begins with an
 * origin as a product's ready line has it, and its path is sent without any change.
 */
export const sendRequest = (url: string, options: RequestOptions = {}): Promise<HttpResponse> =>
  new Promise((resolve, reject) => {
    const { method = 'GET', timeoutMs = 30_000, localAddress } = options;
    const body = bytesOf(options.body);
    const headers: Record<string, string | number> = {
      ...(typeof options.body === 'object' &&
        !Buffer.isBuffer(options.body) && { 'Content-Type': 'application/json' }),
      ...(body !== undefined &&
        options.headers?.['Transfer-Encoding'] === undefined && {
          'Content-Length': Buffer.byteLength(body),
        }),
      ...options.headers,
    };
    const asked = httpRequest(
      {
        ...targetOf(url),
        agent,
        method,
        headers,
        timeout: timeoutMs,
        ...(localAddress !== undefined && { localAddress }),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(chunks);
          const text = bytes.toString('utf8');
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            bytes,
            json: () => JSON.parse(text) as unknown,
          });
        });
      },
    );
    asked.on('timeout', () => {
      const late = new Error(`${method} ${url} was not answered within ${timeoutMs} ms`);
      asked.destroy(Object.assign(late, { code: 'ETIMEDOUT' }));
    });
    asked.on('error', reject);
    asked.end(body);
  });

/** All at once: what `make` gives for 0 to `count` - 1, in that order. */
export const concurrently = <Value>(
  count: number,
  make: (index: number) => Promise<Value>,
): Promise<Value[]> => Promise.all(Array.from({ length: count }, (_, index) => make(index)));

/** How often each status was answered. */
export const statuses = (answers: readonly HttpResponse[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};
