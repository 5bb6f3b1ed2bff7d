import type { RequestListener } from 'node:http';
import { domainNameOf } from '../../schemas/domain-name.js';
import { messages } from '../../schemas/http/errors.js';
import { noSniff, refuse } from './refusal.js';

const path = '/tls/ask';

/**
 * Answers `GET /tls/ask?domain=` from memory: 200 if a certificate may be obtained for the name, otherwise 404. It needs
 * no token and accepts every Host, because it reveals only what a visit of the domain reveals. Passes on all other
 * requests.
 */
export const answerTlsAsk = (
  {
    isDomain,
    shortUrlHost,
  }: {
    /** Whether a name is an active domain. */
    readonly isDomain: (name: string) => boolean;
    /** `null`: the default domain has no name of its own. */
    readonly shortUrlHost: string | null;
  },
  handler: RequestListener,
): RequestListener => {
  const defaultName = shortUrlHost === null ? null : new URL(shortUrlHost).hostname;
  return (request, response) => {
    const { method, url = '' } = request;
    const mark = url.indexOf('?');
    if ((mark < 0 ? url : url.slice(0, mark)) !== path) {
      handler(request, response);
      return;
    }
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      refuse(request, response, { status: 405, message: messages.methodNotAllowed });
      return;
    }
    const given = new URLSearchParams(mark < 0 ? '' : url.slice(mark)).get('domain') ?? '';
    const name = given.toLowerCase() === defaultName ? defaultName : domainNameOf(given);
    const isKnown = name !== null && (name === defaultName || isDomain(name));
    response.writeHead(isKnown ? 200 : 404, {
      'Cache-Control': 'no-store',
      'Content-Length': '0',
      ...noSniff,
    });
    response.end();
  };
};
