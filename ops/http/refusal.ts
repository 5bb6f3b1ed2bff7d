import { METHODS, STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import { messages, type GeneralError } from '../../schemas/http/errors.js';

/** A header of every response of every listener: browsers must not guess another content type. */
export const noSniff = { 'X-Content-Type-Options': 'nosniff' } as const;

export type ParseError = NodeJS.ErrnoException & {
  /** The last packet. */
  readonly rawPacket?: Buffer;
  /** The bytes of the last packet that were parsed. */
  readonly bytesParsed?: number;
};

/** The listener's error response to a request that does not reach the handler. */
interface Refusal {
  readonly status: number;
  readonly message: string;
}

const badRequest: Refusal = { status: 400, message: messages.badRequest };

/** Refusals by error code of node:http; other codes are bad requests. */
const refusals: ReadonlyMap<string, Refusal> = new Map([
  ['HPE_HEADER_OVERFLOW', { status: 431, message: messages.headersTooLarge }],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', { status: 413, message: messages.bodyTooLarge }],
  ['ERR_HTTP_REQUEST_TIMEOUT', { status: 408, message: messages.requestTimeout }],
]);

/** The response to a parser's error; `null`: the parser accepted the request, but it is invalid. */
export const refusalOf = (error: NodeJS.ErrnoException | null): Refusal =>
  refusals.get(error?.code ?? '') ?? badRequest;

const absoluteForm = /^https?:\/\/([^/?#]*)/i;

/** The authority of a target in absolute form; `null` for other forms. */
export const authorityOf = (target: string): string | null =>
  target.startsWith('/') ? null : (absoluteForm.exec(target)?.[1] ?? null);

/** The path and query of a target, which may be in absolute form (RFC 9112, 3.2.2). */
export const originFormOf = (target: string): string => {
  if (target.startsWith('/')) return target;
  const rest = target.replace(absoluteForm, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
};

/** RFC 9112, 3.2: a request has exactly one Host; it is optional in HTTP/1.0. */
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

/** Refuses a request after its head was parsed. */
export const refuse = (
  request: IncomingMessage,
  response: ServerResponse,
  refusal: Refusal,
): void => {
  const body = bodyOf(refusal, request.method ?? '', request.url ?? '');
  response.writeHead(refusal.status, headersOf(body));
  response.end(body);
};

const lineStart = /^([!-~]{1,20}) ([!-~]*)/;
const requestLines = new RegExp(`(${METHODS.join('|')}) ([!-~]*) HTTP/1\\.[01]\\r\\n`, 'g');

/** Errors in the request line itself. */
const lineErrors: ReadonlySet<string | undefined> = new Set([
  'HPE_INVALID_METHOD',
  'HPE_INVALID_URL',
  'HPE_INVALID_CONSTANT',
  'HPE_INVALID_VERSION',
]);

/**
 * Method and target of a request that the parser refused, or empty texts. The parser does not report them. They are in
 * the last request line that it accepted in the packet, because the packet may start with the rest of another request.
 * Without such a line, they are at the start of the packet if the request starts there.
 */
const lineOf = (error: ParseError, startsPacket: boolean): { method: string; target: string } => {
  const packet = error.rawPacket?.toString('latin1') ?? '';
  const accepted = lineErrors.has(error.code)
    ? undefined
    : [...packet.slice(0, error.bytesParsed).matchAll(requestLines)].at(-1);
  const line = accepted ?? (startsPacket ? lineStart.exec(packet.slice(0, 4_096)) : null);
  const [, method = '', target = ''] = line ?? [];
  return { method, target };
};

/** The response to a request that could not be parsed. @param startsPacket whether no other request starts in its packet */
export const refusalBytes = (error: ParseError, startsPacket: boolean): string => {
  const refusal = refusalOf(error);
  const { method, target } = lineOf(error, startsPacket);
  const body = bodyOf(refusal, method, target);
  const lines = Object.entries(headersOf(body)).map(([name, value]) => `${name}: ${value}`);
  const reason = STATUS_CODES[refusal.status] ?? '';
  const head = [`HTTP/1.1 ${refusal.status} ${reason}`, ...lines, '', ''].join('\r\n');
  return method === 'HEAD' ? head : head + body;
};
