import { linkStatusAt, type ExistingLink, type LinkState } from '../../schemas/folds/link.js';
import { linkOfSubject, shortUrlOf } from '../../schemas/link-subject.js';
import { shown } from '../../schemas/http/link-options.js';
import type { LinkDetails } from '../../schemas/http/links.js';
import type { OperatorsLink } from '../../schemas/http/operators.js';
import type { RecordedStatus } from '../../schemas/folds/link-status.js';
import { messages } from '../../schemas/http/errors.js';
import { failure, type Reply } from '../http/reply.js';

export const goneResponses: Readonly<Record<Exclude<RecordedStatus, 'active'>, Reply>> = {
  deleted: { ...failure(410, messages.linkDeleted), errorType: 'DELETED' },
  blocked: { ...failure(410, messages.linkBlocked), errorType: 'BLOCKED' },
  disabled: { ...failure(410, messages.linkDisabled), errorType: 'DISABLED' },
  expired: { ...failure(410, messages.linkExpired), errorType: 'EXPIRED' },
};

/** The error response for a link that does not redirect; `null` if it redirects, now or later. */
export const goneReply = (state: LinkState, now: Date): Reply | null => {
  if (state.status === 'none') return failure(404, messages.codeNotFound);
  const status = linkStatusAt(state, now);
  return status === 'active' || status === 'scheduled' ? null : goneResponses[status];
};

export const linkDetailsOf = (
  state: ExistingLink,
  known: {
    readonly version: number;
    readonly clicks: { readonly clicks: number; readonly lastAccessed: Date | null };
    /** Clicks that count against the limit. */
    readonly clicksTaken: number;
    readonly shortUrlHost: string;
    readonly now: Date;
  },
): LinkDetails => {
  const { link } = state;
  const { domain, code } = linkOfSubject(link.subject);
  return {
    shortUrl: shortUrlOf(link.subject, known.shortUrlHost),
    shortCode: code,
    domain,
    url: link.url,
    alias: link.custom ? code : null,
    startsAt: link.startsAt,
    expiresAt: link.expiresAt,
    maxClicks: link.maxClicks,
    createdAt: link.createdAt,
    status: linkStatusAt(state, known.now),
    title: link.title,
    note: link.note,
    tags: link.tags,
    hasPassword: link.passwordHash !== null,
    clickCount: known.clicks.clicks,
    clicksLeft: link.maxClicks === null ? null : Math.max(0, link.maxClicks - known.clicksTaken),
    lastAccessed: known.clicks.lastAccessed?.toISOString() ?? null,
    updatedAt: link.updatedAt,
    ...shown(link.options),
    ...(link.codes.length > 0 && {
      codes: link.codes.map((subject) => {
        const identity = linkOfSubject(subject);
        return {
          code: identity.code,
          ...(identity.domain !== null && { domain: identity.domain }),
          shortUrl: shortUrlOf(subject, known.shortUrlHost),
        };
      }),
    }),
    version: known.version,
  };
};

export const withAccount = (
  details: LinkDetails,
  { link }: { readonly link: ExistingLink },
): OperatorsLink => ({ ...details, account: link.link.account });
