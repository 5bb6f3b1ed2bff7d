import { AbortError, ConnectionError, TimeoutError } from './errors.js';
import type { FetchResponse, Signal } from './standards.js';

/** An error and its causes; a chain may be circular. */
const causesOf = (error: unknown, most = 5): readonly Error[] =>
  error instanceof Error && most > 0 ? [error, ...causesOf(error.cause, most - 1)] : [];

/** One request, until its response is read: ends with a timeout, and with the signal of the caller. */
export class Attempt {
  readonly #controller = new AbortController();
  /** For `fetch`. It belongs to this attempt, so that no listener stays at the signal of the caller. */
  readonly signal = this.#controller.signal;
  /** Why it ended early. */
  #reason: Error | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #onEnd: ((reason: Error) => void) | null = null;

  /** @param redact removes secrets from messages */
  constructor(
    private readonly caller: Signal | undefined,
    private readonly redact: (text: string) => string,
  ) {
    if (caller?.aborted === true) throw new AbortError(caller.reason);
    caller?.addEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => {
    this.#end(new AbortError(this.caller?.reason));
  };

  readonly #end = (reason: Error): void => {
    this.#reason ??= reason;
    this.#controller.abort();
    this.#onEnd?.(this.#reason);
  };

  /** Starts the timeout again. */
  expectWithin(ms: number): void {
    clearTimeout(this.#timer);
    const reason = new TimeoutError(`There was no response within ${ms} ms`);
    this.#timer = setTimeout(this.#end, ms, reason);
  }

  /** The result, or the reason of an early end, also if `fetch` ignores its signal. */
  async result<Value>(promise: Promise<Value>): Promise<Value> {
    if (this.#reason) throw this.#reason;
    const ended = new Promise<never>((_, reject) => {
      this.#onEnd = reject;
    });
    return Promise.race([promise, ended]);
  }

  /** The bytes of a response. Closes the attempt. @param idleMs the maximum time without bytes */
  async *bytes(response: Pick<FetchResponse, 'body'>, idleMs?: number): AsyncGenerator<Uint8Array> {
    const reader = response.body?.getReader();
    // After an early end the stream has failed or is cancelled, and neither is a second failure.
    const cancel = async (): Promise<void> => reader?.cancel().catch(() => undefined);
    this.#onEnd = () => void cancel();
    clearTimeout(this.#timer);
    try {
      for (;;) {
        if (idleMs !== undefined) this.expectWithin(idleMs);
        const next = await reader?.read();
        if (this.#reason) throw this.#reason;
        if (next?.value === undefined) return;
        clearTimeout(this.#timer);
        yield next.value;
      }
    } catch (error) {
      throw this.toError(error);
    } finally {
      this.close();
      await cancel();
    }
  }

  /** The error for the caller. Errors of `fetch` may contain a header, and thus the key. */
  toError(error: unknown): Error {
    if (this.#reason) return this.#reason;
    const causes = causesOf(error) as (Error & { readonly code?: unknown })[];
    const codes = causes.map(({ code }) => code).filter((code) => typeof code === 'string');
    const messages = causes.map(({ message }) => message).filter((message) => message !== '');
    return new ConnectionError(this.redact(messages.join(': ') || 'unknown error'), codes.at(-1));
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#onEnd = null;
    this.caller?.removeEventListener('abort', this.#abort);
  }
}
