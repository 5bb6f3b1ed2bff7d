import { givingWay } from '../../ops/platform/concurrency/step-back.js';
import { groupBy } from '../../ops/platform/group-by.js';
import { valuesByField, type Client } from '../../ops/platform/postgres/pool.js';
import {
  highestLevel,
  mergedAtOnce,
  pagesOf,
  readList,
  readPage,
  writePages,
  type Page,
  type Posting,
} from '../../schemas/search/postings.js';

/** A part of the index of an account. */
interface Segment {
  readonly level: number;
  /** The first of its blocks; `null`: it is of links whose texts had changed, wherever they are. */
  readonly first: number | null;
  readonly links: number;
}

interface KnownSegment extends Segment {
  readonly id: number;
}

/** Pages of each segment that are merged at once: the event loop is not held up for long. */
const pagesAtOnce = 4;

const insertSegment = async (
  client: Client,
  account: string,
  { level, first, links }: Segment,
): Promise<number> => {
  const { rows } = await client.query<{ id: number }>(
    `INSERT INTO search.segments (account, level, first, links) VALUES ($1, $2, $3, $4) RETURNING id`,
    [account, level, first, links],
  );
  const [row] = rows;
  if (!row) throw new Error('PostgreSQL returned no id');
  return row.id;
};

const insertPages = async (
  client: Client,
  segment: number,
  pages: readonly Page[],
): Promise<void> => {
  await client.query({
    name: 'search-insert-pages',
    text: `INSERT INTO search.postings (segment, page, lists)
           SELECT $1, page, lists FROM unnest($2::integer[], $3::bytea[]) AS added (page, lists)`,
    values: [segment, ...valuesByField(pages, 'page', 'lists')],
  });
};

/** Adds a segment of the lowest level. @param postings by ascending hashes */
export const addSegment = async (
  client: Client,
  account: string,
  segment: Omit<Segment, 'level'>,
  postings: Iterable<Posting>,
): Promise<void> => {
  const id = await insertSegment(client, account, { ...segment, level: 0 });
  await insertPages(client, id, writePages(0, givingWay(postings)));
};

/** The oldest segments of a level and kind, where there are enough of them to merge. */
const nextToMerge = async (
  client: Client,
  account: string,
): Promise<readonly KnownSegment[] | null> => {
  const { rows } = await client.query<KnownSegment>(
    `SELECT id, level, first, links FROM search.segments
     WHERE account = $1 AND level < $2 ORDER BY level, first, id`,
    [account, highestLevel],
  );
  const kinds = groupBy(rows, ({ level, first }) => `${level} ${first === null}`);
  for (const alike of kinds.values()) {
    if (alike.length >= mergedAtOnce) return alike.slice(0, mergedAtOnce);
  }
  return null;
};

/** The lists of some pages of the segments, put together; each segment's numbers are moved by its offset. */
const mergedPostings = async (
  client: Client,
  offsets: ReadonlyMap<number, number>,
  fromPage: number,
): Promise<readonly Posting[]> => {
  const { rows } = await client.query<{ id: number; lists: Buffer }>({
    name: 'search-read-pages',
    text: `SELECT id, lists FROM unnest($1::integer[]) WITH ORDINALITY AS merged (id, place)
           JOIN search.postings ON segment = id WHERE page >= $2 AND page < $2 + $3 ORDER BY place`,
    values: [[...offsets.keys()], fromPage, pagesAtOnce],
  });
  const merged = new Map<number, number[]>();
  for (const { id, lists } of rows) {
    for (const [hash, list] of givingWay(readPage(lists))) {
      const known = merged.get(hash);
      const numbers = readList(list, known, offsets.get(id));
      if (!known) merged.set(hash, numbers);
    }
  }
  return [...merged].sort(([a], [b]) => a - b);
};

/** Ascending, none twice. */
const inOrder = (numbers: readonly number[]): readonly number[] =>
  [...new Set(numbers)].sort((a, b) => a - b);

/** What is called between pieces of work. */
export type Rest = () => Promise<void>;

/** Merges segments of a level, where there are enough of them; returns whether there were. */
export const mergeSegments = async (
  client: Client,
  account: string,
  rest: Rest,
): Promise<boolean> => {
  const merged = await nextToMerge(client, account);
  if (!merged) return false;
  const [{ level, first } = { level: 0, first: null }] = merged;
  const links = merged.reduce((sum, segment) => sum + segment.links, 0);
  const id = await insertSegment(client, account, { level: level + 1, first, links });
  // The numbers of changed links' blocks are those of the account.
  const offsets = new Map(merged.map((one) => [one.id, (one.first ?? 0) - (first ?? 0)]));
  for (let page = 0; page < pagesOf(level); page += pagesAtOnce) {
    const postings = (await mergedPostings(client, offsets, page)).map(
      ([hash, blocks]): Posting => [hash, first === null ? inOrder(blocks) : blocks],
    );
    await insertPages(client, id, writePages(level + 1, givingWay(postings)));
    await rest();
  }
  await client.query(
    `WITH removed AS (DELETE FROM search.postings WHERE segment = ANY ($1::integer[]))
     DELETE FROM search.segments WHERE id = ANY ($1::integer[])`,
    [merged.map((one) => one.id)],
  );
  return true;
};
