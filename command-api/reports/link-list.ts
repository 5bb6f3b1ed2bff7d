import { readLinkStates } from '../../ops/ledger/link-states.js';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import {
  planByKey,
  transaction,
  type Client,
  type Pool,
} from '../../ops/platform/postgres/pool.js';
import type { MadeLink } from '../../schemas/folds/link.js';
import {
  byPlace,
  linkMatcher,
  textMatcher,
  type ListPlace,
  type ListQuery,
} from '../domain/link-query.js';
import { noClicks, readClicks, type ClicksOfLink } from './clicks.js';
import { clicksOf, nextByClicks } from './links-by-clicks.js';
import { findByIndex, findIndex, isSearch, type SearchIndex } from './search-index.js';
import {
  amongCodes,
  findExamined,
  nextAccount,
  placeBehind,
  selectionOf,
  type Candidate,
  type Examined,
  type Selection,
} from './link-selection.js';

/** How much is looked at for one page: a match that is too rare is on a later one. */
export interface Effort {
  /** Links a step … */
  readonly examined: number;
  /** … (of those with a tag, which are read one by one, so many) … */
  readonly tagged: number;
  /** … and steps, … */
  readonly steps: number;
  /** … or blocks of links that may match, by the search index. */
  readonly blocks: number;
  /** So many matches are put in the order of clicks; of more, the most clicked links are looked through, … */
  readonly few: number;
  /** … so many a step. */
  readonly clicked: number;
  /** Of all accounts, so many. */
  readonly accounts: number;
}

const bounded: Effort = {
  ...{ examined: 1_000, tagged: 500, steps: 8, blocks: 240 },
  ...{ few: 1_000, clicked: 250, accounts: 100 },
};

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
  readonly link: MadeLink;
  readonly version: number;
  readonly clicks: ClicksOfLink;
}

export interface ListedLinks {
  readonly links: readonly ListedLink[];
  /** Where the next page begins; `null` after the last one. */
  readonly next: ListPlace | null;
}

/** Places of matching links, in order, and where the search for more goes on; `null` at the list's end. */
interface Found {
  readonly places: readonly ListPlace[];
  readonly end: ListPlace | null;
}

interface FoundByCreation extends Found {
  /** How many links were looked through, at most. */
  readonly examined: number;
}

/** Finds up to `wanted` links in the order of creation, and looks through a bounded number of others. */
const findByCreation = async (
  tx: Client,
  selection: Selection,
  after: ListPlace | null,
  wanted: number,
  effort: Effort,
): Promise<FoundByCreation> => {
  const { query } = selection;
  const atOnce = selection.tag === null ? effort.examined : effort.tagged;
  const matches = textMatcher(query);
  const places: ListPlace[] = [];
  let end = after;
  let examined = 0;
  const add = (candidates: readonly Candidate[]): void => {
    places.push(...candidates.map((each) => placeBehind(query, each)));
  };
  // What many links have is found among the next ones; the rest by the index, as far as it reaches.
  let index: SearchIndex | null = null;
  for (let step = 0; step < effort.steps; step += 1) {
    if (index && end && end.createdAt < index.until.getTime()) {
      const searched = await findByIndex(tx, selection, index, end, {
        wanted: wanted - places.length,
        blocks: effort.blocks,
        matches,
      });
      if (searched) {
        add(searched.candidates);
        return { places, end: searched.end, examined: effort.steps * effort.examined };
      }
      index = null;
    }
    const found: Examined = await findExamined(tx, selection, end, {
      examined: atOnce,
      wanted: wanted - places.length,
    });
    add(found.candidates.filter(matches));
    ({ end } = found);
    examined += found.examined;
    if (end === null || places.length >= wanted) break;
    if (step === 0 && isSearch(query)) {
      index = await findIndex(tx, query.account);
    }
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
    query.search !== undefined || query.domain !== undefined || query.tag.length > 0;
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
  const matches = textMatcher(query);
  const places: ListPlace[] = [];
  let end = after;
  for (let step = 0; step < effort.steps && (end === null || end.clicks > 0); step += 1) {
    const clicked = await nextByClicks(tx, query.account, end, effort.clicked);
    const found = new Map(
      (await amongCodes(tx, selection, clicked))
        .filter(matches)
        .map((candidate) => [candidate.code, candidate]),
    );
    for (const { code, clicks } of clicked) {
      const candidate = found.get(code);
      if (candidate) places.push({ ...placeBehind(query, candidate), clicks });
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
  const places: ListPlace[] = [];
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
      places.length >= wanted ||
      accounts >= effort.accounts ||
      examined >= effort.steps * effort.examined;
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
    const links = page.flatMap(({ code }): ListedLink[] => {
      const { state, sequence: version } = states.get(code) ?? {};
      if (state === undefined || version === undefined) return [];
      if (state.status === 'none' || !matches(state)) return [];
      return [{ link: state, version, clicks: clicks.get(code) ?? noClicks }];
    });
    return { links, next: places.length > limit ? (page.at(-1) ?? null) : end };
  });
