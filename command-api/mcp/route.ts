/** POST /mcp: agents call /v2 as tools. A tool call is admitted, decided and recorded as the call of /v2 that it makes. */
import { IncomingMessage, ServerResponse } from 'node:http';
import type { CallToolResult, JSONRPCMessage } from '@modelcontextprotocol/server';
import type { Context } from 'koa';
import { BoundedMap } from '../../ops/platform/collections.js';
import { messages } from '../../schemas/http/errors.js';
import type { Destinations } from '../../schemas/http/link-fields.js';
import { linkOfSubject, shortUrlOf } from '../../schemas/link-subject.js';
import { scopeRefusal, type V2State } from '../admission/admitted-call.js';
import { acceptedForLater, envelopeOf, failure, json, send, type Reply } from '../http/reply.js';
import { bodyReader } from '../http/requests.js';
import { bearerKey, type createV2 } from '../http/routes.js';
import { addressedCode } from '../links/addressed-link.js';
import { clientIn, isCallOf, readMessage, respondTo } from './server.js';
import { createTools, type Arguments, type CallRequest, type Tool } from './tools.js';

/** Bytes of the body of a request. */
const bodyLimit = 65_536;

/** A call of /v2 that a message makes. */
interface V2Call {
  readonly ctx: Context;
  readonly tool: Tool;
  /** The refusal of a request without its short code. */
  readonly refusal: Reply | null;
}

const parseError = json(400, {
  ...{ jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'Parse error' } },
});

/** The refusal of a request before its key is known, or `null`. */
const refusalOf = ({ method, headers, state }: Context): Reply | null => {
  const { headers: granted } = state as V2State;
  if (headers.origin !== undefined && granted['Access-Control-Allow-Origin'] === undefined) {
    return failure(403, messages.originNotAllowed);
  }
  return method === 'POST' ? null : failure(405, messages.methodNotAllowed, { Allow: 'POST' });
};

/** A request to /v2 with the key, the ID and the state of the agent's request. */
const contextOf = (ctx: Context, { method, url, headers, body }: CallRequest): Context => {
  const { authorization = '' } = ctx.headers;
  const request = new IncomingMessage(ctx.req.socket);
  Object.assign(request, { method, url, headers: { ...headers, authorization } });
  const inner = ctx.app.createContext(request, new ServerResponse(request));
  inner.state = Object.assign(ctx.state, { body });
  return inner;
};

/** A string of parameters that are not validated; `''` for another value. */
const stringIn = (params: Arguments, name: string): string => {
  const { [name]: value } = params;
  return typeof value === 'string' ? value : '';
};

/** The link that a URI names as `code`, or on an own domain as `domain%2Fcode`. */
const argumentsOf = (uri: string): Arguments => {
  const [, code = ''] = /^linklog:\/\/links\/([^/?#&]+)$/.exec(uri) ?? [];
  // Malformed percent-encoding becomes U+FFFD, which no code contains.
  const subject = new URLSearchParams(`code=${code.replaceAll('+', '%2B')}`).get('code') ?? '';
  const { domain, code: shortCode } = linkOfSubject(subject);
  return { shortCode, domain };
};

/** The body of a response in JSON. */
const bodyOf = (ctx: Context, reply: Reply): Record<string, unknown> => {
  if (reply.type === 'error') return { ...envelopeOf(ctx, reply) };
  if (reply.type !== 'json') throw new TypeError(`a reply of type ${reply.type} has no JSON`);
  const { body } = reply;
  const isWritten = typeof body === 'string' || Buffer.isBuffer(body);
  return (isWritten ? JSON.parse(body.toString()) : body) as Record<string, unknown>;
};

const toResult = (structuredContent: Record<string, unknown>): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(structuredContent) }],
  structuredContent,
});

export const createMcp = (
  deps: { readonly destinations: Destinations; readonly shortUrlHost: string },
  v2: Pick<ReturnType<typeof createV2>, 'admit' | 'respond' | 'requirementsOf'>,
) => {
  const tools = createTools(deps.destinations);
  const readBody = bodyReader(bodyLimit);
  /** The name that the key's last client sent as its first message. Later messages of old revisions have none. */
  const clients = new BoundedMap<string, string>(10_000);

  const callOf = (ctx: Context, message: JSONRPCMessage | null): V2Call | null => {
    const { params = {} } = (message ?? {}) as { readonly params?: Arguments };
    const isRead = isCallOf(message, 'resources/read');
    if (!isRead && !isCallOf(message, 'tools/call')) return null;
    const tool = tools.get(isRead ? 'get_link' : stringIn(params, 'name'));
    if (!tool) return null;
    const values = isRead
      ? argumentsOf(stringIn(params, 'uri'))
      : ((params['arguments'] ?? {}) as Arguments);
    const isIncomplete =
      tool.definition.inputSchema.required.includes('shortCode') &&
      (values['shortCode'] ?? '') === '';
    return {
      ctx: contextOf(ctx, tool.requestOf(values)),
      tool,
      refusal: isIncomplete ? failure(400, 'shortCode must be a short code') : null,
    };
  };

  const resultOf = ({ ctx, tool }: V2Call, reply: Reply): CallToolResult => {
    if (reply.status >= 400) return { ...toResult(bodyOf(ctx, reply)), isError: true };
    if (reply.type === 'json') return toResult(bodyOf(ctx, reply));
    const { parameters } = v2.requirementsOf(ctx.method, ctx.path);
    const link = addressedCode(ctx, (name) => parameters[name] ?? '');
    const subject = link.type === 'read' ? link.value : '';
    const { code: shortCode } = linkOfSubject(subject);
    if (tool.name === 'delete_link') return toResult({ shortCode, status: 'deleted' });
    if (reply.type !== 'raw') throw new TypeError(`a reply of type ${reply.type} is no result`);
    const { contentType: mimeType, body } = reply;
    const shortUrl = shortUrlOf(subject, deps.shortUrlHost);
    const { content, structuredContent } = toResult({ shortCode, shortUrl, mimeType });
    const data = Buffer.from(body ?? '').toString('base64');
    return { content: [...content, { type: 'image', data, mimeType }], structuredContent };
  };

  /** Responds to a message of an admitted key. @param refusal of the call, which is the result of its tool */
  const respond = async (
    ctx: Context,
    message: JSONRPCMessage,
    call: V2Call | null,
    refusal: Reply | null,
  ): Promise<Reply> => {
    const state = ctx.state as V2State;
    const client = clientIn(message) ?? clients.get(state.keyHash);
    if (client !== undefined) {
      state.client = client;
      if (isCallOf(message, 'initialize')) clients.set(state.keyHash, client);
    }
    const end: { error?: unknown; reply?: Reply } = {};
    /** The package has a response of its own to errors. */
    const run = async <Result>(
      toResponse: (call: V2Call, reply: Reply) => Result,
    ): Promise<Result> => {
      try {
        if (!call) throw new TypeError('the message makes no call');
        return toResponse(call, refusal ?? call.refusal ?? (await v2.respond(call.ctx)));
      } catch (error) {
        end.error = error;
        throw error;
      }
    };
    const { status, body } = await respondTo(message, ctx.headers, {
      tools: [...tools.values()].filter(({ scope }) => !scopeRefusal(scope, state.call)),
      callTool: () => run(resultOf),
      readLink: () =>
        run(({ ctx: inner }, reply) => {
          if (reply.status === 200) return JSON.stringify(bodyOf(inner, reply));
          // Every other refusal is that of the request.
          if (reply.status !== 400 && reply.status !== 404) end.reply = reply;
          return null;
        }),
    });
    if ('error' in end) throw end.error;
    return end.reply ?? (body === '' ? acceptedForLater : json(status, body));
  };

  const handle = async (ctx: Context): Promise<Reply> => {
    // The body of a request without a key is not read.
    const body = bearerKey(ctx).keyHash === null ? null : await readBody(ctx);
    const message = body?.type === 'read' ? readMessage(body.value) : null;
    const call = callOf(ctx, message);
    // An unknown tool costs a call, as an unknown path does.
    const metered = isCallOf(message, 'tools/call');
    const refusal = await v2.admit(
      call?.ctx ?? ctx,
      call
        ? v2.requirementsOf(call.ctx.method, call.ctx.path)
        : { writes: false, metered, found: undefined, parameters: {} },
    );
    // A used up monthly quota is the result of a tool.
    const isResult = metered && refusal?.type === 'json' && refusal.status === 429;
    if (refusal && !isResult) return refusal;
    if (body?.type === 'refused' && body.reply.status !== 400) return body.reply;
    return message ? respond(ctx, message, call, refusal) : parseError;
  };

  return {
    async handle(ctx: Context): Promise<void> {
      const { headers } = ctx.state as V2State;
      // Set first, so that error responses have it, too.
      headers['Cache-Control'] = 'no-store';
      send(ctx, refusalOf(ctx) ?? (await handle(ctx)));
    },
  };
};
