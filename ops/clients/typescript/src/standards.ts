/** What the client uses of the DOM, without which its types compile, too. */

/** An `AbortSignal`. */
export interface Signal {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** A `ReadableStream` of bytes. */
export interface ByteStream {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(): Promise<void>;
  };
}

/** A `Response`. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ByteStream | null;
  text(): Promise<string>;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** The second argument of the global `fetch`, where it is declared: the function is assignable then. */
type StandardRequest = typeof globalThis extends {
  fetch: (url: never, init?: infer Init) => unknown;
}
  ? NonNullable<Init>
  : object;

export type FetchRequest = StandardRequest & {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string | object;
  readonly signal: Signal;
};

/** A file of another service: text, bytes, a `Blob`, a `ReadableStream`, or chunks such as a stream of Node. */
export type ImportFile =
  | string
  | Uint8Array
  | ByteStream
  | AsyncIterable<Uint8Array>
  | { arrayBuffer(): Promise<ArrayBuffer> };
