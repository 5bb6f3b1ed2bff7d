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
  /** Visits that were sent and may still be answered. */
  inFlight: number;
  /** Whether a visit was answered with 410. */
  gone: boolean;
}

/** A POST that was never answered: it may have made a link, or not. */
export interface OpenCreation {
  readonly idempotencyKey: string;
  readonly body: { readonly url: string; readonly alias?: string; readonly maxClicks?: number };
}

/** A change by an operator, or of a key by its owner, that was acknowledged; its event carries the marker. */
export interface PromisedChange {
  readonly marker: string;
  /** It was answered 200: the log proper has it. With 202 it is to come. */
  readonly published: boolean;
}

/** A link that operators block and unblock, over and over. */
export interface SwitchedLink {
  readonly link: PromisedLink;
  /** `null` while an answer is lacking. */
  blocked: boolean | null;
  /** How often it was asked for, and when last, by `performance.now`. */
  switches: number;
}

/** A link that its owner edits, describes, disables, enables and at last deletes. */
export interface ManagedLink {
  readonly link: PromisedLink;
  /** Every destination that it was to have. */
  readonly urls: Set<string>;
  /** Where its visits were redirected to, by their requests. */
  readonly served: Map<string, string>;
  /** Whether its deletion was asked for, and answered with 204. */
  deletion: 'none' | 'asked' | 'done';
  /** Somebody changes it now: one change at a time, unless they race. */
  isBusy: boolean;
}

/** What a link was at a version, as the answer to its change said. */
export interface PromisedVersion {
  readonly code: string;
  readonly version: number;
  readonly is: {
    readonly url?: string;
    readonly title?: string;
    readonly disabled?: boolean;
    /** Among its tags. */
    readonly tag?: string;
  };
}

export interface Promises {
  readonly links: PromisedLink[];
  /** The codes of `links`. */
  readonly codes: Set<string>;
  readonly openCreations: OpenCreation[];
  /** Aliases that somebody was told are taken. */
  readonly refusedAliases: Set<string>;
  readonly switched: SwitchedLink[];
  readonly managed: ManagedLink[];
  readonly versions: PromisedVersion[];
  readonly changes: PromisedChange[];
  /** Calls of the FREE key that passed, by the second at which their window was said to reset. */
  readonly passed: Map<number, number>;
  /** Links that a FREE key got a 201 for. */
  freeLinks: number;
  /** What was promised and did not hold, in words. */
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

/** Notes a 201; no code is given out twice. */
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

/** Whether it may be blocked, disabled, deleted or lead elsewhere at any moment. */
export const mayChange = ({ switched, managed }: Promises, link: PromisedLink): boolean =>
  [...switched, ...managed].some((one) => one.link === link);

/** How many visits of a link may be counted at most. */
export const visitsAtMost = ({ redirected, unanswered, inFlight }: PromisedLink): number =>
  redirected + unanswered + inFlight;
