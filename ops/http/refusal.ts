import { METHODS, STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import { messages, type GeneralError } from '../../schemas/http/errors.js';
import { noSniff } from './no-sniff.js';

/** Node's error about a request that it could not read. */
export type Unread = NodeJS.ErrnoException & {
  /** The last packet, and how far the parser got in it. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
};

/** The listener's own answer to a request that its handler cannot take. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
}

const badRequest: Refusal = { status: 400, message: messages.badRequest };

/** By node's error code; any other is a bad request. */
const refusals: ReadonlyMap<string, Refusal> = new Map([
  ['HPE_HEADER_OVERFLOW', { status: 431, message: messages.headersTooLarge }],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', { status: 413, message: messages.bodyTooLarge }],
  ['ERR_HTTP_REQUEST_TIMEOUT', { status: 408, message: messages.requestTimeout }],
]);

/** The answer to a parser's error; `null`: a request that the parser accepted and we do not. */
export const refusalOf = (error: NodeJS.ErrnoException | null): Refusal =>
  refusals.get(error?.code ?? '') ?? badRequest;

const absoluteForm = /^https?:\/\/([^/?#]*)/i;

/** The authority of a target in absolute form; `null`: it has another form. */
export const authorityOf = (target: string): string | null =>
  target.startsWith('/') ? null : (absoluteForm.exec(target)?.[1] ?? null);

/** A request's target from its path on: a proxy may send the whole URL (RFC 9112, 3.2.2). */
export const originFormOf = (target: string): string => {
  if (target.startsWith('/')) return target;
  const rest = target.replace(absoluteForm, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
};

/** RFC 9112, 3.2: a request has one Host; HTTP/1.0 needs none. */
export const isBadRequest = ({ rawHeaders, httpVersionMinor }: IncomingMessage): boolean => {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1 || (hosts === 0 && httpVersionMinor > 0);
};

const bodyOf = (refusal: Refusal, method: string, target: string): string => {
  const body: GeneralError = {
    statusCode: refusal.status,
    timestamp: new Date().toISOString(),
    path: target.replace(/\?.*$/s, ''),
    method,
    message: refusal.message,
  };
  return JSON.stringify(body);
};

const headersOf = (body: string): Record<string, string> => ({
  'Content-Type': 'application/json; charset=utf-8',
  'Content-Length': String(Buffer.byteLength(body)),
  'Cache-Control': 'no-store',
  ...noSniff,
  Connection: 'close',
});

/** Refuses a request whose head was read. */
export const refuse = (
  request: IncomingMessage,
  response: ServerResponse,
  refusal: Refusal,
): void => {
  const body = bodyOf(refusal, request.method ?? '', request.url ?? '');
  response.writeHead(refusal.status, headersOf(body));
  response.end(body);
};

const beginning = /^([!-~]{1,20}) ([!-~]*)/;
const requestLines = new RegExp(`(${METHODS.join('|')}) ([!-~]*) HTTP/1\\.[01]\\r\\n`, 'g');

/** Errors in the request line itself. */
const lineErrors: ReadonlySet<string | undefined> = new Set([
  'HPE_INVALID_METHOD',
  'HPE_INVALID_URL',
  'HPE_INVALID_CONSTANT',
  'HPE_INVALID_VERSION',
]);

/**
 * Method and target of a request that the parser refused, as far as they can be read: the parser does
 * not give them. The packet may begin with the rest of another request, so the last request line that
 * the parser accepted counts. Where it accepted none, the packet's beginning counts, if this request
 * begins there.
 */
const lineOf = (error: Unread, begins: boolean): { method: string; target: string } => {
  const packet = error.rawPacket?.toString('latin1') ?? '';
  const taken = lineErrors.has(error.code)
    ? undefined
    : [...packet.slice(0, error.bytesParsed).matchAll(requestLines)].at(-1);
  const line = taken ?? (begins ? beginning.exec(packet.slice(0, 4_096)) : null);
  const [, method = '', target = ''] = line ?? [];
  return { method, target };
};

/** The bytes that refuse an unread request; `begins`: no other request begins in its last packet. */
export const refusalBytes = (error: Unread, begins: boolean): string => {
  const refusal = refusalOf(error);
  const { method, target } = lineOf(error, begins);
  const body = bodyOf(refusal, method, target);
  const lines = Object.entries(headersOf(body)).map(([name, value]) => `${name}: ${value}`);
  const reason = STATUS_CODES[refusal.status] ?? '';
  const head = [`HTTP/1.1 ${refusal.status} ${reason}`, ...lines, '', ''].join('\r\n');
  return method === 'HEAD' ? head : head + body;
};
