import { readManyLinkStates } from '../../../ops/ledger/link-states.js';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import { firstWithin } from '../../../ops/platform/collections.js';
import {
  planByKey,
  transaction,
  type Client,
  type Pool,
} from '../../../ops/platform/postgres/pool.js';
import { hasCode } from '../../../ops/platform/errors.js';
import type { ExistingLink } from '../../../schemas/folds/link.js';
import { maxPageBytes } from '../../../schemas/http/paging.js';
import { maxCountedLinks } from '../../../schemas/http/list-links.js';
import {
  compareCursors,
  hasDestination,
  linkMatcher,
  type AccountQuery,
  type ListCursor,
  type ListQuery,
} from './link-query.js';
import { noClicks, readClicks, type ClicksOfLink, nextByClicks } from '../clicks.js';
import {
  amongSubjects,
  countMatches,
  findByTextIndex,
  findExamined,
  isIndexed,
  nextAccount,
  readDestinations,
  cursorAfter,
  selectionOf,
  type Candidate,
  type Selection,
} from './link-selection.js';

/** Bounds of the work for one page. If they are reached, the rest of the matches is on later pages. */
export interface Effort {
  /** Links that the first step examines, in the order of creation. */
  readonly examined: number;
  /** `examined` for a query with a tag, whose links are read one by one. */
  readonly tagged: number;
  /** Each step examines twice as many links as the previous one. */
  readonly steps: number;
  /** If the text index has more matches, it is not used. */
  readonly indexed: number;
  /** If a query has more matches, they are not sorted by clicks; the most clicked links are examined instead. */
  readonly few: number;
  /** Links that each step examines, in the order of clicks. */
  readonly clicked: number;
  /** Accounts per page of a list of all accounts. */
  readonly accounts: number;
  /** Bytes of links that each step and each page reads, unless a single link has more. */
  readonly bytes: number;
}

const bounded: Effort = {
  ...{ examined: 1_000, tagged: 500, steps: 5, indexed: 10_000 },
  ...{ few: 1_000, clicked: 400, accounts: 100, bytes: maxPageBytes },
};

/** A search is frequent if this multiple of the first step's links has enough matches for a page. */
const frequentFactor = 8;

/** Outdated table statistics would make PostgreSQL sort all links of an account. */
const inOrderOfIndexes = `${planByKey('LOCAL')};
  SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off`;

interface Search {
  readonly query: ListQuery;
  readonly after: ListCursor | null;
  readonly now: Date;
}

interface ListRequest extends Search {
  readonly limit: number;
}

export interface ListedLink {
  readonly cursor: ListCursor;
  readonly link: ExistingLink;
  readonly version: number;
  readonly clicks: ClicksOfLink;
}

interface ListedLinks {
  readonly links: readonly ListedLink[];
  /** `null` on the last page. */
  readonly next: ListCursor | null;
}

/** A matching link in the projection, as the cursor after it. */
interface FoundLink extends ListCursor {
  /** The sequence of its last projected event. */
  readonly sequence: number;
  readonly bytes: number;
}

interface Found {
  readonly links: readonly FoundLink[];
  /** Where to search for more; `null` at the end of the list. */
  readonly end: ListCursor | null;
}

interface FoundByCreation extends Found {
  /** The number of examined links, at most. */
  readonly examined: number;
}

const bytesOf = ({ bytes }: { readonly bytes: number }): number => bytes;

interface Matching {
  readonly links: readonly FoundLink[];
  /** The last candidate that was compared, if the others exceed the size; `null` if all were compared. */
  readonly last: Candidate | null;
}

const matchingLinks = async (
  tx: Client,
  query: ListQuery,
  candidates: readonly Candidate[],
  { bytes }: Pick<Effort, 'bytes'>,
): Promise<Matching> => {
  const found = (matches: readonly Candidate[]): readonly FoundLink[] =>
    matches.map((candidate) => {
      const { sequence, bytes } = candidate;
      return { ...cursorAfter(candidate), sequence, bytes };
    });
  if (query.destination === undefined) return { links: found(candidates), last: null };
  const compared = firstWithin(candidates, bytes, bytesOf);
  const destinations = await readDestinations(tx, compared);
  const matches = new Set(
    destinations.filter((link) => hasDestination(query, link)).map(({ subject }) => subject),
  );
  return {
    links: found(compared.filter(({ subject }) => matches.has(subject))),
    last: compared.length < candidates.length ? (compared.at(-1) ?? null) : null,
  };
};

/** The first links, up to a number and a size. */
const firstOf = ({ links, end }: Found, limit: number, { bytes }: Pick<Effort, 'bytes'>): Found => {
  const first = firstWithin(links.slice(0, limit), bytes, bytesOf);
  return { links: first, end: first.length < links.length ? (first.at(-1) ?? null) : end };
};

/**
 * Finds up to `wanted` links of an account in the order of creation. Examining the newest links finds frequent matches; the text index
 * finds rare ones.
 */
const findInAccount = async (
  tx: Client,
  selection: Selection,
  after: ListCursor | null,
  wanted: number,
  effort: Effort,
): Promise<FoundByCreation> => {
  const { query } = selection;
  const first = selection.tag === null ? effort.examined : effort.tagged;
  const links: FoundLink[] = [];
  let end = after;
  let examined = 0;
  /** @returns whether all candidates were compared; otherwise `end` is set */
  const add = async (candidates: readonly Candidate[]): Promise<boolean> => {
    const { links: matches, last } = await matchingLinks(tx, query, candidates, effort);
    links.push(...matches);
    if (last) end = cursorAfter(last);
    return last === null;
  };
  for (let step = 0; step < effort.steps; step += 1) {
    const found = await findExamined(tx, selection, end, {
      examined: first * 2 ** step,
      wanted: wanted - links.length,
    });
    ({ end } = found);
    examined += found.examined;
    if (!(await add(found.candidates)) || end === null || links.length >= wanted) break;
    if (step > 0 || !isIndexed(query) || links.length * frequentFactor >= wanted) continue;
    const indexed = await findByTextIndex(tx, selection, end, {
      wanted: wanted - links.length,
      atMost: effort.indexed,
    });
    if (!indexed) continue;
    ({ end } = indexed);
    await add(indexed.candidates);
    return { links, end, examined: examined + effort.examined };
  }
  return { links, end, examined };
};

/** Finds up to `wanted` links of all accounts, account by account, in the order of names. */
const findInAccounts = async (
  tx: Client,
  { query, after, now }: Search,
  wanted: number,
  effort: Effort,
  withoutClicks: boolean,
): Promise<Found> => {
  const links: FoundLink[] = [];
  const maxExamined = effort.examined * (2 ** effort.steps - 1);
  let account = after ? after.account : await nextAccount(tx, '');
  let begin = after;
  let examined = 0;
  // The account in which the previous page ended may have no more links, so it does not count.
  for (let accounts = after ? 0 : 1; account !== null; accounts += 1) {
    const selection = await selectionOf(tx, { ...query, account }, now, withoutClicks);
    const left = wanted - links.length;
    const found = await findInAccount(tx, selection, begin, left, effort);
    links.push(...found.links);
    if (found.end !== null) return { links, end: found.end };
    const next = await nextAccount(tx, account);
    examined += found.examined;
    const isEnough =
      links.length >= wanted || accounts >= effort.accounts || examined >= maxExamined;
    if (isEnough && next !== null) {
      return { links, end: { account, clicks: 0, createdAt: 0, subject: '' } };
    }
    account = next;
    begin = null;
  }
  return { links, end: null };
};

/** Finds up to `wanted` links in the order of creation. */
const findByCreation = async (
  tx: Client,
  search: Search,
  wanted: number,
  effort: Effort,
  withoutClicks = false,
): Promise<Found> => {
  const { query, after, now } = search;
  const { account } = query;
  if (account === null) return findInAccounts(tx, search, wanted, effort, withoutClicks);
  const selection = await selectionOf(tx, { ...query, account }, now, withoutClicks);
  return findInAccount(tx, selection, after, wanted, effort);
};

/** Finds up to `wanted` links in the order of clicks. */
const findByClicks = async (
  tx: Client,
  search: Search,
  wanted: number,
  effort: Effort,
): Promise<Found> => {
  const { query, after } = search;
  const isFiltered =
    query.search !== undefined ||
    query.destination !== undefined ||
    query.domain !== undefined ||
    query.createdAfter !== undefined ||
    query.createdBefore !== undefined ||
    query.tag.length > 0;
  if (isFiltered || (query.status !== undefined && query.status !== 'active')) {
    const matches = await findByCreation(tx, { ...search, after: null }, effort.few + 1, effort);
    if (matches.end === null && matches.links.length <= effort.few) {
      const subjects = matches.links.map(({ subject }) => subject);
      const clicks = await readClicks(tx, subjects);
      const sorted = matches.links
        .map((link) => ({ ...link, clicks: clicks.get(link.subject)?.clicks ?? 0 }))
        .sort(compareCursors);
      return {
        links: sorted.filter((link) => after === null || compareCursors(after, link) < 0),
        end: null,
      };
    }
  }
  const links: FoundLink[] = [];
  let end = after;
  let isRest = after?.clicks === 0;
  for (let step = 0; step < effort.steps && !isRest; step += 1) {
    const listed = await nextByClicks(tx, query.account, end, effort.clicked);
    const among = await amongSubjects(tx, search, listed);
    const candidates = new Map(among.map((candidate) => [candidate.subject, candidate]));
    const inOrder = listed.flatMap(({ subject }) => candidates.get(subject) ?? []);
    const matching = await matchingLinks(tx, query, inOrder, effort);
    const lastSubject = matching.last?.subject;
    const clicked =
      lastSubject === undefined
        ? listed
        : listed.slice(0, listed.findIndex(({ subject }) => subject === lastSubject) + 1);
    const found = new Map(matching.links.map((link) => [link.subject, link]));
    for (const { subject, clicks } of clicked) {
      const link = found.get(subject);
      if (link) links.push({ ...link, clicks });
    }
    const last = clicked.at(-1);
    isRest = last === undefined;
    if (last) end = { ...last, createdAt: 0 };
    if (links.length >= wanted) return { links, end };
  }
  if (!isRest) return { links, end };
  // Links without clicks follow.
  const from = end !== null && end.clicks > 0 ? null : end;
  const left = wanted - links.length;
  const rest = await findByCreation(tx, { ...search, after: from }, left, effort, true);
  return { links: [...links, ...rest.links], end: rest.end };
};

const find = (tx: Client, search: Search, wanted: number, effort: Effort): Promise<Found> =>
  (search.query.sort === 'clicks' ? findByClicks : findByCreation)(tx, search, wanted, effort);

/** Makes an open transaction a snapshot for lists. */
export const startSnapshot = async (tx: Client): Promise<void> => {
  await tx.query(`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; ${inOrderOfIndexes}`);
};

/** Reads the current states and clicks of found links. Those that no longer match are absent. */
const readListed = async (
  tx: Client,
  outbox: Outbox,
  { query, now }: Pick<ListRequest, 'query' | 'now'>,
  found: readonly FoundLink[],
): Promise<readonly ListedLink[]> => {
  const subjects = found.map(({ subject }) => subject);
  const [clicks, states] = await Promise.all([
    readClicks(tx, subjects),
    readManyLinkStates(tx, outbox, subjects),
  ]);
  // The projection lags, so the current state is checked again.
  const matches = linkMatcher(query, now);
  return found.flatMap(
    ({ sequence, account, clicks: listedClicks, createdAt, subject }): ListedLink[] => {
      const cursor = { account, clicks: listedClicks, createdAt, subject };
      const { state, sequence: version } = states.get(subject) ?? {};
      if (state === undefined || version === undefined) return [];
      if (state.status === 'none' || !matches(state, version !== sequence)) return [];
      return [{ cursor, link: state, version, clicks: clicks.get(subject) ?? noClicks }];
    },
  );
};

/**
 * Reads all links of a query in portions, newest first, from the snapshot of the caller.
 *
 * @param size the number of links to find for a portion, which may have fewer
 */
export async function* listAll(
  tx: Client,
  outbox: Outbox,
  request: { readonly query: AccountQuery; readonly now: Date },
  size: number,
  effort = bounded,
): AsyncGenerator<readonly ListedLink[]> {
  const selection = await selectionOf(tx, request.query, request.now);
  const findAfter = async (after: ListCursor | null): Promise<Found> =>
    firstOf(await findInAccount(tx, selection, after, size, effort), size, effort);
  let found: Found | null = await findAfter(null);
  while (found !== null) {
    const { links, end }: Found = found;
    // PostgreSQL finds the next links while this thread parses the current ones.
    const [next, listed]: [Found | null, readonly ListedLink[]] = await Promise.all([
      end && findAfter(end),
      readListed(tx, outbox, request, links),
    ]);
    yield listed;
    found = next;
  }
}

/**
 * Reads a page of links from one snapshot. A page before the last one may have fewer links than `limit`, even none: the
 * work for each page is bounded.
 */
export const listLinks = (
  pool: Pool,
  outbox: Outbox,
  request: ListRequest,
  effort = bounded,
): Promise<ListedLinks> =>
  transaction(pool, async (tx) => {
    await startSnapshot(tx);
    const { limit } = request;
    const { links, end } = firstOf(await find(tx, request, limit + 1, effort), limit, effort);
    return { links: await readListed(tx, outbox, request, links), next: end };
  });

/**
 * Counts the matches of a query up to `maxCountedLinks`; one more: there are more; `null` if the bounds of the work are
 * reached before. The hosts of destinations are compared in this thread, as in a page.
 */
export const countLinks = async (
  pool: Pool,
  { query, now }: Pick<ListRequest, 'query' | 'now'>,
  effort = bounded,
  most = maxCountedLinks,
): Promise<number | null> => {
  try {
    return await transaction(pool, async (tx) => {
      await startSnapshot(tx);
      if (query.destination === undefined) return countMatches(tx, query, now, most);
      const request = { query: { ...query, sort: 'created' as const }, after: null, limit: 0, now };
      const { links, end } = await find(tx, request, most + 1, effort);
      return end === null || links.length > most ? Math.min(links.length, most + 1) : null;
    });
  } catch (error) {
    // statement_timeout
    if (hasCode(error, '57014')) return null;
    throw error;
  }
};
