/**
 * The console's calls: those of `/v2`, or of `/admin`, below `/console`, with the session in place of a key.
 * What can go wrong with a call is a value, and says what to do about it.
 */

import type { HealthResponse } from './types.js';

export type Failure =
  /** No answer: no network, or nobody there. */
  | { readonly kind: 'offline' }
  /** The minute is full, or the service is away: again after so many seconds. */
  | { readonly kind: 'wait'; readonly message: string; readonly seconds: number }
  /** The plan lacks it, or its month is spent. */
  | { readonly kind: 'plan'; readonly message: string; readonly upgradeUrl: string }
  /** Anything else: another request is needed. */
  | { readonly kind: 'refused'; readonly message: string; readonly status: number };

export type Answer<Value> =
  | { readonly ok: true; readonly value: Value; readonly status: number }
  | { readonly ok: false; readonly failure: Failure };

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** An image and not JSON. */
  readonly as?: 'blob';
}

/** The errors of the API that the console tells apart. */
interface ErrorBody {
  readonly message?: string;
  readonly upgradeUrl?: string;
}

const failureOf = async (response: Response): Promise<Failure> => {
  const body = (await response.json().catch(() => ({}))) as ErrorBody;
  const { message = `The service answered ${response.status}.`, upgradeUrl } = body;
  if (upgradeUrl !== undefined) return { kind: 'plan', message, upgradeUrl };
  const seconds = Number(response.headers.get('Retry-After'));
  return seconds > 0
    ? { kind: 'wait', message, seconds }
    : { kind: 'refused', message, status: response.status };
};

/** One request, as it is. */
export const send = async <Value>(path: string, call: Call = {}): Promise<Answer<Value>> => {
  const { method = 'GET', body, headers, as } = call;
  let response: Response;
  try {
    response = await fetch(`/console${path}`, {
      method,
      headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!response.ok) return { ok: false, failure: await failureOf(response) };
    const value = (
      as === 'blob'
        ? await response.blob()
        : response.status === 204
          ? undefined
          : await response.json()
    ) as Value;
    return { ok: true, value, status: response.status };
  } catch {
    // `fetch` throws for this alone, and so do bodies that break off.
    return { ok: false, failure: { kind: 'offline' } };
  }
};

const isSignedOut = (answer: Answer<unknown>): boolean =>
  !answer.ok && answer.failure.kind === 'refused' && answer.failure.status === 401;

/** How the node is that answers. A node that is not ready says so with 503. */
export const readHealth = async (): Promise<Answer<HealthResponse>> => {
  try {
    const response = await fetch('/health/ready');
    const value = (await response.json()) as HealthResponse;
    return { ok: true, value, status: response.status };
  } catch {
    // Nobody there.
    return { ok: false, failure: { kind: 'offline' } };
  }
};

let signInAgain: () => Promise<void> = () => Promise.resolve();

/** Whom to ask for another session when one has ended; his promise resolves with the new session. */
export const onSignedOut = (ask: () => Promise<void>): void => {
  signInAgain = ask;
};

/**
 * A call of a page. Where the session has ended meanwhile, it waits for the next one, and is sent again: nothing
 * that was typed is lost.
 */
export const callApi = async <Value>(path: string, call: Call = {}): Promise<Answer<Value>> => {
  const answer = await send<Value>(path, call);
  if (!isSignedOut(answer)) return answer;
  await signInAgain();
  return callApi(path, call);
};

/** For `Idempotency-Key`. `crypto.randomUUID` is there on https and localhost only. */
export const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
