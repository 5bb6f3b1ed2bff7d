import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { addressOf, type ProxyTrust } from './client-address.js';
import { parseUrl } from '../../schemas/parse-url.js';

/** The first entry of a header of a trusted proxy. */
const forwarded = (
  headers: IncomingHttpHeaders,
  name: 'x-forwarded-host' | 'x-forwarded-proto',
): string | undefined => /^[^,]+/.exec(String(headers[name] ?? ''))?.[0].trim();

/**
 * The host as the client requested it: `Host`, or the first entry of `X-Forwarded-Host` of a trusted proxy. Empty without
 * a host (HTTP/1.0).
 *
 * @param peer the result of `addressOf`
 */
export const requestHost = (
  headers: IncomingHttpHeaders,
  peer: string,
  isTrusted: ProxyTrust,
): string => {
  // Most requests have no such header.
  const isForwarded = headers['x-forwarded-host'] !== undefined && isTrusted(peer);
  return (isForwarded ? forwarded(headers, 'x-forwarded-host') : undefined) ?? headers.host ?? '';
};

/**
 * The origin of the server as the client requested it, in the form of an `Origin` header: from `Host`, or from the
 * first entries of `X-Forwarded-Host` and `X-Forwarded-Proto` of a trusted proxy. `null` if it is invalid.
 */
export const requestOrigin = (
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  isTrusted: ProxyTrust,
): string | null => {
  const peer = addressOf(socket);
  const proto = isTrusted(peer) ? forwarded(headers, 'x-forwarded-proto') : undefined;
  const url = `${proto ?? 'http'}://${requestHost(headers, peer, isTrusted)}`;
  if (!/^https?:\/\/[^/?#@\\]+$/i.test(url)) return null;
  return parseUrl(url)?.origin ?? null;
};
