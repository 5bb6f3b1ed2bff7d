import { readLinkStates } from '../../../ops/ledger/link-states.js';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import {
  planByKey,
  transaction,
  type Client,
  type Pool,
} from '../../../ops/platform/postgres/pool.js';
import type { ExistingLink } from '../../../schemas/folds/link.js';
import {
  byPlace,
  hasDomain,
  linkMatcher,
  type AccountQuery,
  type ListPlace,
  type ListQuery,
} from './link-query.js';
import { noClicks, readClicks, type ClicksOfLink } from '../clicks.js';
import { clicksOf, nextByClicks } from './links-by-clicks.js';
import {
  amongCodes,
  findByTextIndex,
  findExamined,
  isIndexed,
  nextAccount,
  placeBehind,
  selectionOf,
  type Candidate,
  type Selection,
} from './link-selection.js';

/** How much is looked at for one page: a match that is too rare is on a later one. */
export interface Effort {
  /** Links that the first step examines. */
  readonly examined: number;
  /** The same of the links with a tag, which are read one by one. */
  readonly tagged: number;
  /** Steps, each of which examines twice as many links as the step before. */
  readonly steps: number;
  /** Links that the text index returns at most. */
  readonly indexed: number;
  /** Matches that are sorted by clicks at most. Of more, the most clicked links are examined. */
  readonly few: number;
  /** Clicked links that each step examines. */
  readonly clicked: number;
  /** Accounts, in a list of all accounts. */
  readonly accounts: number;
}

const bounded: Effort = {
  ...{ examined: 1_000, tagged: 500, steps: 5, indexed: 10_000 },
  ...{ few: 1_000, clicked: 400, accounts: 100 },
};

/** A search is frequent if as many links as this times those of the first step have enough matches for a page. */
const frequentFactor = 8;

/** However old the statistics of a table are, nobody sorts all links of an account. */
const inOrderOfIndexes = `${planByKey('LOCAL')};
  SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off`;

export interface ListRequest {
  readonly query: ListQuery;
  /** `null`: from the beginning. */
  readonly after: ListPlace | null;
  readonly limit: number;
  readonly now: Date;
}

export interface ListedLink {
  /** Where a page ends that ends with this link. */
  readonly place: ListPlace;
  readonly link: ExistingLink;
  readonly version: number;
  readonly clicks: ClicksOfLink;
}

export interface ListedLinks {
  readonly links: readonly ListedLink[];
  /** Where the next page begins; `null` after the last one. */
  readonly next: ListPlace | null;
}

/** A link that matches, as the projection has it. */
interface FoundPlace extends ListPlace {
  /** Of its last event in the projection. */
  readonly sequence: number;
}

/** Places of matching links, in order, and where the search for more goes on; `null` at the list's end. */
interface Found {
  readonly places: readonly FoundPlace[];
  readonly end: ListPlace | null;
}

interface FoundByCreation extends Found {
  /** How many links were looked through, at most. */
  readonly examined: number;
}

/** The places of those candidates that match. */
const placesOf = (query: AccountQuery, candidates: readonly Candidate[]): readonly FoundPlace[] =>
  candidates
    .filter(({ url }) => hasDomain(query, url))
    .map((candidate) => ({
      ...placeBehind(query, candidate),
      sequence: candidate.sequence,
    }));

/**
 * Finds up to `wanted` links in the order of creation. It examines the newest links first, which finds what many links
 * have. The text index finds what few links have.
 */
const findByCreation = async (
  tx: Client,
  selection: Selection,
  after: ListPlace | null,
  wanted: number,
  effort: Effort,
): Promise<FoundByCreation> => {
  const { query } = selection;
  const first = selection.tag === null ? effort.examined : effort.tagged;
  const places: FoundPlace[] = [];
  let end = after;
  let examined = 0;
  const add = (candidates: readonly Candidate[]): void => {
    places.push(...placesOf(query, candidates));
  };
  for (let step = 0; step < effort.steps; step += 1) {
    const found = await findExamined(tx, selection, end, {
      examined: first * 2 ** step,
      wanted: wanted - places.length,
    });
    add(found.candidates);
    ({ end } = found);
    examined += found.examined;
    if (end === null || places.length >= wanted) break;
    if (step > 0 || !isIndexed(query) || places.length * frequentFactor >= wanted) continue;
    const indexed = await findByTextIndex(tx, selection, end, {
      wanted: wanted - places.length,
      atMost: effort.indexed,
    });
    if (!indexed) continue;
    add(indexed.candidates);
    return { places, end: indexed.end, examined: examined + effort.examined };
  }
  return { places, end, examined };
};

/** The same in the order of clicks; `after` and the places have their clicks. */
const findByClicks = async (
  tx: Client,
  selection: Selection,
  after: ListPlace | null,
  wanted: number,
  effort: Effort,
): Promise<Found> => {
  const { query } = selection;
  const isFiltered =
    query.search !== undefined ||
    query.domain !== undefined ||
    query.createdAfter !== undefined ||
    query.createdBefore !== undefined ||
    query.tag.length > 0;
  if (isFiltered || (query.status !== undefined && query.status !== 'active')) {
    const all = await findByCreation(tx, selection, null, effort.few + 1, effort);
    if (all.end === null && all.places.length <= effort.few) {
      const clicks = await clicksOf(tx, all.places);
      const sorted = all.places
        .map((place) => ({ ...place, clicks: clicks.get(place.code) ?? 0 }))
        .sort(byPlace);
      return {
        places: sorted.filter((place) => after === null || byPlace(after, place) < 0),
        end: null,
      };
    }
  }
  const places: FoundPlace[] = [];
  let end = after;
  for (let step = 0; step < effort.steps && (end === null || end.clicks > 0); step += 1) {
    const clicked = await nextByClicks(tx, query.account, end, effort.clicked);
    const found = new Map(
      placesOf(query, await amongCodes(tx, selection, clicked)).map((place) => [place.code, place]),
    );
    for (const { code, clicks } of clicked) {
      const place = found.get(code);
      if (place) places.push({ ...place, clicks });
    }
    const last = clicked.at(-1);
    const { account } = query;
    // Those without clicks follow, the newest first.
    end = last
      ? { ...last, account, createdAt: 0 }
      : { account, clicks: 0, createdAt: Infinity, code: '' };
    if (places.length >= wanted) return { places, end };
  }
  if (end === null || end.clicks > 0) return { places, end };
  const from = end.createdAt === Infinity ? null : end;
  const rest = await findByCreation(
    tx,
    { ...selection, withoutClicks: true },
    from,
    wanted - places.length,
    effort,
  );
  return { places: [...places, ...rest.places], end: rest.end };
};

/** The same of all accounts, one after the other by name, as long as little was looked through. */
const findInAccounts = async (
  tx: Client,
  { query, after, now }: ListRequest,
  wanted: number,
  effort: Effort,
): Promise<Found> => {
  const places: FoundPlace[] = [];
  const maxExamined = effort.examined * (2 ** effort.steps - 1);
  let account = after ? after.account : await nextAccount(tx, '');
  let begin = after;
  let examined = 0;
  // Of the account that the page before ended in, nothing may be left.
  for (let accounts = after ? 0 : 1; account !== null; accounts += 1) {
    const selection = await selectionOf(tx, { ...query, account }, now);
    const left = wanted - places.length;
    const found = await findByCreation(tx, selection, begin, left, effort);
    places.push(...found.places);
    if (found.end !== null) return { places, end: found.end };
    const next = await nextAccount(tx, account);
    examined += found.examined;
    const isEnough =
      places.length >= wanted || accounts >= effort.accounts || examined >= maxExamined;
    if (isEnough && next !== null) {
      return { places, end: { account, clicks: 0, createdAt: 0, code: '' } };
    }
    account = next;
    begin = null;
  }
  return { places, end: null };
};

const find = async (
  tx: Client,
  request: ListRequest,
  wanted: number,
  effort: Effort,
): Promise<Found> => {
  const { query, after, now } = request;
  const { account } = query;
  if (account === null) return findInAccounts(tx, request, wanted, effort);
  const selection = await selectionOf(tx, { ...query, account }, now);
  const findInOrder = query.sort === 'clicks' ? findByClicks : findByCreation;
  return findInOrder(tx, selection, after, wanted, effort);
};

/**
 * A page of links, all of one moment, as a query asks for them. It may have fewer links than `limit`, even none,
 * before the last page: matches that are too rare are on a later one.
 */
export const listLinks = (
  pool: Pool,
  outbox: Outbox,
  request: ListRequest,
  effort = bounded,
): Promise<ListedLinks> =>
  transaction(pool, async (tx) => {
    await tx.query(
      `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; ${inOrderOfIndexes}`,
    );
    const { query, limit, now } = request;
    const { places, end } = await find(tx, request, limit + 1, effort);
    const page = places.slice(0, limit);
    const codes = page.map(({ code }) => code);
    const clicks = await readClicks(tx, codes);
    const states = await readLinkStates(tx, outbox, codes);
    // What the projection does not know yet: it lags.
    const matches = linkMatcher(query, now);
    const links = page.flatMap(({ sequence, ...place }): ListedLink[] => {
      const { code } = place;
      const { state, sequence: version } = states.get(code) ?? {};
      if (state === undefined || version === undefined) return [];
      if (state.status === 'none' || !matches(state, version !== sequence)) return [];
      return [{ place, link: state, version, clicks: clicks.get(code) ?? noClicks }];
    });
    return { links, next: places.length > limit ? (page.at(-1) ?? null) : end };
  });
