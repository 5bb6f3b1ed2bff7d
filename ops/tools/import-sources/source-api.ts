/** Requests to the HTTP API of another URL shortener. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { Backoff, type Pauses } from '../../platform/concurrency/retry.js';
import { jsonText } from '../../platform/parse.js';
import { CliError, messageOf } from '../cli/errors.js';

export interface SourceApiOptions {
  /** `Shlink`, for messages. */
  readonly service: string;
  /** The address of the service, which can have a path. */
  readonly url: URL;
  /** The headers contain the key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Receives a notice before each pause. */
  readonly report: (notice: string) => void;
  /** The time from the request to the end of the response (ms). */
  readonly timeoutMs?: number;
  readonly pauses?: Pauses;
}

/** The service returned another status than 200, or no valid response (`status` is then `null`). */
export class SourceFailure extends CliError {
  constructor(
    readonly status: number | null,
    message: string,
    options?: { readonly cause: unknown },
  ) {
    super(status === 401 || status === 403 ? 'REFUSED' : 'BAD_RESPONSE', message, options);
  }
}

interface FailedAttempt {
  readonly failure: SourceFailure;
  /** The shortest pause before the next attempt (ms); `null`: another attempt fails as well. */
  readonly retryAfterMs: number | null;
}

const usualTimeoutMs = 60_000;
const usualPauses: Pauses = { firstMs: 1_000, longestMs: 30_000 };
const maxAttempts = 6;

/** The longest `Retry-After` that is waited for (ms). */
const maxRetryAfterMs = 600_000;

/** Far more than a page of links or visits has. */
const maxResponseBytes = 32_000_000;

/** Seconds or an HTTP date, in milliseconds from now; 0 if there is none. */
const readRetryAfter = (header: string | null): number => {
  if (header === null) return 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.max(0, ms);
};

/** @param name host and path @throws SourceFailure if the body is too long */
const readText = async (response: Response, name: string): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > maxResponseBytes) {
      throw new SourceFailure(null, `${name} returned more than ${maxResponseBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

export class SourceApi {
  readonly #options: SourceApiOptions;

  constructor(options: SourceApiOptions) {
    this.#options = options;
  }

  report(notice: string): void {
    this.#options.report(notice);
  }

  /**
   * Sends a GET request, and repeats it after a 429 or 5xx response and after a failed connection.
   *
   * @param path from the address of the service
   * @param query `null`: without the parameter
   * @throws SourceFailure; the signal's reason
   */
  async get<Schema extends z.ZodType>(
    path: string,
    query: Readonly<Record<string, string | null>>,
    schema: Schema,
  ): Promise<z.output<Schema>> {
    const { signal, report, pauses = usualPauses } = this.#options;
    const target = this.#targetOf(path, query);
    const backoff = new Backoff(pauses);
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt(target);
      if (typeof outcome === 'string') return this.#read(outcome, target, schema);
      const { failure, retryAfterMs } = outcome;
      if (retryAfterMs === null || retryAfterMs > maxRetryAfterMs || attempt >= maxAttempts) {
        throw failure;
      }
      const pauseMs = Math.max(backoff.next(), retryAfterMs);
      report(`${failure.message}; trying again in ${Math.ceil(pauseMs / 1_000)} s`);
      try {
        await sleep(pauseMs, undefined, { signal });
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      }
    }
  }

  #targetOf(path: string, query: Readonly<Record<string, string | null>>): URL {
    const { url } = this.#options;
    const target = new URL(url);
    target.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
    target.search = '';
    for (const [name, value] of Object.entries(query)) {
      if (value !== null) target.searchParams.set(name, value);
    }
    return target;
  }

  /** @returns the body of a 200 response */
  async #attempt(target: URL): Promise<string | FailedAttempt> {
    const { headers, signal, timeoutMs = usualTimeoutMs } = this.#options;
    const timeout = AbortSignal.timeout(timeoutMs);
    const name = this.#nameOf(target);
    try {
      const response = await fetch(target, {
        headers: { Accept: 'application/json', ...headers },
        // The key must not get to another host.
        redirect: 'manual',
        signal: AbortSignal.any([signal, timeout]),
      });
      if (response.status === 200) return await readText(response, name);
      const refusal = this.#refusal(response, target);
      await response.body?.cancel();
      return refusal;
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof SourceFailure) return { failure: cause, retryAfterMs: null };
      const reason = timeout.aborted
        ? `did not respond within ${timeoutMs / 1_000} s`
        : `failed: ${messageOf(cause instanceof TypeError ? (cause.cause ?? cause) : cause)}`;
      const failure = new SourceFailure(null, `${name} ${reason}`, { cause });
      return { failure, retryAfterMs: 0 };
    }
  }

  #refusal(response: Response, target: URL): FailedAttempt {
    const { service } = this.#options;
    const { status } = response;
    const name = this.#nameOf(target);
    const message =
      status === 401
        ? `${target.host} refused the key (HTTP 401)`
        : status >= 300 && status < 400
          ? `${name} returned HTTP ${status}, a redirect: --url must be the address of ${service} itself`
          : `${name} returned HTTP ${status}`;
    const isTemporary = status === 429 || status >= 500;
    const retryAfterMs = readRetryAfter(response.headers.get('retry-after'));
    return {
      failure: new SourceFailure(status, message),
      retryAfterMs: isTemporary ? retryAfterMs : null,
    };
  }

  #read<Schema extends z.ZodType>(text: string, target: URL, schema: Schema): z.output<Schema> {
    const parsed = jsonText.pipe(schema).safeParse(text);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const where = issue?.path.join('.') ?? '';
    const reason = where === '' ? '' : ` (${where}: ${issue?.message ?? ''})`;
    throw new SourceFailure(
      null,
      `the response of ${this.#nameOf(target)} is not of ${this.#options.service}${reason}`,
    );
  }

  /** Host and path. */
  #nameOf({ host, pathname }: URL): string {
    return `${host}${pathname}`;
  }
}
