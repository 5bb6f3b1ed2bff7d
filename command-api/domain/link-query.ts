import { createHash } from 'node:crypto';
import { z } from 'zod';
import { linkStatusAt, type Link, type MadeLink } from '../../schemas/folds/link.js';
import { accountName } from '../../schemas/http/keys.js';
import type { LinkQuery } from '../../schemas/http/list-links.js';
import { parseUrl } from '../../schemas/parse-url.js';
import { foldCase } from '../../schemas/search/fold-case.js';

/** A query for the links of an account; `null`: of all, one account after the other. */
export interface ListQuery extends LinkQuery {
  readonly account: string | null;
}

/** A query for the links of one account. */
export interface AccountQuery extends ListQuery {
  readonly account: string;
}

/** What a query's text is looked for in. */
export type LinkTexts = Pick<Link, 'code' | 'url' | 'title' | 'note'>;

/** Whether `search` and `domain` hold for a link. */
export const textMatcher = ({
  search,
  domain,
}: Pick<LinkQuery, 'search' | 'domain'>): ((link: LinkTexts) => boolean) => {
  const part = search === undefined ? null : foldCase(search);
  return ({ code, url, title, note }) =>
    (part === null ||
      [code, url, title ?? '', note ?? ''].some((text) => foldCase(text).includes(part))) &&
    (domain === undefined || parseUrl(url)?.hostname === domain);
};

/** Whether a link is one of those that a query asks for, at a moment. */
export const linkMatcher = (query: ListQuery, now: Date): ((link: MadeLink) => boolean) => {
  const matchesText = textMatcher(query);
  const { account, tag: tags, status: asked } = query;
  return (state) => {
    const { link } = state;
    const status = linkStatusAt(state, now);
    return (
      (account === null || link.account === account) &&
      (asked === undefined ? status !== 'deleted' : status === asked) &&
      tags.every((tag) => link.tags.includes(tag)) &&
      matchesText(link)
    );
  };
};

/**
 * A place in a list: behind this link. Lists are in the order of creation, the newest first; in one by clicks, those
 * that were clicked come before, in the order of clicks and then of short codes. In a list of all accounts, each
 * account's links follow those of the account before, by its name.
 */
export interface ListPlace {
  readonly account: string;
  /** In a list by creation: 0. */
  readonly clicks: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly code: string;
}

/** A link that was clicked comes before one with fewer clicks, or with as many and a greater short code. */
export const byPlace = (a: ListPlace, b: ListPlace): number => {
  if (a.clicks !== b.clicks) return b.clicks - a.clicks;
  const byCode = a.code === b.code ? 0 : a.code < b.code ? -1 : 1;
  return a.clicks > 0 ? byCode : b.createdAt - a.createdAt || -byCode;
};

/** The same for queries that differ in nothing but the size of a page. */
const fingerprintOf = ({ account, sort, search, tag, status, domain }: ListQuery): string =>
  createHash('sha256')
    .update(JSON.stringify([account, sort, search, [...tag].sort(), status, domain]))
    .digest('base64url')
    .slice(0, 12);

const written = z.tuple([
  z.string(),
  accountName,
  z.int().min(0),
  z.int().min(0).max(8.64e15),
  // Before the first short code of a time, there is none.
  z.string().regex(/^[\w-]{0,50}$/),
]);

/** The `next` of a page that ends there. */
export const writePlace = (
  { account, clicks, createdAt, code }: ListPlace,
  query: ListQuery,
): string =>
  Buffer.from(JSON.stringify([fingerprintOf(query), account, clicks, createdAt, code])).toString(
    'base64url',
  );

/** Reads `after`; `null` where it is no `next` of this query. */
export const readPlace = (after: string, query: ListQuery): ListPlace | null => {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(after, 'base64url').toString());
  } catch {
    return null;
  }
  const read = written.safeParse(parts);
  if (!read.success) return null;
  const [, account, clicks, createdAt, code] = read.data;
  const place = { account, clicks, createdAt, code };
  const isInList = query.account === null || query.account === account;
  return isInList && writePlace(place, query) === after ? place : null;
};
