import type { RequestListener } from 'node:http';
import { isIP } from 'node:net';
import { messages } from '../../schemas/http/errors.js';
import { refuse } from './refusal.js';
import { parseUrl } from '../../schemas/parse-url.js';

/** The name in a Host header, without its port; `null` where it has none. */
const nameIn = (host: string | undefined): string | null => {
  const url = parseUrl(`http://${host ?? ''}`);
  return url?.hostname.replace(/^\[|[\].]$/g, '') ?? null;
};

/**
 * Answers requests whose Host is an address, `localhost` or one of `names`, and all others with 421. A
 * page in an operator's browser could reach a listener of its network under a name of the page's own (DNS
 * rebinding), and read the answers.
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
