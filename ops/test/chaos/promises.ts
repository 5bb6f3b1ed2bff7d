/** What the product has acknowledged to its clients. */
export interface PromisedLink {
  readonly code: string;
  readonly url: string;
  /** `null` for a link without a limit. */
  readonly maxClicks: number | null;
  /** Visits with a redirect as response. */
  redirected: number;
  /** Visits without a response: they may be counted or not. */
  unanswered: number;
  /** Visits that wait for a response. */
  inFlight: number;
  /** Whether a visit got 410. */
  gone: boolean;
}

/** A POST without a response: it may have created a link or not. */
export interface OpenCreation {
  readonly idempotencyKey: string;
  readonly body: { readonly url: string; readonly alias?: string; readonly maxClicks?: number };
}

export interface Promises {
  readonly links: PromisedLink[];
  readonly openCreations: OpenCreation[];
  /** Aliases that were refused as taken. */
  readonly refusedAliases: Set<string>;
  /** Admitted calls of the FREE key, by the reset time of their window (Unix seconds). */
  readonly passed: Map<number, number>;
  /** Links that a FREE key created. */
  freeLinks: number;
  /** Visits that got 503, or no response. */
  failedVisits: number;
  /** Descriptions of broken promises. */
  readonly broken: string[];
}

export const noPromises = (): Promises => ({
  links: [],
  openCreations: [],
  refusedAliases: new Set(),
  passed: new Map(),
  freeLinks: 0,
  failedVisits: 0,
  broken: [],
});
