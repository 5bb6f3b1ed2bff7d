import { Attempt } from './attempt.js';
import { LinklogError, toLinklogError } from './errors.js';
import type { CallOptions, LinklogOptions, Operation } from './options.js';
import { isTransient, pause, retryDelayMs } from './retry.js';
import type { FetchRequest, FetchResponse } from './standards.js';

export interface Call {
  readonly operation: Operation;
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: object | undefined;
  /** Text or a file. */
  readonly body?: string | object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly options?: CallOptions | undefined;
  /** Default: that of the client. */
  readonly maxRetries?: number;
}

const check = (isValid: boolean, message: string): void => {
  if (!isValid) throw new TypeError(message);
};

const parseBaseUrl = (text: string): string => {
  const { protocol, username, password, search, hash, href } = new URL(text);
  const isPlain = /^https?:$/.test(protocol) && username + password + search + hash === '';
  check(isPlain, 'baseUrl must be an http(s) URL without user name, query and fragment');
  return href.replace(/\/+$/, '');
};

const pathOf = (template: string, values: Readonly<Record<string, unknown>>): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = (values[name] as string | undefined) ?? '';
    check(!/^\.{0,2}$/.test(value), `${name} must not be "${value}": a URL has no such segments`);
    return encodeURIComponent(value);
  });

const queryOf = (query: object): string => {
  const pairs = Object.entries(query).flatMap(([name, value]: [string, unknown]) =>
    [value]
      .flat()
      .flatMap((item) =>
        item === undefined ? [] : [[name, String(item as string | number)] as [string, string]],
      ),
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
};

/** Sends calls, with retries. */
export class Transport {
  readonly #key: string;
  readonly #baseUrl: string;
  readonly #timeoutMs: number;
  readonly #maxRetries: number;
  readonly #fetch: NonNullable<LinklogOptions['fetch']>;

  constructor({ key, baseUrl, timeoutMs = 30_000, maxRetries = 2, ...owner }: LinklogOptions) {
    // `fetch` reports other characters together with the whole header.
    check(/^[\x21-\x7e]+$/.test(key), 'key must consist of visible ASCII characters');
    check(maxRetries >= 0, 'maxRetries must be at least 0');
    this.#key = key;
    this.#baseUrl = parseBaseUrl(baseUrl);
    this.#timeoutMs = timeoutMs;
    this.#maxRetries = maxRetries;
    // A call without `this`, which browsers require.
    this.#fetch = owner.fetch ?? ((url, request) => fetch(url, request));
  }

  /** The JSON of the response; `undefined` if it has no body. */
  json<Value>(call: Call): Promise<Value> {
    return this.#whole(call, 'application/json', async (response) => {
      const text = await response.text();
      return (text === '' ? undefined : JSON.parse(text)) as Value;
    });
  }

  bytes(call: Call): Promise<Uint8Array> {
    return this.#whole(
      call,
      '*/*',
      async (response) => new Uint8Array(await response.arrayBuffer()),
    );
  }

  /** The bytes of the response, as they arrive. @param idleMs the maximum time without bytes */
  async *stream(call: Call, type = '*/*', idleMs?: number): AsyncGenerator<Uint8Array> {
    const { response, attempt } = await this.#retried(call, () => this.#send(call, type));
    yield* attempt.bytes(response, idleMs);
  }

  async #retried<Value>(call: Call, attempt: () => Promise<Value>): Promise<Value> {
    const { operation, headers = {}, options, maxRetries = this.#maxRetries } = call;
    const isKeyed = 'Idempotency-Key' in headers;
    const isRepeatable =
      isKeyed ||
      ['GET', 'DELETE'].includes(operation.method) ||
      (operation.method === 'PATCH' && 'If-Match' in headers);
    // 409: a request with the same Idempotency-Key is in progress.
    const statuses = isKeyed ? [409, 429, 503] : [429, 503];
    for (let failures = 0; ; failures += 1) {
      try {
        return await attempt();
      } catch (error) {
        const mayRetry = isRepeatable && failures < maxRetries;
        if (!mayRetry || !isTransient(error, (status) => statuses.includes(status))) throw error;
        const delayMs = retryDelayMs(error, failures);
        if (delayMs === null) throw error;
        await pause(delayMs, options?.signal);
      }
    }
  }

  /** @param read an error of it, such as for a page of a proxy that is no JSON, is one of the connection */
  async #whole<Value>(
    call: Call,
    type: string,
    read: (response: FetchResponse) => Promise<Value>,
  ): Promise<Value> {
    return this.#retried(call, async () => {
      const { response, attempt } = await this.#send(call, type);
      try {
        return await attempt.result(read(response));
      } catch (error) {
        throw attempt.toError(error);
      } finally {
        attempt.close();
      }
    });
  }

  /** Waits for the headers of a success; the caller closes the attempt. @throws LinklogError for other statuses */
  async #send(
    call: Call,
    type: string,
  ): Promise<{ readonly response: FetchResponse; readonly attempt: Attempt }> {
    const { signal, timeoutMs = this.#timeoutMs } = call.options ?? {};
    // Longer timers fire immediately.
    check(timeoutMs > 0 && timeoutMs < 2 ** 31, 'timeoutMs must be between 1 and 2147483647');
    const [url, request] = this.#requestOf(call, type);
    const attempt = new Attempt(signal, (text) => this.#redact(text));
    attempt.expectWithin(timeoutMs);
    try {
      const sent = this.#fetch(url, { ...request, signal: attempt.signal } as FetchRequest);
      const response = await attempt.result(sent);
      if (response.status >= 200 && response.status < 300) return { response, attempt };
      throw this.#errorOf(response, await attempt.result(response.text()));
    } catch (error) {
      attempt.close();
      throw error instanceof LinklogError ? error : attempt.toError(error);
    }
  }

  #requestOf(call: Call, type: string): [url: string, request: object] {
    const { operation, path = {}, query = {}, body, headers } = call;
    const contentType = operation.body === 'file' ? 'application/octet-stream' : 'application/json';
    const request = {
      method: operation.method,
      headers: {
        ...{ Accept: type, Authorization: `Bearer ${this.#key}` },
        ...(body !== undefined && { 'Content-Type': contentType }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      // The API never redirects, and another host must not receive the key.
      redirect: 'error',
      ...(typeof body === 'object' && { duplex: 'half' }),
    };
    return [this.#baseUrl + pathOf(operation.path, path) + queryOf(query), request];
  }

  #redact(text: string): string {
    return text.replaceAll(this.#key, '[key]');
  }

  #errorOf({ status, headers }: FetchResponse, text: string): LinklogError {
    let body: unknown = this.#redact(text);
    try {
      body = JSON.parse(String(body));
    } catch {
      // A text of a proxy.
    }
    const requestId = this.#redact(headers.get('X-Request-Id') ?? '') || null;
    const seconds = headers.get('Retry-After') ?? '';
    const retryAfter = /^\d{1,9}$/.test(seconds) ? Number(seconds) : null;
    return toLinklogError(status, body, requestId, retryAfter);
  }
}
