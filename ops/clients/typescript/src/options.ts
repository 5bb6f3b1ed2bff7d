import type { FetchRequest, FetchResponse, Signal } from './standards.js';

export interface LinklogOptions {
  /** The API key: `ll_…`. */
  readonly key: string;
  /** The address of the API, such as `https://api.example.com`. */
  readonly baseUrl: string;
  /** The maximum duration of each attempt (ms), of a stream until its headers. Default: 30,000. */
  readonly timeoutMs?: number;
  /** The number of attempts after the first one. Default: 2. */
  readonly maxRetries?: number;
  /** Default: the global `fetch`. */
  readonly fetch?: (url: string, request: FetchRequest) => Promise<FetchResponse>;
}

export interface CallOptions {
  /** An `AbortSignal`, which ends the call with an `AbortError`. */
  readonly signal?: Signal | undefined;
  /** Default: that of the client. */
  readonly timeoutMs?: number | undefined;
}

export interface LinkOptions extends CallOptions {
  /** The domain of the link. Default: the default domain. */
  readonly domain?: string | undefined;
}

export interface ChangeOptions extends LinkOptions {
  /** The required `version` of the link, or an `ETag`: otherwise 412. A change is retried only with it. */
  readonly ifMatch?: number | string | undefined;
}

export interface CreateOptions extends CallOptions {
  /** 1 to 255 characters. Default: a random one for each call, so that a retry creates nothing twice. */
  readonly idempotencyKey?: string | undefined;
}

/** What a method needs of its operation. */
export interface Operation {
  readonly method: string;
  /** With parameters, such as `{shortCode}`. */
  readonly path: string;
  readonly body?: 'json' | 'file';
  readonly hasQuery?: boolean;
  /** Whether the domain of the link is an option. */
  readonly isAddressed?: boolean;
  readonly isIdempotent?: boolean;
  readonly hasVersion?: boolean;
  /** `bytes`: the whole file; `lines`: the objects of JSON lines; `items`: the property of a page with its items. */
  readonly result: { kind: 'json' | 'bytes' | 'stream' | 'lines' } | { items: string };
}
