import type { IncomingMessage } from 'node:http';
import { addressOf, type ProxyTrust } from './client-address.js';
import { parseUrl } from '../../schemas/parse-url.js';

/**
 * The origin of the server as the client requested it, in the form of an `Origin` header: from `Host`, or from the
 * first entries of `X-Forwarded-Host` and `X-Forwarded-Proto` of a trusted proxy. `null` if it is invalid.
 */
export const requestOrigin = (
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  isTrusted: ProxyTrust,
): string | null => {
  const isProxied = isTrusted(addressOf(socket));
  const forwarded = (name: 'x-forwarded-host' | 'x-forwarded-proto'): string | undefined =>
    isProxied ? /^[^,]+/.exec(String(headers[name] ?? ''))?.[0].trim() : undefined;
  const host = forwarded('x-forwarded-host') ?? headers.host ?? '';
  const url = `${forwarded('x-forwarded-proto') ?? 'http'}://${host}`;
  if (!/^https?:\/\/[^/?#@\\]+$/i.test(url)) return null;
  return parseUrl(url)?.origin ?? null;
};
