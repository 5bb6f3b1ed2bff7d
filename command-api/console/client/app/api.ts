/**
 * The requests of the console: `/v2` or `/admin` below `/console`, authenticated by the session. Failures are values.
 */

import type { HealthResponse } from '../../../../schemas/http/health.js';
import type { UrlFault } from '../../../../schemas/http/link-fields.js';
import { Attempt } from '../../../../ops/clients/typescript/src/attempt.js';
import { texts } from '../../texts.js';

export type Failure =
  | { readonly kind: 'offline' }
  /** The rate limit is reached, or the service is unavailable. */
  | {
      readonly kind: 'wait';
      readonly message: string;
      readonly status: number;
      readonly seconds: number;
    }
  /** The plan lacks the feature, or its monthly quota is used up. */
  | { readonly kind: 'plan'; readonly message: string }
  /** Any other error. */
  | {
      readonly kind: 'refused';
      readonly message: string;
      readonly status: number;
      /** Why the URL is invalid. */
      readonly reason?: UrlFault | undefined;
      /** The values of the TXT record of a domain that was not verified. */
      readonly found?: readonly string[] | undefined;
    };

export type Result<Value> =
  | { readonly ok: true; readonly value: Value; readonly status: number }
  | { readonly ok: false; readonly failure: Failure };

interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** A body that the browser streams from the disk. */
  readonly file?: File;
  readonly signal?: AbortSignal;
  /** The response is an image instead of JSON. */
  readonly as?: 'blob';
}

interface ErrorBody {
  readonly message?: string;
  readonly upgradeUrl?: string;
  readonly reason?: UrlFault;
  readonly found?: readonly string[];
}

const failureOf = async (response: Response): Promise<Failure> => {
  const body = (await response.json().catch(() => ({}))) as ErrorBody;
  const { status } = response;
  const { message = texts.app.responded(status), upgradeUrl, reason, found } = body;
  if (upgradeUrl !== undefined) return { kind: 'plan', message };
  const seconds = Number(response.headers.get('Retry-After'));
  return seconds > 0
    ? { kind: 'wait', message, status, seconds }
    : { kind: 'refused', message, status, reason, found };
};

/** 202 and 204 may have no body. */
const parseBody = (text: string): unknown => (text === '' ? undefined : JSON.parse(text));

/** Whether a file has been changed or deleted since the user chose it. */
const isUnreadable = async (file: File): Promise<boolean> => {
  // `slice` does not notice that a file was deleted.
  const reader = file.stream().getReader();
  try {
    await reader.read();
    await reader.cancel();
    return false;
  } catch {
    // Reading throws.
    return true;
  }
};

/** Why a request got no response. */
const failureOfCall = async ({ file, signal }: Call): Promise<Failure> => {
  const refused = (message: string): Failure => ({ kind: 'refused', message, status: 0 });
  if (signal?.aborted === true) return refused(texts.app.uploadStopped);
  if (file && (await isUnreadable(file))) {
    return refused(texts.app.fileUnreadable);
  }
  return { kind: 'offline' };
};

/** Sends one request. */
export const send = async <Value>(path: string, call: Call = {}): Promise<Result<Value>> => {
  const { method = 'GET', body, headers, as, file, signal = null } = call;
  let response: Response;
  try {
    response = await fetch(`/console${path}`, {
      method,
      headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      body: body === undefined ? (file ?? null) : JSON.stringify(body),
      signal,
    });
    if (!response.ok) return { ok: false, failure: await failureOf(response) };
    const value = (
      as === 'blob' ? await response.blob() : parseBody(await response.text())
    ) as Value;
    return { ok: true, value, status: response.status };
  } catch {
    // `fetch` and aborted bodies throw.
    return { ok: false, failure: await failureOfCall(call) };
  }
};

/** Reads the response to a request that needs no session; the node may not be reachable. */
const read = async <Value>(
  path: string,
  init: RequestInit,
  valueOf: (response: Response) => Promise<Result<Value>>,
): Promise<Result<Value>> => {
  try {
    return await valueOf(await fetch(path, init));
  } catch {
    // The node cannot be reached, or the request was aborted.
    return { ok: false, failure: { kind: 'offline' } };
  }
};

/** A stream of events sends a message every 15 s. After this silence, a connection is lost (ms). */
const silenceMs = 45_000;

/** Opens a response that is read while it arrives. Its bytes throw after an error of the connection. */
export const openStream = (
  path: string,
  { headers = {}, signal = null }: Pick<RequestInit, 'headers' | 'signal'> = {},
): Promise<Result<AsyncIterable<Uint8Array>>> =>
  read(`/console${path}`, { headers, signal }, async (response) => {
    const { ok, body, status } = response;
    if (!ok) return { ok: false, failure: await failureOf(response) };
    const attempt = new Attempt(signal ?? undefined, String);
    return { ok: true, value: attempt.bytes({ body }, silenceMs), status };
  });

/** The health of the node that responds. A node that is not ready responds with 503. */
export const readHealth = (): Promise<Result<HealthResponse>> =>
  read('/health/ready', {}, async (response) => {
    const value = (await response.json()) as HealthResponse;
    return { ok: true, value, status: response.status };
  });

/** Whether the edge serves a host as a domain of its own: see `/tls/ask`. Not for the host of the default domain. */
export const isServedDomain = (host: string): Promise<Result<boolean>> =>
  read(`/tls/ask?${new URLSearchParams({ domain: host }).toString()}`, {}, ({ ok, status }) =>
    Promise.resolve({ ok: true, value: ok, status }),
  );

const isSignedOut = (result: Result<unknown>): boolean =>
  !result.ok && result.failure.kind === 'refused' && result.failure.status === 401;

let signInAgain: () => Promise<void> = () => Promise.resolve();

/** Sets the function that requests a new session after the end of the current one. */
export const onSignedOut = (signIn: () => Promise<void>): void => {
  signInAgain = signIn;
};

/**
 * An attempt of a request. If the session has ended, it is repeated with the next session, so that no input is lost.
 */
export const withSession = async <Value>(
  attempt: () => Promise<Result<Value>>,
): Promise<Result<Value>> => {
  const result = await attempt();
  if (!isSignedOut(result)) return result;
  await signInAgain();
  return withSession(attempt);
};

/** A request of a page. */
export const callApi = <Value>(path: string, call: Call = {}): Promise<Result<Value>> =>
  withSession(() => send<Value>(path, call));

/** A value of `Idempotency-Key`. `crypto.randomUUID` is only available on https and localhost. */
export const randomId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
