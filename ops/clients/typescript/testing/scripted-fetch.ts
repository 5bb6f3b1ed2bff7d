import { Linklog, type LinklogOptions } from '../src/index.js';
import type { FetchRequest } from '../src/standards.js';

export interface SentRequest extends FetchRequest {
  readonly url: string;
}

export interface ScriptedResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, or a text as it is. */
  readonly body?: unknown;
}

/** A step of a script: a response, an error of the connection, or what a function returns. */
type Step =
  | ScriptedResponse
  | Error
  | ((request: SentRequest) => Response | ScriptedResponse | Promise<Response>);

const toResponse = ({ status = 200, headers = {}, body = {} }: ScriptedResponse): Response => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return new Response(status === 204 ? null : text, { status, headers });
};

export const testKey = 'll_0123456789abcdefghijklmnopqrstuvABCDEF';
export const baseUrl = 'http://api.test';

/** A retry without a pause. */
export const immediately = { 'Retry-After': '0' };

/** Responds to the requests with the steps of a script; the last step is repeated. */
export const scripted = (...steps: readonly Step[]) => {
  const requests: SentRequest[] = [];
  const fetch = async (url: string, request: FetchRequest): Promise<Response> => {
    const sent = { url, ...request };
    const step = steps[Math.min(requests.length, steps.length - 1)] ?? {};
    requests.push(sent);
    await Promise.resolve();
    if (step instanceof Error) throw step;
    const response = typeof step === 'function' ? await step(sent) : step;
    return response instanceof Response ? response : toResponse(response);
  };
  return { requests, fetch };
};

/** A client with a script. */
export const scriptedClient = (
  steps: readonly Step[],
  options: Partial<LinklogOptions> = {},
): { readonly client: Linklog; readonly requests: readonly SentRequest[] } => {
  const { fetch, requests } = scripted(...steps);
  return { client: new Linklog({ key: testKey, baseUrl, fetch, ...options }), requests };
};

/** Never responds, and ignores its signal. */
export const silent = (): Promise<Response> => new Promise<Response>(() => undefined);

/** The bytes of a text in chunks. */
export const streamOf = (...chunks: readonly string[]): Response =>
  new Response(
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
        controller.close();
      },
    }),
  );

/** A text whose connection stays open. */
export const openStreamOf = (text: string, onCancel?: () => void): Response =>
  new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
      },
      ...(onCancel && { cancel: onCancel }),
    }),
  );

/** A text whose connection is cut at its end. */
export const cutStreamOf = (text: string): Response => {
  const chunks = [new TextEncoder().encode(text)];
  return new Response(
    new ReadableStream({
      pull(controller) {
        const chunk = chunks.shift();
        if (chunk) controller.enqueue(chunk);
        else controller.error(new TypeError('terminated'));
      },
    }),
  );
};
