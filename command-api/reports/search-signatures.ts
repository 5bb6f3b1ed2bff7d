import type { Client } from '../../ops/platform/postgres/pool.js';
import { blocksIn, readStarts, rowBytes, rowsOfQuery } from '../../schemas/search/signature.js';
import type { LinkQuery } from '../../schemas/http/list-links.js';
import type { ListPlace } from '../domain/link-query.js';
import {
  candidatesChangedSince,
  candidatesIn,
  type Candidate,
  type Period,
  type Selection,
} from './link-selection.js';

/** Rows of a signature that are compared: more of them leave out few blocks more. */
const rowsAtMost = 6;
/** Blocks whose links are read at once. */
const blocksAtOnce = 250;
/** Of more, the links whose texts have changed since are not looked through. */
const changedAtMost = 1_000;

export interface Signatures {
  /** All links that were made before this time are in them. */
  readonly until: Date;
  /** Changes from this time on may not be in them. */
  readonly completeTo: Date;
}

const valid = `account = $1 AND source = 'projection_redirects.links'::regclass`;

/** What signatures of an account there are; `null` where there are none. */
export const findSignatures = async (tx: Client, account: string): Promise<Signatures | null> => {
  const { rows } = await tx.query<{ until: Date | null; completeTo: Date | null }>({
    name: 'search-signatures',
    text: `SELECT max(until) AS until, min(complete_to) AS "completeTo"
           FROM search.signatures WHERE ${valid}`,
    values: [account],
  });
  const { until, completeTo } = rows[0] ?? {};
  return until && completeTo ? { until, completeTo } : null;
};

interface Signed {
  readonly since: Date;
  readonly until: Date;
  /** The rows that were asked for, one behind the other. */
  readonly bits: Buffer;
}

/** Some rows of the newest signatures that have links from before a time. */
const readRows = async (
  tx: Client,
  account: string,
  before: Date,
  count: number,
  rows: readonly number[],
): Promise<readonly Signed[]> => {
  const bits = rows.map((row) => `substring(signature FROM ${row * rowBytes + 1} FOR ${rowBytes})`);
  const { rows: signed } = await tx.query<Signed>(
    `SELECT since, until, ${bits.join(' || ')} AS bits FROM search.signatures
     WHERE ${valid} AND since < $2 ORDER BY until DESC LIMIT $3`,
    [account, before, count],
  );
  return signed;
};

const rowsIn = ({ bits }: Signed): readonly Buffer[] =>
  Array.from({ length: bits.length / rowBytes }, (_, index) =>
    bits.subarray(index * rowBytes, (index + 1) * rowBytes),
  );

const bitsSet = (row: Buffer): number => {
  let sum = 0;
  for (const byte of row) for (let bits = byte; bits > 0; bits &= bits - 1) sum += 1;
  return sum;
};

/** Those of the rows that leave out the most blocks, judged by one signature. */
const mostSelective = (rows: readonly number[], signed: Signed): readonly number[] =>
  rowsIn(signed)
    .map((bits, index) => ({ row: rows[index] ?? 0, set: bitsSet(bits) }))
    .sort((a, b) => a.set - b.set)
    .slice(0, rowsAtMost)
    .map(({ row }) => row);

/** The times of blocks that may have matches, the newest first. */
const periodsIn = async (
  tx: Client,
  account: string,
  window: readonly Signed[],
): Promise<readonly Period[]> => {
  const blocks = new Map(
    window.map((signed) => [signed.until.getTime(), { signed, found: blocksIn(rowsIn(signed)) }]),
  );
  const untils = [...blocks.values()].flatMap(({ signed, found }) =>
    found.length > 0 ? [signed.until] : [],
  );
  if (untils.length === 0) return [];
  const { rows } = await tx.query<{ until: Date; starts: Buffer }>({
    name: 'search-starts',
    text: `SELECT until, starts FROM search.signatures
           WHERE account = $1 AND until = ANY ($2::timestamptz[]) ORDER BY until DESC`,
    values: [account, untils],
  });
  return rows.flatMap(({ until, starts }) => {
    const begins = readStarts(starts);
    return (blocks.get(until.getTime())?.found ?? []).map((block) => ({
      from: begins[block] ?? 0,
      to: block === 0 ? until.getTime() : (begins[block - 1] ?? 0),
    }));
  });
};

const inOrder = (candidates: readonly Candidate[]): readonly Candidate[] =>
  [...new Map(candidates.map((each) => [each.code, each])).values()].sort(
    (a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.code < b.code ? 1 : -1),
  );

export interface Searched {
  readonly candidates: readonly Candidate[];
  readonly end: ListPlace | null;
}

/**
 * Candidates behind a place, the newest first, of the blocks that may have matches; at most of so many blocks. The
 * signatures must have all links behind the place. `null` where they are out of date.
 */
export const findBySignatures = async (
  tx: Client,
  selection: Selection,
  signatures: Signatures,
  after: ListPlace,
  effort: {
    readonly wanted: number;
    readonly blocks: number;
    readonly matches: (candidate: Candidate) => boolean;
  },
): Promise<Searched | null> => {
  const { account, search, domain } = selection.query;
  const changed = await candidatesChangedSince(
    tx,
    selection,
    signatures.completeTo,
    after,
    changedAtMost,
  );
  if (changed === null) return null;
  let rows = rowsOfQuery(search, domain);
  let before = after.createdAt + 1;
  const found: Candidate[] = [];
  let blocks = 0;
  for (let count = 1; ; count *= 4) {
    const window = await readRows(tx, account, new Date(before), count, rows);
    const oldest = window.at(-1);
    if (!oldest) return { candidates: found, end: null };
    const newest = before;
    const periods = (await periodsIn(tx, account, window)).filter(({ from }) => from < newest);
    for (let at = 0; ; at += blocksAtOnce) {
      const some = periods.slice(at, at + blocksAtOnce);
      const isLast = at + blocksAtOnce >= periods.length;
      const from = isLast ? oldest.since.getTime() : (some.at(-1)?.from ?? 0);
      const read = some.length > 0 ? await candidatesIn(tx, selection, some, after) : [];
      const others = changed.filter(({ createdAt }) => {
        const time = createdAt.getTime();
        return time >= from && time < before;
      });
      found.push(...inOrder([...read, ...others]).filter(effort.matches));
      blocks += some.length;
      before = from;
      if (found.length >= effort.wanted || blocks >= effort.blocks) {
        return { candidates: found, end: { account, clicks: 0, createdAt: from, code: '' } };
      }
      if (isLast) break;
    }
    if (rows.length > rowsAtMost) rows = mostSelective(rows, oldest);
  }
};

/** Whether texts are searched at all. */
export const isSearch = ({ search, domain }: LinkQuery): boolean =>
  search !== undefined || domain !== undefined;
