import type { RequestListener } from 'node:http';
import { hostNameOf } from '../../schemas/domain-name.js';
import { messages } from '../../schemas/http/errors.js';
import { noSniff, refuse } from './refusal.js';
import { isIP } from 'node:net';
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
const onlyForHosts = (names: readonly string[], handler: RequestListener): RequestListener => {
  const known = new Set(['localhost', ...names.map(nameIn)]);
  return (request, response) => {
    const name = nameIn(request.headers.host);
    if (name !== null && (isIP(name) !== 0 || known.has(name))) handler(request, response);
    else refuse(request, response, { status: 421, message: messages.misdirected });
  };
};

const path = '/tls/ask';

/**
 * The handler of the operators' listener. It answers `GET /tls/ask?domain=` from memory: 200 if a certificate may be
 * obtained for the name, otherwise 404. This needs no token and accepts every Host, because it reveals only what a visit of
 * the domain reveals. `handler` gets the other requests for `hosts`.
 */
export const operatorsListener = (
  {
    isDomain,
    shortUrlHost,
    hosts,
  }: {
    readonly hosts: readonly string[];
    readonly isDomain: (name: string) => boolean;
    /** `null`: the default domain has no name of its own. */
    readonly shortUrlHost: string | null;
  },
  handler: RequestListener,
): RequestListener => {
  const handleOther = onlyForHosts(hosts, handler);
  const defaultName = shortUrlHost === null ? null : new URL(shortUrlHost).hostname;
  return (request, response) => {
    const { method, url = '' } = request;
    const mark = url.indexOf('?');
    if ((mark < 0 ? url : url.slice(0, mark)) !== path) {
      handleOther(request, response);
      return;
    }
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      refuse(request, response, { status: 405, message: messages.methodNotAllowed });
      return;
    }
    const given = new URLSearchParams(mark < 0 ? '' : url.slice(mark)).get('domain') ?? '';
    const name = hostNameOf(given);
    const isKnown = name !== null && (name === defaultName || isDomain(name));
    response.writeHead(isKnown ? 200 : 404, {
      'Cache-Control': 'no-store',
      'Content-Length': '0',
      ...noSniff,
    });
    response.end();
  };
};
