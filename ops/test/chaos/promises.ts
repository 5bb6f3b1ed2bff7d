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

/** A link that its owner edits, disables, enables and finally deletes. */
export interface ManagedLink {
  readonly link: PromisedLink;
  /** Every destination of a request. */
  readonly urls: Set<string>;
  /** The destinations of its visits, by request id. */
  readonly served: Map<string, string>;
  /** `done` after a 204. */
  deletion: 'none' | 'requested' | 'done';
  /** A change is in progress: changes are sequential, except in a race. */
  isBusy: boolean;
}

/** The change of a link at the version of the response. */
export interface PromisedVersion {
  readonly code: string;
  readonly version: number;
  readonly is: { readonly url?: string; readonly disabled?: boolean };
}

export interface Promises {
  readonly links: PromisedLink[];
  readonly openCreations: OpenCreation[];
  /** Aliases that were refused as taken. */
  readonly refusedAliases: Set<string>;
  readonly managed: ManagedLink[];
  readonly versions: PromisedVersion[];
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
  managed: [],
  versions: [],
  passed: new Map(),
  freeLinks: 0,
  failedVisits: 0,
  broken: [],
});

/** Whether another client may edit, disable or delete the link concurrently. */
export const mayChange = ({ managed }: Promises, link: PromisedLink): boolean =>
  managed.some((changing) => changing.link === link);
