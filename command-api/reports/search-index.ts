import { arrayLiteral } from '../../ops/platform/postgres/array-literal.js';
import { groupBy } from '../../ops/platform/group-by.js';
import type { Client } from '../../ops/platform/postgres/pool.js';
import type { LinkQuery } from '../../schemas/http/list-links.js';
import {
  countOf,
  inAll,
  pageOf,
  readPage,
  type PostingList,
} from '../../schemas/search/postings.js';
import { hashesOfQuery } from '../../schemas/search/trigrams.js';
import type { ListPlace } from '../domain/link-query.js';
import {
  blockOfTime,
  blocksChangedSince,
  candidatesIn,
  startOfBlock,
  type Candidate,
  type Selection,
} from './link-selection.js';

/** Hashes that are compared: more of them leave out few blocks more. */
const hashesAtMost = 4;
/** Blocks whose links are read at once: first a few, which often have enough matches. */
const blocksAtOnce = { first: 40, then: 100 };
/** With more blocks of links whose texts have changed since, the index is not used. */
const changedAtMost = 1_000;

interface Segment {
  readonly id: number;
  readonly level: number;
  /** The first of its blocks; `null`: it is of links whose texts had changed, wherever they are. */
  readonly first: number | null;
}

/** What finds an account's links by their texts. */
export interface SearchIndex {
  /** It has all links that were made before this time, … */
  readonly until: Date;
  /** … without the changes from this time on. */
  readonly completeTo: Date;
  /** Those of most links first, of these the newest. */
  readonly segments: readonly Segment[];
}

/** The index of an account; `null` where there is none. */
export const findIndex = async (tx: Client, account: string): Promise<SearchIndex | null> => {
  const { rows } = await tx.query<Segment & Omit<SearchIndex, 'segments'>>({
    name: 'search-index',
    text: `SELECT until, complete_to AS "completeTo", id, level, first
           FROM search.accounts a JOIN search.segments s ON s.account = $1
           WHERE a.account = $1 AND source = 'projection_redirects.links'::regclass
           ORDER BY level DESC, first DESC NULLS LAST`,
    values: [account],
  });
  const [row] = rows;
  return row ? { until: row.until, completeTo: row.completeTo, segments: rows } : null;
};

/** The lists of some hashes in some segments, as far as there are any: of each segment, by hash. */
const readLists = async (
  tx: Client,
  segments: readonly Segment[],
  hashes: readonly number[],
): Promise<ReadonlyMap<number, ReadonlyMap<number, PostingList>>> => {
  const wanted = segments.flatMap(({ id, level }) =>
    [...new Set(hashes.map((hash) => pageOf(level, hash)))].map((page) => ({ id, page })),
  );
  const { rows } = await tx.query<{ id: number; lists: Buffer }>({
    name: 'search-lists',
    text: `SELECT id, lists FROM unnest($1::integer[], $2::integer[]) AS wanted (id, page)
           JOIN search.postings p ON p.segment = id AND p.page = wanted.page`,
    values: [
      arrayLiteral(wanted.map(({ id }) => id)),
      arrayLiteral(wanted.map(({ page }) => page)),
    ],
  });
  const lists = new Map<number, ReadonlyMap<number, PostingList>>();
  for (const [id, pages] of groupBy(rows, (row) => row.id)) {
    const all = pages.map((page) => readPage(page.lists));
    const found = hashes.flatMap((hash) => {
      const list = all.find((page) => page.has(hash))?.get(hash);
      return list ? [[hash, list] as const] : [];
    });
    lists.set(id, new Map(found));
  }
  return lists;
};

/** Those of the hashes that leave out the most blocks, judged by one of the largest segments. */
const mostSelective = async (
  tx: Client,
  segment: Segment,
  hashes: readonly number[],
): Promise<readonly number[]> => {
  if (hashes.length <= hashesAtMost) return hashes;
  const lists = (await readLists(tx, [segment], hashes)).get(segment.id);
  const counts = new Map([...(lists ?? [])].map(([hash, list]) => [hash, countOf(list)]));
  return [...hashes]
    .sort((a, b) => (counts.get(a) ?? 0) - (counts.get(b) ?? 0))
    .slice(0, hashesAtMost);
};

/** The newest blocks up to a number that may have matches of a query, as far as the index knows; some of each segment. */
const blocksOf = async (
  tx: Client,
  { segments }: SearchIndex,
  { search, domain }: LinkQuery,
  newest: number,
  atMost: number,
): Promise<readonly number[]> => {
  const [largest] = segments;
  if (!largest) return [];
  const hashes = await mostSelective(tx, largest, [...hashesOfQuery(search, domain)]);
  const lists = await readLists(tx, segments, hashes);
  return segments.flatMap(({ id, first }) => {
    const found = lists.get(id);
    if (found?.size !== hashes.length) return [];
    const numbers = inAll([...found.values()], newest - (first ?? 0));
    return numbers.slice(-atMost).map((number) => number + (first ?? 0));
  });
};

export interface Searched {
  readonly candidates: readonly Candidate[];
  readonly end: ListPlace | null;
}

const newestFirst = (a: Candidate, b: Candidate): number =>
  b.createdAt.getTime() - a.createdAt.getTime() || (a.code < b.code ? 1 : -1);

/**
 * Matches behind a place, the newest first; at most those of so many blocks. The index must have all links behind the
 * place. `null` where it is out of date.
 */
export const findByIndex = async (
  tx: Client,
  selection: Selection,
  index: SearchIndex,
  after: ListPlace,
  effort: {
    readonly wanted: number;
    readonly blocks: number;
    readonly matches: (candidate: Candidate) => boolean;
  },
): Promise<Searched | null> => {
  const { account } = selection.query;
  const changed = await blocksChangedSince(tx, selection, index.completeTo, after, changedAtMost);
  if (changed === null) return null;
  const newest = await blockOfTime(tx, account, new Date(after.createdAt));
  if (newest === null) return { candidates: [], end: null };
  const some = await blocksOf(tx, index, selection.query, newest, effort.blocks);
  const blocks = [...new Set([...changed, ...some])]
    .filter((block) => block <= newest)
    .sort((a, b) => b - a);
  const found: Candidate[] = [];
  for (let at = 0; at < blocks.length;) {
    const end = at + (at === 0 ? blocksAtOnce.first : blocksAtOnce.then);
    // Of each segment, there may be older ones than these.
    const next = blocks.slice(at, Math.min(end, effort.blocks));
    const candidates = await candidatesIn(tx, selection, next, after);
    found.push(...candidates.filter(effort.matches).sort(newestFirst));
    at += next.length;
    const last = next.at(-1);
    if (last !== undefined && (found.length >= effort.wanted || at >= effort.blocks)) {
      const start = await startOfBlock(tx, account, last);
      return {
        candidates: found,
        end: { account, clicks: 0, createdAt: start.getTime(), code: '' },
      };
    }
  }
  return { candidates: found, end: null };
};

/** Whether texts are searched at all. */
export const isSearch = ({ search, domain }: LinkQuery): boolean =>
  search !== undefined || domain !== undefined;
