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

/** An acknowledged change by an operator, or of a key by its owner; its event contains the marker. */
export interface PromisedChange {
  readonly marker: string;
  /** The response was 200: the event is in the log. After 202 it follows later. */
  readonly published: boolean;
}

/** A link that operators block and unblock repeatedly. */
export interface SwitchedLink {
  readonly link: PromisedLink;
  /** `null` while the outcome is unknown. */
  blocked: boolean | null;
  /** The number of requests to block or unblock. */
  switches: number;
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
  readonly is: {
    readonly url?: string;
    readonly title?: string;
    readonly disabled?: boolean;
    /** One of its tags. */
    readonly tag?: string;
  };
}

export interface Promises {
  readonly links: PromisedLink[];
  /** The codes of `links`. */
  readonly codes: Set<string>;
  readonly openCreations: OpenCreation[];
  /** Aliases that were refused as taken. */
  readonly refusedAliases: Set<string>;
  readonly switched: SwitchedLink[];
  readonly managed: ManagedLink[];
  readonly versions: PromisedVersion[];
  readonly changes: PromisedChange[];
  /** Admitted calls of the FREE key, by the reset time of their window (Unix seconds). */
  readonly passed: Map<number, number>;
  /** Links that a FREE key created. */
  freeLinks: number;
  /** Descriptions of broken promises. */
  readonly broken: string[];
}

export const noPromises = (): Promises => ({
  links: [],
  codes: new Set(),
  openCreations: [],
  refusedAliases: new Set(),
  switched: [],
  managed: [],
  versions: [],
  changes: [],
  passed: new Map(),
  freeLinks: 0,
  broken: [],
});

/** Records a 201; codes are unique. */
export const promiseLink = (
  promises: Promises,
  link: Pick<PromisedLink, 'code' | 'url' | 'maxClicks'>,
): PromisedLink => {
  if (promises.codes.has(link.code)) promises.broken.push(`${link.code} got a 201 twice`);
  promises.codes.add(link.code);
  const promised = { ...link, redirected: 0, unanswered: 0, inFlight: 0, gone: false };
  promises.links.push(promised);
  return promised;
};

/** Whether another client may block, edit, disable or delete the link concurrently. */
export const mayChange = ({ switched, managed }: Promises, link: PromisedLink): boolean =>
  [...switched, ...managed].some((changing) => changing.link === link);

/** The maximum number of counted visits. */
export const visitsAtMost = ({ redirected, unanswered, inFlight }: PromisedLink): number =>
  redirected + unanswered + inFlight;
