import { once } from 'node:events';
import http, {
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import https, { type RequestOptions } from 'node:https';
import { isIP, type TcpNetConnectOpts } from 'node:net';
import { TLSSocket, type SecureContextOptions } from 'node:tls';
import { untilAborted } from '../concurrency/deferred.js';
import { hostOf, type NetworkGuard } from './network-guard.js';

type Outcome =
  | {
      readonly type: 'responded';
      readonly status: number;
      /** The header as received. */
      readonly retryAfter: string | null;
    }
  | { readonly type: 'failed'; readonly error: string };

export type PostOutcome = Outcome & { readonly durationMs: number };

export interface PostOptions {
  /** The time from the look-up of the name to the end of the response (ms). */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Sends a POST request. Follows no redirect. Never rejects. */
type GuardedPost = (
  url: URL,
  headers: OutgoingHttpHeaders,
  body: string | Buffer,
  options?: PostOptions,
) => Promise<PostOutcome>;

/** The longest part of a response's body that is read (bytes). */
const maxBodyBytes = 65_536;

/** Tries one address after the other, each for so many ms. Node's default of 250 is shorter than some round trips. */
const fallback: Pick<TcpNetConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'> = {
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: 2_500,
};

const closed = 'the connection was closed before a response';
const unreachable = 'the host is unreachable';

/** The descriptions of failures, by error code. */
const failures: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: closed,
  EPIPE: closed,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  ETIMEDOUT: unreachable,
  EPROTO: 'the TLS handshake failed',
  HPE_HEADER_OVERFLOW: 'the headers of the response are too large',
};

const describeFailure = (error: unknown, socket: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  // Set if the verification of the certificate failed.
  if (socket instanceof TLSSocket && Boolean(socket.authorizationError)) {
    // The rest of the message may quote the certificate.
    return `the certificate is not valid: ${message.replace(/[:;].*/s, '')}`;
  }
  // The message of an error with a code may have an address.
  if (code === undefined) return message;
  if (code.startsWith('ERR_SSL_')) return 'the TLS handshake failed';
  const isHttp = !code.startsWith('HPE_');
  return failures[code] ?? (isHttp ? `the request failed: ${code}` : 'the response is not HTTP');
};

/** Opens a request that connects to one of the addresses; the certificate must be that of the URL's host. */
const openPost = (
  url: URL,
  addresses: readonly string[],
  options: RequestOptions,
): ClientRequest => {
  const host = hostOf(url);
  const { request } = url.protocol === 'https:' ? https : http;
  const pinned = addresses.map((address) => ({ address, family: isIP(address) }));
  return request(url, {
    ...options,
    method: 'POST',
    // Without an agent, no connection of an earlier look-up is used again.
    agent: false,
    ...fallback,
    // Called with `all: true` because of `fallback`; not called for a literal address, which the guard has checked.
    lookup: (_name, _options, callback) => {
      callback(null, pinned);
    },
    // SNI has no trailing dot, and no address (RFC 6066, 3).
    servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '',
  });
};

/** Reads the body of a response until its end, the limit or an error. */
const discardBody = async (response: IncomingMessage): Promise<void> => {
  let received = 0;
  try {
    for await (const chunk of response) {
      received += (chunk as Buffer).length;
      if (received >= maxBodyBytes) return;
    }
  } catch {
    // The status has arrived: the outcome does not depend on the body.
  }
};

/** @param tls `ca`: instead of the CAs of Node.js */
export const guardedPost = (
  guard: NetworkGuard,
  tls: Pick<SecureContextOptions, 'ca'> = {},
): GuardedPost => {
  const attempt = async (
    url: URL,
    headers: OutgoingHttpHeaders,
    body: string | Buffer,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    let outgoing: ClientRequest | null = null;
    try {
      const verdict = await untilAborted(guard(url), signal);
      if (verdict.type !== 'allowed') return { type: 'failed', error: verdict.reason };
      outgoing = openPost(url, verdict.addresses, { ...tls, headers, signal });
      // `once` rejects with an error before the response. A later error does not change the outcome.
      outgoing.on('error', () => undefined);
      outgoing.end(body);
      const [response] = (await once(outgoing, 'response', { signal })) as [IncomingMessage];
      await discardBody(response);
      const { statusCode = 0, headers: received } = response;
      const retryAfter = received['retry-after'] ?? null;
      return { type: 'responded', status: statusCode, retryAfter };
    } catch (error) {
      const reason: unknown = signal.aborted ? signal.reason : error;
      return { type: 'failed', error: describeFailure(reason, outgoing?.socket) };
    } finally {
      outgoing?.destroy();
    }
  };

  return async (url, headers, body, { timeoutMs = 15_000, signal } = {}) => {
    const startedAt = performance.now();
    const ending = new AbortController();
    const timer = setTimeout(() => {
      ending.abort(new Error(`no response within ${timeoutMs / 1_000} s`));
    }, timeoutMs);
    const cancel = (): void => {
      ending.abort(new Error('the request was cancelled'));
    };
    signal?.addEventListener('abort', cancel);
    if (signal?.aborted) cancel();
    const outcome = await attempt(url, headers, body, ending.signal);
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
    return { ...outcome, durationMs: Math.round(performance.now() - startedAt) };
  };
};
