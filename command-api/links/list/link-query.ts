import { createHash } from 'node:crypto';
import { z } from 'zod';
import { linkStatusAt, type Link, type ExistingLink } from '../../../schemas/folds/link.js';
import { accountName } from '../../../schemas/http/keys.js';
import { foldedTextOf, foldText } from '../../../schemas/folded-text.js';
import { creationPeriodOf, type LinkQuery } from '../../../schemas/http/list-links.js';
import { destinationsOf, type LeadingLink } from '../../../schemas/link-options.js';
import { compareSubjects, linkOfSubject } from '../../../schemas/link-subject.js';
import { parseUrl } from '../../../schemas/parse-url.js';

/** A query for the links of an account; `null`: of all accounts. */
export interface ListQuery extends Omit<LinkQuery, 'domain'> {
  /** `null`: the default domain. */
  readonly domain?: string | null | undefined;
  readonly account: string | null;
}

export interface AccountQuery extends ListQuery {
  readonly account: string;
}

export const hasDestination = (
  { destination }: Pick<LinkQuery, 'destination'>,
  link: LeadingLink,
): boolean =>
  destination === undefined ||
  destinationsOf(link).some((url) => parseUrl(url)?.hostname === destination);

const matchesTexts = (query: ListQuery, link: Link): boolean => {
  const { search, tag: tags } = query;
  if (search !== undefined) {
    const folded = foldedTextOf(link);
    if (!search.every((term) => folded.includes(term))) return false;
  }
  const folded = tags.length === 0 ? [] : link.tags.map(foldText);
  return tags.every((tag) => folded.includes(tag)) && hasDestination(query, link);
};

/**
 * Whether a link matches a query at a time. `hasChanged`: the link changed after PostgreSQL compared its texts, so they
 * are compared again.
 */
export const linkMatcher = (
  query: ListQuery,
  now: Date,
): ((link: ExistingLink, hasChanged: boolean) => boolean) => {
  const { account, status: asked, domain } = query;
  return (state, hasChanged) => {
    const { link } = state;
    const status = linkStatusAt(state, now);
    return (
      (account === null || link.account === account) &&
      (domain === undefined || linkOfSubject(link.subject).domain === domain) &&
      (asked === undefined ? status !== 'deleted' : status === asked) &&
      (!hasChanged || matchesTexts(query, link))
    );
  };
};

/**
 * A position in a list: after this link. Lists are in the order of creation, newest first; those of all accounts by
 * account first. In a list by clicks, links with clicks of any account come before, in the order of clicks and then of
 * subjects.
 */
export interface ListCursor {
  readonly account: string;
  /** 0 in a list by creation. */
  readonly clicks: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly subject: string;
}

export const compareCursors = (a: ListCursor, b: ListCursor): number => {
  if (a.clicks !== b.clicks) return b.clicks - a.clicks;
  const bySubject = compareSubjects(a.subject, b.subject);
  if (a.clicks > 0) return bySubject;
  return compareSubjects(a.account, b.account) || b.createdAt - a.createdAt || -bySubject;
};

/** Equal for queries that differ only in the page size. */
const fingerprintOf = (query: ListQuery): string => {
  const { account, sort, search, tag, status, destination, domain } = query;
  const { from, before } = creationPeriodOf(query);
  return createHash('sha256')
    .update(
      JSON.stringify([
        ...[account, sort, search, [...tag].sort(), status, destination, String(domain)],
        ...[from, before],
      ]),
    )
    .digest('base64url')
    .slice(0, 12);
};

const written = z.tuple([
  z.string(),
  accountName,
  z.int().min(0),
  z.int().min(0).max(8.64e15),
  // Empty: before the first link of this time. PostgreSQL accepts no null character.
  z.string().refine((subject) => !subject.includes('\0')),
]);

export const writeCursor = (
  { account, clicks, createdAt, subject }: ListCursor,
  query: ListQuery,
): string =>
  Buffer.from(JSON.stringify([fingerprintOf(query), account, clicks, createdAt, subject])).toString(
    'base64url',
  );

/** Reads `after`; `null` if it is not a `next` of this query. */
export const readCursor = (after: string, query: ListQuery): ListCursor | null => {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(after, 'base64url').toString());
  } catch {
    return null;
  }
  const read = written.safeParse(parts);
  if (!read.success) return null;
  const [, account, clicks, createdAt, subject] = read.data;
  const cursor = { account, clicks, createdAt, subject };
  const isInList = query.account === null || query.account === account;
  return isInList && writeCursor(cursor, query) === after ? cursor : null;
};
