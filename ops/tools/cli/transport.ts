import { request, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { actorHeaderOf } from '../../../schemas/http/operators.js';
import type { RouteMethod } from '../../../schemas/http/route.js';
import { messagesOf, type Message } from '../../clients/typescript/src/lines.js';
import { hasCode } from '../../platform/errors.js';
import { jsonText } from '../../platform/parse.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { CliError, messageOf } from './errors.js';
import { noService, type Service } from './service.js';

interface HttpResponse {
  readonly status: number;
  readonly requestId: string;
  readonly text: string;
}

export interface SendOptions {
  readonly body?: object;
  /** A body of any length, which is sent while it is read. */
  readonly file?: AsyncIterable<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The time from the request to the end of the response (ms). */
  readonly timeoutMs?: number;
  /** Ends the request instead of a timeout. Its reason is thrown. */
  readonly signal?: AbortSignal;
}

const usualTimeoutMs = 10_000;
/** A connection without a message for this time is dead (ms): an idle stream sends one every 15 s. */
const silenceMs = 60_000;

const unreachable = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
];

/** The command that shows whether a change took effect, by the prefix of its path. */
const lookUps = [
  ['/admin/platform', 'platform show'],
  ['/admin/links/', 'links history'],
  ['/admin/links', 'links list'],
  ['/admin/domains', 'domains list'],
  ['/admin/webhooks', 'webhooks list'],
  ['/admin/imports', 'imports list'],
  ['/admin/reserved-aliases/', 'aliases --help'],
] as const;

const errorMessage = jsonText.pipe(z.object({ message: z.string() }));

/** Sends requests to a service, as an operator. Its functions throw CliError. */
export const createTransport = ({ url, token, dataDir }: Service, actor: string) => {
  const explain = (
    cause: unknown,
    method: RouteMethod,
    path: string,
    timeoutMs = usualTimeoutMs,
  ): CliError => {
    // The body of an upload could not be read.
    if (cause instanceof CliError) return cause;
    const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
    if (hasCode(first, ...unreachable)) {
      const message = noService(`no service listens at ${url}`, dataDir);
      return new CliError('NO_SERVICE', message, { cause });
    }
    const failure = hasCode(first, 'ABORT_ERR')
      ? `the service at ${url} did not respond within ${timeoutMs / 1_000} s`
      : `the connection to ${url} failed: ${messageOf(cause)}`;
    const lookUp = lookUps.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'keys list';
    const consequence =
      method === 'GET'
        ? ''
        : `; the change may have taken effect: see "${linklogCommand()} ${lookUp}"`;
    return new CliError('BAD_RESPONSE', failure + consequence, { cause });
  };

  const identity = {
    'X-Actor': actorHeaderOf(actor),
    ...(token !== null && { Authorization: `Bearer ${token}` }),
  };

  // `fetch` would refuse some ports (6000, 6667 …).
  const open = (
    method: RouteMethod,
    path: string,
    { body, file, headers }: SendOptions,
    signal: AbortSignal,
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const type = file ? 'application/octet-stream' : 'application/json';
      const options = {
        ...{ method, path, signal, agent: false, timeout: silenceMs },
        headers: { ...identity, ...((file ?? body) && { 'Content-Type': type }), ...headers },
      };
      const source = file && Readable.from(file, { objectMode: false });
      const sent = request(new URL(url), options, (response) => {
        // After an early response, the rest of a file is not sent.
        response.once('close', () => source?.destroy());
        resolve(response);
      });
      sent.on('error', reject);
      sent.on('timeout', () => {
        // Otherwise, a file is still being read, such as from a slow pipe.
        if (source && !sent.writableEnded && !sent.writableNeedDrain) return;
        sent.destroy(new Error(`no data for ${silenceMs / 1_000} s`));
      });
      if (source) pipeline(source, sent).catch(reject);
      else sent.end(body && JSON.stringify(body));
    });

  const readAll = async (response: IncomingMessage): Promise<HttpResponse> => ({
    status: response.statusCode ?? 0,
    requestId: String(response.headers['x-request-id']),
    text: await text(response),
  });

  const send = async (
    method: RouteMethod,
    path: string,
    options: SendOptions = {},
  ): Promise<HttpResponse> => {
    const { timeoutMs = usualTimeoutMs, signal } = options;
    try {
      const end = signal ?? AbortSignal.timeout(timeoutMs);
      return await readAll(await open(method, path, options, end));
    } catch (error) {
      signal?.throwIfAborted();
      throw explain(error, method, path, timeoutMs);
    }
  };

  async function* readBytes(response: IncomingMessage, path: string): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) yield chunk;
    } catch (error) {
      throw explain(error, 'GET', path);
    }
  }

  async function* readMessages(response: IncomingMessage, path: string): AsyncGenerator<Message> {
    try {
      yield* messagesOf(response);
    } catch (error) {
      throw explain(error, 'GET', path);
    }
  }

  const refusal = ({ status, requestId, text: body }: HttpResponse): CliError => {
    if (status === 401) {
      const message = token === null ? 'requires its admin token' : 'rejects this admin token';
      return new CliError(
        'REFUSED',
        `the service at ${url} ${message}: set ADMIN_TOKEN or DATA_DIR as for the service`,
      );
    }
    const parsed = errorMessage.safeParse(body);
    if (!parsed.success) {
      return new CliError('BAD_RESPONSE', `the server at ${url} is not Linklog (HTTP ${status})`);
    }
    const { message } = parsed.data;
    return status >= 500
      ? new CliError('UNAVAILABLE', `${message} (see request ${requestId} in its log)`)
      : new CliError('REFUSED', message);
  };

  const read = <Schema extends z.ZodType>(
    schema: Schema,
    response: HttpResponse,
  ): z.output<Schema> => {
    const parsed = jsonText.pipe(schema).safeParse(response.text);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const where = issue?.path.join('.') ?? '';
    throw new CliError(
      'BAD_RESPONSE',
      `the server at ${url} is not this version of Linklog` +
        (where === '' ? '' : ` (${where}: ${issue?.message ?? ''})`),
    );
  };

  /** Opens a response without an end in time. */
  const openStream = async (
    path: string,
    options: SendOptions,
    signal: AbortSignal,
  ): Promise<IncomingMessage> => {
    let refused: HttpResponse;
    try {
      const response = await open('GET', path, options, signal);
      if (response.statusCode === 200) return response;
      refused = await readAll(response);
    } catch (error) {
      throw explain(error, 'GET', path);
    }
    throw refusal(refused);
  };

  return { send, read, refusal, openStream, readBytes, readMessages };
};
