/** The Model Context Protocol, for one message: revision 2026-07-28 and earlier ones, without sessions. */
import {
  CLIENT_INFO_META_KEY,
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  parseJSONRPCMessage,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  WebStandardStreamableHTTPServerTransport,
  type CallToolResult,
  type JSONRPCMessage,
} from '@modelcontextprotocol/server';
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { packageVersion } from '../../ops/platform/files/project-file.js';
import { isNestedDeeper, maxJsonLevels } from '../http/requests.js';
import type { Tool } from './tools.js';

/** Characters of the name of a client. */
const maxNameLength = 100;

/** What one message may use. */
export interface Session {
  /** The tools of the key. */
  readonly tools: readonly Tool[];
  readonly callTool: () => Promise<CallToolResult>;
  /** The link as JSON; `null` if there is none. */
  readonly readLink: () => Promise<string | null>;
}

/** A message of a body; `null` if it is none. Batches are none: revision 2025-06-18 removed them. */
export const readMessage = (text: string): JSONRPCMessage | null => {
  try {
    const json: unknown = JSON.parse(text);
    // The arguments of a tool are in `params` of the message.
    return isNestedDeeper(json, maxJsonLevels + 2) ? null : parseJSONRPCMessage(json);
  } catch {
    // Neither JSON nor a message: the response does not quote the body.
    return null;
  }
};

/** A message that expects a response. */
export const isCallOf = (message: JSONRPCMessage | null, method: string): boolean =>
  message !== null && 'method' in message && 'id' in message && message.method === method;

const clientInfo = z.object({
  name: z
    .string()
    // PostgreSQL stores neither null characters nor lone surrogates.
    .transform((name) => name.toWellFormed().replaceAll(/\p{Cc}/gu, ''))
    .transform((name) => Array.from(name).slice(0, maxNameLength).join(''))
    .pipe(z.string().min(1)),
});

/** Since revision 2026-07-28, every message has the information; before, only the first one. */
const introduction = z.object({
  params: z.union([
    z
      .object({ _meta: z.object({ [CLIENT_INFO_META_KEY]: clientInfo }) })
      .transform(({ _meta }) => _meta[CLIENT_INFO_META_KEY]),
    z.object({ clientInfo }).transform((params) => params.clientInfo),
  ]),
});

/** The name of the client in a message, if it has one. */
export const clientIn = (message: JSONRPCMessage): string | undefined =>
  introduction.safeParse(message).data?.params.name;

/** The arguments are validated by the API, not by the package. */
const anyParams = z.looseObject({});

const createServer = ({ tools, callTool, readLink }: Session): McpServer => {
  const product = new McpServer(
    { name: 'linklog', title: 'Linklog', version: packageVersion() },
    { capabilities: { tools: { listChanged: false }, resources: { listChanged: false } } },
  );
  // Registered tools would be validated by the package.
  const { server } = product;
  const find = (name: unknown): Tool | undefined => tools.find((tool) => tool.name === name);
  server.setRequestHandler('tools/list', { params: anyParams }, () => ({
    tools: tools.map(({ definition }) => definition),
  }));
  server.setRequestHandler('tools/call', { params: anyParams }, ({ name }) => {
    if (find(name)) return callTool();
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown tool');
  });
  server.setRequestHandler('resources/list', { params: anyParams }, () => ({ resources: [] }));
  server.setRequestHandler('resources/templates/list', { params: anyParams }, () => ({
    resourceTemplates: [
      {
        uriTemplate: 'linklog://links/{shortCode}',
        name: 'link',
        title: 'Short link',
        mimeType: 'application/json',
      },
    ],
  }));
  server.setRequestHandler('resources/read', { params: anyParams }, async ({ uri }) => {
    const text = await readLink();
    if (typeof uri !== 'string') throw new ResourceNotFoundError('');
    if (text === null) throw new ResourceNotFoundError(uri);
    return { contents: [{ uri, mimeType: 'application/json', text }] };
  });
  return product;
};

const exchange = async (
  server: McpServer,
  request: Request,
  parsedBody: JSONRPCMessage,
): Promise<Response> => {
  if (!(await isLegacyRequest(request, parsedBody))) {
    const options = { legacy: 'reject', maxSubscriptions: 0 } as const;
    return createMcpHandler(() => server, options).fetch(request, { parsedBody });
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  return transport.handleRequest(request, { parsedBody });
};

/** The response to a message; its body is empty if the message expects none. */
export const respondTo = async (
  message: JSONRPCMessage,
  headers: IncomingHttpHeaders,
  session: Session,
): Promise<{ readonly status: number; readonly body: string }> => {
  const server = createServer(session);
  const request = new Request('http://localhost/mcp', { method: 'POST' });
  request.headers.set('content-type', 'application/json');
  // Responses have no events, so every client can read them.
  request.headers.set('accept', 'application/json, text/event-stream');
  for (const name of ['mcp-protocol-version', 'mcp-method', 'mcp-name']) {
    if (headers[name] !== undefined) request.headers.set(name, String(headers[name]));
  }
  try {
    const response = await exchange(server, request, message);
    return withoutInternalError(message, response.status, await response.text());
  } finally {
    await server.close();
  }
};

const internalError = `"code":${ProtocolErrorCode.InternalError},`;

/**
 * The package returns an internal error for parameters that its schemas refuse, and for subscriptions beyond the limit.
 *
 * @throws Error for another one
 */
const withoutInternalError = (message: JSONRPCMessage, status: number, body: string) => {
  if (status >= 500) throw new Error(`the package responded with ${status}: ${body}`);
  if (!body.includes(internalError)) return { status, body };
  const { id } = JSON.parse(body) as { readonly id: string | number };
  const isListen = isCallOf(message, 'subscriptions/listen');
  const error = isListen
    ? { code: ProtocolErrorCode.MethodNotFound, message: 'Method not found' }
    : { code: ProtocolErrorCode.InvalidParams, message: 'Invalid params' };
  return { status: isListen ? 404 : status, body: JSON.stringify({ jsonrpc: '2.0', id, error }) };
};
