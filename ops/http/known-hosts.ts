import type { RequestListener } from 'node:http';
import { isIP } from 'node:net';
import { messages } from '../../schemas/http/errors.js';
import { refuse } from './refusal.js';
import { parseUrl } from '../../schemas/parse-url.js';

/** The name in a Host header without its port; `null` if it is invalid. */
const nameIn = (host: string | undefined): string | null => {
  const url = parseUrl(`http://${host ?? ''}`);
  return url?.hostname.replace(/^\[|[\].]$/g, '') ?? null;
};

/**
 * Accepts requests for an IP address, `localhost` or one of `names`, and responds 421 to others. This prevents DNS
 * rebinding: a web page could otherwise read responses of a listener in the network of its visitor.
 */
export const onlyForHosts = (
  names: readonly string[],
  handler: RequestListener,
): RequestListener => {
  const known = new Set(['localhost', ...names.map(nameIn)]);
  return (request, response) => {
    const name = nameIn(request.headers.host);
    if (name !== null && (isIP(name) !== 0 || known.has(name))) handler(request, response);
    else refuse(request, response, { status: 421, message: messages.misdirected });
  };
};
