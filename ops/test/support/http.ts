import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import pLimit from 'p-limit';
import { hasCode } from '../../platform/errors.js';

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text and bytes are sent unchanged, other values as JSON with its content type. */
  readonly body?: unknown;
  /** 30,000 ms by default. */
  readonly timeoutMs?: number;
  /** The address of the client, in 127.0.0.0/8. */
  readonly localAddress?: string;
  /** Do not use an idle connection. */
  readonly newConnection?: boolean;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body, for images. */
  readonly bytes: Buffer;
  /** @throws SyntaxError if the body is not JSON */
  json(): unknown;
}

/** Hundreds of open connections, so that requests race in the server and not in the client. */
const agent = new Agent({ keepAlive: true, maxSockets: 1_000, maxFreeSockets: 1_000 });

const bytesOf = (body: unknown): string | Buffer | undefined =>
  body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
    ? body
    : JSON.stringify(body);

/** Parts of a URL; the path is unchanged, while the URL parser would resolve `..`. */
const parseTarget = (url: string): { host: string; port: string; path: string } => {
  const { hostname: host, port, origin } = new URL(url);
  return { host, port, path: url.slice(origin.length) || '/' };
};

/**
 * Sends one request, without a retry, and reads the whole response. Redirects are not followed. The path of `url` is
 * sent unchanged.
 */
export const sendRequest = (url: string, options: RequestOptions = {}): Promise<HttpResponse> =>
  new Promise((resolve, reject) => {
    const { method = 'GET', timeoutMs = 30_000, localAddress, newConnection = false } = options;
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
    const request = httpRequest(
      {
        ...parseTarget(url),
        agent: newConnection ? false : agent,
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
    request.on('timeout', () => {
      const late = new Error(`${method} ${url}: no response within ${timeoutMs} ms`);
      request.destroy(Object.assign(late, { code: 'ETIMEDOUT' }));
    });
    request.on('error', reject);
    request.end(body);
  });

/** Sends a repeatable request again, on a new connection, if the server has just closed the idle one. */
export const sendRepeatable = async (
  url: string,
  options: RequestOptions = {},
): Promise<HttpResponse> => {
  try {
    return await sendRequest(url, options);
  } catch (error) {
    if (!hasCode(error, 'ECONNRESET')) throw error;
    return sendRequest(url, { ...options, newConnection: true });
  }
};

/** Calls `run` with 0 to `count` - 1, 50 at a time: on a busy machine, more would not get their response within 1.8 s. */
export const concurrently = <Value>(
  count: number,
  run: (index: number) => Promise<Value>,
): Promise<Value[]> => {
  const limited = pLimit(50);
  return Promise.all(Array.from({ length: count }, (_, index) => limited(run, index)));
};

/** The number of responses by status. */
export const statuses = (
  responses: readonly Pick<HttpResponse, 'status'>[],
): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};
