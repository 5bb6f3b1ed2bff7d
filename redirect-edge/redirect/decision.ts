import { campaignOf } from '../../schemas/campaign.js';
import type { LinkState } from '../../schemas/folds/link.js';
import { statusAt, type RecordedStatus } from '../../schemas/folds/link-status.js';
import { mapOptionUrls, type LinkOptions } from '../../schemas/link-options.js';
import { ruleUrls } from '../../schemas/redirect-rules.js';
import { locationOf } from '../../schemas/location.js';

/** A link as the edge caches it: what responses need, computed once. */
export interface ServedLink {
  readonly subject: string;
  readonly account: string;
  readonly status: RecordedStatus;
  readonly location: string;
  /** Their URLs are locations. */
  readonly options: LinkOptions;
  /** The subjects of its further codes. */
  readonly codes: readonly string[];
  /** The campaigns of its destinations that have one, by location; `null`: none has. */
  readonly campaigns: ReadonlyMap<string, string> | null;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch; `null` for a link without a start. */
  readonly startsAt: number | null;
  /** Milliseconds since the epoch; `null` for a link without an end. */
  readonly expiresAt: number | null;
  /** Whether it has a limit of clicks, which the ledger counts exactly. */
  readonly limited: boolean;
  /** argon2id; `null` for a link without a password. */
  readonly passwordHash: string | null;
  /** The sequence of the last event in it. */
  readonly sequence: number;
}

export const campaignsIn = ({
  location,
  options,
}: Pick<ServedLink, 'location' | 'options'>): ServedLink['campaigns'] => {
  const campaigns = [location, ...ruleUrls(options.rules ?? [])].flatMap((url) => {
    const campaign = campaignOf(url);
    return campaign === null ? [] : [[url, campaign] as const];
  });
  return campaigns.length === 0 ? null : new Map(campaigns);
};

/** The link of a state; `null` if it never existed. */
export const servedLink = (state: LinkState, sequence: number): ServedLink | null => {
  if (state.status === 'none') return null;
  const { link, status } = state;
  const location = locationOf(link.url);
  const options = mapOptionUrls(link.options, locationOf);
  return {
    subject: link.subject,
    account: link.account,
    status,
    location,
    options,
    codes: link.codes,
    campaigns: campaignsIn({ location, options }),
    createdAt: Date.parse(link.createdAt),
    startsAt: link.startsAt === null ? null : Date.parse(link.startsAt),
    expiresAt: link.expiresAt === null ? null : Date.parse(link.expiresAt),
    limited: link.maxClicks !== null,
    passwordHash: link.passwordHash,
    sequence,
  };
};

export interface VisitRequest {
  /** A HEAD request, which is never counted. */
  readonly head: boolean;
  readonly bot: boolean;
  /** A request that Microsoft Office sends before it opens the browser. */
  readonly office: boolean;
  /** A request for the preview of a link in messages and posts. */
  readonly previewer: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Why a link does not redirect. Before its start, a link is not found. */
export interface NoRedirect {
  readonly type: 'notFound' | Exclude<RecordedStatus, 'active'>;
}

export type VisitDecision =
  | NoRedirect
  /** Redirect, after the visit is recorded if `counted`. */
  | { readonly type: 'redirect'; readonly counted: boolean }
  /** Redirect if the link has a click left in the ledger. */
  | { readonly type: 'takeClick' }
  /** The form for the password. */
  | { readonly type: 'askPassword' }
  /** A form without fields. Crawlers do not submit it, so they take no clicks. */
  | { readonly type: 'askToContinue' }
  /** A page that refreshes to the short URL. */
  | { readonly type: 'refresh' }
  /** A page with the card of the link. The visit is recorded first if `counted`. */
  | { readonly type: 'card'; readonly counted: boolean };

/** Whether the link accepts POST. */
export const hasForm = ({ limited, passwordHash }: ServedLink): boolean =>
  limited || passwordHash !== null;

const noRedirectFor = (link: ServedLink, now: number): NoRedirect | null => {
  const type = statusAt(link.status, link.startsAt, link.expiresAt, now);
  if (type === 'scheduled') return { type: 'notFound' };
  return type === 'active' ? null : { type };
};

/** Decides a GET or HEAD request. */
export const decideVisit = (link: ServedLink | null, visit: VisitRequest): VisitDecision => {
  if (!link) return { type: 'notFound' };
  const noRedirect = noRedirectFor(link, visit.now);
  if (noRedirect) return noRedirect;
  if (visit.office) return { type: 'refresh' };
  if (visit.previewer && link.options.card) {
    return { type: 'card', counted: !visit.head && !hasForm(link) };
  }
  if (link.passwordHash !== null) return { type: 'askPassword' };
  if (!link.limited) return { type: 'redirect', counted: !visit.head };
  return visit.head || visit.bot ? { type: 'askToContinue' } : { type: 'takeClick' };
};

/** A submitted form, with a password if the link has one. */
interface FormEntry {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Whether the password was checked and is correct. */
  readonly accepted: boolean;
}

export type EntryDecision =
  | Extract<VisitDecision, NoRedirect | { readonly type: 'redirect' | 'takeClick' }>
  /** The link has neither a password nor a limit, so it does not accept POST. */
  | { readonly type: 'noForm' }
  | { readonly type: 'checkPassword'; readonly passwordHash: string };

/** Decides a submitted form. Called before the password check, and again after it. */
export const decideEntry = (link: ServedLink | null, entry: FormEntry): EntryDecision => {
  if (!link || !hasForm(link)) return { type: 'noForm' };
  const noRedirect = noRedirectFor(link, entry.now);
  if (noRedirect) return noRedirect;
  const { passwordHash } = link;
  if (passwordHash !== null && !entry.accepted) return { type: 'checkPassword', passwordHash };
  return link.limited ? { type: 'takeClick' } : { type: 'redirect', counted: true };
};

export type PreviewDecision =
  | NoRedirect
  | {
      readonly type: 'preview';
      /** All possible destinations; `null` if only counted visitors may see them. */
      readonly locations: readonly string[] | null;
      /** Milliseconds since the epoch. */
      readonly createdAt: number;
      /** `null` for a link without an end. */
      readonly expiresAt: number | null;
    };

/** Decides the preview page, also for bots and HEAD. */
export const decidePreview = (link: ServedLink | null, now: number): PreviewDecision => {
  if (!link) return { type: 'notFound' };
  const noRedirect = noRedirectFor(link, now);
  if (noRedirect) return noRedirect;
  const { createdAt, expiresAt, location, options } = link;
  const locations = [...ruleUrls(options.rules ?? []), location];
  return {
    type: 'preview',
    locations: hasForm(link) ? null : [...new Set(locations)],
    createdAt,
    expiresAt,
  };
};
