/** What the product has promised to its clients so far, kept outside of it. */
export interface PromisedLink {
  readonly code: string;
  readonly url: string;
  /** `null` for a link without a limit. */
  readonly maxClicks: number | null;
  /** Visits that were answered with a redirect. */
  redirected: number;
  /** Visits that were never answered: each may be counted, or not. */
  unanswered: number;
  /** Whether a visit was answered with 410. */
  gone: boolean;
}

/** A POST that was never answered: it may have made a link, or not. */
export interface OpenCreation {
  readonly idempotencyKey: string;
  readonly body: { readonly url: string; readonly maxClicks?: number };
}

export interface Promises {
  readonly links: PromisedLink[];
  readonly openCreations: OpenCreation[];
  /** Calls of the FREE key that passed, by the second at which their window was said to reset. */
  readonly passed: Map<number, number>;
  /** Links that a FREE key got a 201 for. */
  freeLinks: number;
  /** What was promised and did not hold, in words. */
  readonly broken: string[];
}

export const noPromises = (): Promises => ({
  links: [],
  openCreations: [],
  passed: new Map(),
  freeLinks: 0,
  broken: [],
});
