import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { healthResponse, type HealthResponse } from '../../../schemas/http/health.js';
import {
  createdKeyResponse,
  keyPageResponse,
  keyResponse,
  keyWithUsageResponse,
  type ChangeKeyRequest,
  type CreatedKeyResponse,
  type CreateKeyRequest,
  type KeyResponse,
  type KeyWithUsageResponse,
} from '../../../schemas/http/keys.js';
import {
  aliasOverrideResponse,
  blockResponse,
  historyResponse,
  platformResponse,
  type AliasOverrideResponse,
  type BlockResponse,
  type HistoryResponse,
  type PlatformResponse,
  type SwitchPlatformRequest,
} from '../../../schemas/http/operators.js';
import { hasCode } from '../../platform/errors.js';
import { CliError, messageOf } from './errors.js';
import type { Service } from './service.js';

/** A change took effect. */
export interface Changed<Value> {
  readonly value: Value;
  /** Whether the log has its event too: it follows as soon as the log is back. */
  readonly inLog: boolean;
}

/** The running service as operators see it. All throw CliError. */
export interface AdminClient {
  createKey(key: CreateKeyRequest): Promise<Changed<CreatedKeyResponse>>;
  /** All of them, in the order of their making. */
  listKeys(): Promise<readonly KeyWithUsageResponse[]>;
  findKey(id: string): Promise<KeyWithUsageResponse>;
  changeKey(id: string, change: ChangeKeyRequest): Promise<Changed<KeyResponse>>;
  revokeKey(id: string): Promise<Changed<KeyResponse>>;
  readPlatform(): Promise<PlatformResponse>;
  switchPlatform(switches: SwitchPlatformRequest): Promise<Changed<PlatformResponse>>;
  blockLink(code: string, reason: string): Promise<Changed<BlockResponse>>;
  unblockLink(code: string, reason: string): Promise<Changed<BlockResponse>>;
  /** What was done to a link, oldest first; all of it. */
  linkHistory(code: string): Promise<HistoryResponse['events']>;
  allowAlias(alias: string, account: string): Promise<Changed<AliasOverrideResponse>>;
  disallowAlias(alias: string): Promise<Changed<AliasOverrideResponse>>;
  health(): Promise<HealthResponse>;
}

interface HttpAnswer {
  readonly status: number;
  readonly requestId: string;
  readonly text: string;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const timeoutMs = 10_000;
const pageSize = 1_000;

/** Codes of what fails before a connection is there. */
const unreachable = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
];

/** Where a change can be looked up whose answer did not come, by the beginning of its path. */
const lookUps = [
  ['/admin/platform', 'platform show'],
  ['/admin/links/', 'links history'],
  ['/admin/reserved-aliases/', 'aliases --help'],
] as const;

const errorMessage = z.object({ message: z.string() });

const parseJson = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
};

export const createAdminClient = ({ url, token }: Service, actor: string): AdminClient => {
  const explain = (cause: unknown, method: Method, path: string): CliError => {
    const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
    if (hasCode(first, ...unreachable)) {
      const message = `no service answers at ${url}; start it with "npm start"`;
      return new CliError('NO_SERVICE', message, { cause });
    }
    const what = hasCode(first, 'ABORT_ERR')
      ? `the service at ${url} did not answer within ${timeoutMs / 1_000} s`
      : `the service at ${url} broke off: ${messageOf(cause)}`;
    const lookUp = lookUps.find(([start]) => path.startsWith(start))?.[1] ?? 'keys list';
    const consequence =
      method === 'GET' ? '' : `; the change may have taken effect: see "linklog ${lookUp}"`;
    return new CliError('BAD_ANSWER', what + consequence, { cause });
  };

  // Not fetch: that refuses some ports (6000, 6667 …) which an administrator may well choose.
  const send = async (method: Method, path: string, body?: object): Promise<HttpAnswer> => {
    try {
      return await new Promise((resolve, reject) => {
        const sent = request(
          new URL(url),
          {
            method,
            path,
            agent: false,
            signal: AbortSignal.timeout(timeoutMs),
            headers: {
              'X-Actor': actor,
              ...(token !== null && { Authorization: `Bearer ${token}` }),
              ...(body && { 'Content-Type': 'application/json' }),
            },
          },
          (response) => {
            text(response).then((answer) => {
              resolve({
                status: response.statusCode ?? 0,
                requestId: String(response.headers['x-request-id']),
                text: answer,
              });
            }, reject);
          },
        );
        sent.on('error', reject);
        sent.end(body && JSON.stringify(body));
      });
    } catch (error) {
      throw explain(error, method, path);
    }
  };

  const refusal = ({ status, requestId, text: body }: HttpAnswer): CliError => {
    if (status === 401) {
      const message = token === null ? 'wants its admin token' : 'does not accept this admin token';
      return new CliError(
        'REFUSED',
        `the service at ${url} ${message}: set ADMIN_TOKEN to the one that it was started with, ` +
          'or DATA_DIR to its directory',
      );
    }
    const said = errorMessage.safeParse(parseJson(body));
    if (!said.success) {
      return new CliError('BAD_ANSWER', `what answers at ${url} is not Linklog (HTTP ${status})`);
    }
    const where = status >= 500 ? ` (its log tells more of request ${requestId})` : '';
    return new CliError('REFUSED', said.data.message + where);
  };

  const read = <Schema extends z.ZodType>(schema: Schema, answer: HttpAnswer): z.output<Schema> => {
    const parsed = schema.safeParse(parseJson(answer.text));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const where = issue?.path.join('.') ?? '';
    throw new CliError(
      'BAD_ANSWER',
      `what answers at ${url} is not this version of Linklog` +
        (where === '' ? '' : ` (${where}: ${issue?.message ?? ''})`),
    );
  };

  const get = async <Schema extends z.ZodType>(
    path: string,
    schema: Schema,
  ): Promise<z.output<Schema>> => {
    const answer = await send('GET', path);
    if (answer.status !== 200) throw refusal(answer);
    return read(schema, answer);
  };

  const change = async <Schema extends z.ZodType>(
    method: Method,
    path: string,
    schema: Schema,
    body?: object,
  ): Promise<Changed<z.output<Schema>>> => {
    const answer = await send(method, path, body);
    if (![200, 201, 202].includes(answer.status)) throw refusal(answer);
    return { value: read(schema, answer), inLog: answer.status !== 202 };
  };

  const pathOf = (id: string): string => `/admin/keys/${encodeURIComponent(id)}`;

  const linkPath = (code: string, call: string): string =>
    `/admin/links/${encodeURIComponent(code)}/${call}`;
  const overridePath = (alias: string): string =>
    `/admin/reserved-aliases/${encodeURIComponent(alias)}/override`;

  return {
    createKey: (key) => change('POST', '/admin/keys', createdKeyResponse, key),
    async listKeys() {
      const all: KeyWithUsageResponse[] = [];
      let next: string | null = null;
      do {
        const after: string = next === null ? '' : `&after=${encodeURIComponent(next)}`;
        const page: z.output<typeof keyPageResponse> = await get(
          `/admin/keys?limit=${pageSize}${after}`,
          keyPageResponse,
        );
        all.push(...page.keys);
        ({ next } = page);
      } while (next !== null);
      return all;
    },
    findKey: (id) => get(pathOf(id), keyWithUsageResponse),
    changeKey: (id, wanted) => change('PATCH', pathOf(id), keyResponse, wanted),
    revokeKey: (id) => change('DELETE', pathOf(id), keyResponse),
    readPlatform: () => get('/admin/platform', platformResponse),
    switchPlatform: (switches) => change('PATCH', '/admin/platform', platformResponse, switches),
    blockLink: (code, reason) => change('POST', linkPath(code, 'block'), blockResponse, { reason }),
    unblockLink: (code, reason) =>
      change('POST', linkPath(code, 'unblock'), blockResponse, { reason }),
    async linkHistory(code) {
      const all: HistoryResponse['events'] = [];
      let after: number | null = 0;
      while (after !== null) {
        const page: HistoryResponse = await get(
          linkPath(code, `history?limit=${pageSize}&after=${after}`),
          historyResponse,
        );
        all.push(...page.events);
        after = page.next;
      }
      return all;
    },
    allowAlias: (alias, account) =>
      change('PUT', overridePath(alias), aliasOverrideResponse, { account }),
    disallowAlias: (alias) => change('DELETE', overridePath(alias), aliasOverrideResponse),
    async health() {
      const answer = await send('GET', '/health/ready');
      // 503 is an answer too: it tells what is down.
      if (answer.status !== 200 && answer.status !== 503) throw refusal(answer);
      return read(healthResponse, answer);
    },
  };
};
