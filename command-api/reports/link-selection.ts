import { arrayLiteral } from '../../ops/platform/postgres/array-literal.js';
import type { Client } from '../../ops/platform/postgres/pool.js';
import { foldCase } from '../../schemas/search/fold-case.js';
import { blockOf, placeOfBlock } from '../../schemas/search/postings.js';
import { mayHaveOtherTexts } from '../../schemas/search/trigrams.js';
import type { AccountQuery, LinkTexts, ListPlace } from '../domain/link-query.js';

/** Which links of the projection a query is about. */
export interface Selection {
  readonly query: AccountQuery;
  readonly now: Date;
  /** Links are looked for among those with this tag; `null`: among all. */
  readonly tag: string | null;
  /** Only links that were never clicked. */
  readonly withoutClicks: boolean;
}

/** A link that may match: its texts are yet to be compared. */
export interface Candidate extends LinkTexts {
  readonly createdAt: Date;
}

/** A part of an account's links that was looked through, from the newest on. */
export interface Examined {
  readonly candidates: readonly Candidate[];
  /** Where the rest begins; `null` where there is none. */
  readonly end: ListPlace | null;
  /** How many links were looked through, at most. */
  readonly examined: number;
}

/** Behind this link in a list by creation. */
export const placeBehind = (
  { account }: AccountQuery,
  { code, createdAt }: Pick<Candidate, 'code' | 'createdAt'>,
): ListPlace => ({ account, clicks: 0, createdAt: createdAt.getTime(), code });

/** The parameters of a statement, as it is being written. */
class Values {
  readonly all: unknown[] = [];

  /** Adds one; returns what stands for it. */
  add(value: unknown, type: string): string {
    this.all.push(value);
    return `$${this.all.length}::${type}`;
  }
}

const links = 'projection_redirects.links';
const tagsTable = 'projection_redirects.link_tags';
const isAscii = /^[\0-\x7f]*$/;
/** Destinations of which the host as it was sent is the parsed one, but for upper case. */
const plainHost = '^[A-Za-z]+://([A-Za-z0-9-]+[.])*[A-Za-z][A-Za-z0-9-]*[.]?([:/?#]|$)';

/**
 * The conditions on texts. They leave in what only `textMatcher` can tell: PostgreSQL would fold the case of letters
 * beyond ASCII by the rules of each database, and parses no URL.
 */
const textConditions = ({ search, domain }: AccountQuery, values: Values): readonly string[] => {
  const conditions: string[] = [];
  if (search !== undefined) {
    const part = foldCase(search);
    // No text has the separator, so no match spans two of them.
    const texts = `concat_ws(E'\\x01', l.code, l.url, l.title, l.note)`;
    const mayFold = `octet_length(${texts}) <> char_length(${texts})`;
    conditions.push(
      isAscii.test(part)
        ? `(position(${values.add(part, 'text')} IN lower(${texts} COLLATE "C")) > 0 OR ${mayFold})`
        : mayFold,
    );
  }
  if (domain !== undefined) {
    conditions.push(
      `(position(${values.add(`://${domain}`, 'text')} IN lower(l.url COLLATE "C")) > 0
        OR l.url !~ '${plainHost}')`,
    );
  }
  return conditions;
};

/** By the clock, a link has expired before the projection knows it. */
const statusCondition = ({ query: { status }, now }: Selection, values: Values): string => {
  switch (status) {
    case undefined:
      return `l.status <> 'deleted'`;
    case 'active':
      return `l.status = 'active' AND (l.expires_at IS NULL OR l.expires_at > ${values.add(now, 'timestamptz')})`;
    case 'expired':
      return `(l.status = 'expired'
        OR l.status = 'active' AND l.expires_at <= ${values.add(now, 'timestamptz')})`;
    case 'deleted':
    case 'blocked':
    case 'disabled':
      return `l.status = ${values.add(status, 'text')}`;
  }
};

/** The conditions that links need fulfil, whatever the order. */
const conditionsOn = (selection: Selection, values: Values): string => {
  const { query, tag: begun, withoutClicks } = selection;
  const others = query.tag.filter((tag) => tag !== begun);
  return [
    statusCondition(selection, values),
    ...others.map(
      (tag) => `EXISTS (SELECT FROM ${tagsTable} t WHERE t.account = l.account
        AND t.tag = ${values.add(tag, 'text')} AND t.created_at = l.created_at AND t.code = l.code)`,
    ),
    ...(withoutClicks
      ? [`NOT EXISTS (SELECT FROM projection_stats.codes c WHERE c.code = l.code AND c.clicks > 0)`]
      : []),
    ...textConditions(query, values),
  ].join(' AND ');
};

/** What conditions and matchers ask for. To find each link's row once more would take most of a search's time. */
const columnsOf = (table: string): string =>
  ['account', 'status', 'expires_at', 'url', 'title', 'note']
    .map((column) => `${table}.${column}`)
    .join();

/** Statements that give links, or their places alone, each in the order of an index. */
const branchesOf = (
  { query, tag, now }: Selection,
  what: 'links' | 'places',
  values: Values,
): readonly string[] => {
  const account = values.add(query.account, 'text');
  const place = 'SELECT b.code, b.created_at';
  if (tag !== null) {
    const tagged = `b.account = ${account} AND b.tag = ${values.add(tag, 'text')}`;
    return what === 'places'
      ? [`${place} FROM ${tagsTable} b WHERE ${tagged}`]
      : [
          `${place}, ${columnsOf('l')} FROM ${tagsTable} b JOIN ${links} l ON l.code = b.code
           WHERE ${tagged}`,
        ];
  }
  const selected = what === 'places' ? place : `${place}, ${columnsOf('b')}`;
  const ofStatus = (status: string): string =>
    `${selected} FROM ${links} b WHERE b.account = ${account} AND b.status = '${status}'`;
  // By the ledger's index of links to expire: there are few.
  const due = (): string => `${selected} FROM (
      SELECT l.code, l.created_at, ${columnsOf('l')} FROM ledger.links d JOIN ${links} l USING (code)
      WHERE d.expired IS NULL AND NOT d.deleted
        AND d.expires_at <= ${values.add(now, 'timestamptz')}
        AND l.account = ${account} AND l.status = 'active' OFFSET 0) b
    WHERE true`;
  switch (query.status) {
    case undefined:
      return ['active', 'blocked', 'disabled', 'expired'].map(ofStatus);
    case 'expired':
      return [ofStatus('expired'), due()];
    case 'deleted':
    case 'blocked':
    case 'disabled':
    case 'active':
      return [ofStatus(query.status)];
  }
};

/**
 * The newest links behind a place, in their order. Each branch ends by itself: PostgreSQL would sort all of its links
 * to merge it with others.
 */
const walkOf = (
  selection: Selection,
  what: 'links' | 'places',
  after: ListPlace | null,
  examined: number,
  values: Values,
): string => {
  const behind =
    after === null
      ? ''
      : ` AND (b.created_at, b.code) < (${values.add(new Date(after.createdAt), 'timestamptz')},
          ${values.add(after.code, 'text')})`;
  const order = `ORDER BY created_at DESC, code DESC LIMIT ${examined}`;
  const branches = branchesOf(selection, what, values).map(
    (branch) => `${branch}${behind} ${order}`,
  );
  const [only, ...others] = branches;
  if (only !== undefined && others.length === 0) return only;
  return `${branches.map((branch) => `(${branch})`).join(' UNION ALL ')} ${order}`;
};

/** How many links there were to look through, and the last of as many as were asked for. */
type Walked = { readonly walked: number } & (
  | { readonly code: string; readonly createdAt: Date }
  | { readonly code: null; readonly createdAt: null }
);

/** Candidates among up to `examined` links behind a place, at most `wanted`. */
export const findExamined = async (
  tx: Client,
  selection: Selection,
  after: ListPlace | null,
  { examined, wanted }: { readonly examined: number; readonly wanted: number },
): Promise<Examined> => {
  const values = new Values();
  // Of candidates whose texts do not match in the end, more must be fetched at once.
  const { search, domain } = selection.query;
  const limit = search === undefined && domain === undefined ? wanted : Math.max(wanted, 500);
  const { rows } = await tx.query<Candidate>(
    `SELECT l.code, l.created_at AS "createdAt", l.url, l.title, l.note
     FROM (${walkOf(selection, 'links', after, examined, values)}) l
     WHERE ${conditionsOn(selection, values)}
     ORDER BY l.created_at DESC, l.code DESC LIMIT ${limit}`,
    values.all,
  );
  const last = rows.at(-1);
  if (last && rows.length === limit) {
    return { candidates: rows, end: placeBehind(selection.query, last), examined };
  }
  const ofWalk = new Values();
  const { rows: ends } = await tx.query<Walked>(
    `SELECT count(*) AS walked, (array_agg(code))[${examined}] AS code,
       (array_agg(created_at))[${examined}] AS "createdAt"
     FROM (${walkOf(selection, 'places', after, examined, ofWalk)}) walked`,
    ofWalk.all,
  );
  const [end] = ends;
  return {
    candidates: rows,
    end: end?.createdAt ? placeBehind(selection.query, end) : null,
    examined: end?.walked ?? 0,
  };
};

/** Those of the links that may match, in any order. */
export const amongCodes = async (
  tx: Client,
  ofList: Selection,
  codes: readonly { readonly code: string }[],
): Promise<readonly Candidate[]> => {
  const selection = { ...ofList, tag: null };
  const values = new Values();
  const all = values.add(
    codes.map(({ code }) => code),
    'text[]',
  );
  const account = values.add(selection.query.account, 'text');
  const { rows } = await tx.query<Candidate>(
    `SELECT l.code, l.created_at AS "createdAt", l.url, l.title, l.note FROM ${links} l
     WHERE l.code = ANY (${all}) AND l.account = ${account} AND ${conditionsOn(selection, values)}`,
    values.all,
  );
  return rows;
};

const isBehind = ({ createdAt, code }: ListPlace, values: Values): string =>
  `(l.created_at, l.code) < (${values.add(new Date(createdAt), 'timestamptz')}, ${values.add(code, 'text')})`;

/** Candidates of some blocks of the search index, behind a place, in any order. */
export const candidatesIn = async (
  tx: Client,
  selection: Selection,
  blocks: readonly number[],
  after: ListPlace,
): Promise<readonly Candidate[]> => {
  const values = new Values();
  const numbers = values.add(arrayLiteral(blocks), 'integer[]');
  const account = values.add(selection.query.account, 'text');
  const { row, place } = placeOfBlock('number');
  const branches = branchesOf(selection, 'links', values).map(
    (branch) =>
      `(${branch} AND b.created_at >= starts[${place}] AND b.created_at < starts[${place} + 1])`,
  );
  const { rows } = await tx.query<Candidate>(
    `SELECT l.code, l.created_at AS "createdAt", l.url, l.title, l.note
     FROM unnest(${numbers}) AS block (number)
     JOIN search.blocks s ON s.account = ${account} AND s.first = ${row}
     CROSS JOIN LATERAL (${branches.join(' UNION ALL ')}) l
     WHERE ${isBehind(after, values)} AND ${conditionsOn(selection, values)}`,
    values.all,
  );
  return rows;
};

/** The blocks of the index with candidates behind a place whose texts may have changed since; `null`: too many. */
export const blocksChangedSince = async (
  tx: Client,
  selection: Selection,
  since: Date,
  after: ListPlace,
  atMost: number,
): Promise<readonly number[] | null> => {
  const values = new Values();
  const account = values.add(selection.query.account, 'text');
  const { rows } = await tx.query<{ block: number }>(
    `SELECT DISTINCT ${blockOf(account, 'l.created_at')} AS block
     FROM (SELECT code FROM ${links} WHERE account = ${account}
       AND updated_at >= ${values.add(since, 'timestamptz')} AND ${mayHaveOtherTexts}) changed
     JOIN ${links} l ON l.code = changed.code
     WHERE ${isBehind(after, values)} AND ${conditionsOn(selection, values)} LIMIT ${atMost + 1}`,
    values.all,
  );
  return rows.length > atMost ? null : rows.map(({ block }) => block);
};

/** The block of the index that has the links of a time; `null` before the first one. */
export const blockOfTime = async (
  tx: Client,
  account: string,
  time: Date,
): Promise<number | null> => {
  const { rows } = await tx.query<{ block: number | null }>({
    name: 'search-block-of-time',
    text: `SELECT ${blockOf('$1', '$2')} AS block`,
    values: [account, time],
  });
  return rows[0]?.block ?? null;
};

/** When the links of a block begin. */
export const startOfBlock = async (tx: Client, account: string, block: number): Promise<Date> => {
  const { row, place } = placeOfBlock('$2::integer');
  const { rows } = await tx.query<{ start: Date }>({
    name: 'search-start-of-block',
    text: `SELECT starts[${place}] AS start FROM search.blocks WHERE account = $1 AND first = ${row}`,
    values: [account, block],
  });
  const [found] = rows;
  if (!found) throw new Error(`The search index has no block ${block}`);
  return found.start;
};

/** The first account behind this one that has links; `null` where there is none. */
export const nextAccount = async (tx: Client, after: string): Promise<string | null> => {
  const first = (status: string): string =>
    `(SELECT account FROM ${links} WHERE ${status} AND account > $1 ORDER BY account LIMIT 1)`;
  const { rows } = await tx.query<{ account: string | null }>({
    name: 'links-next-account',
    text: `SELECT min(account) AS account
           FROM (${first(`status = 'active'`)} UNION ALL ${first(`status <> 'active'`)}) behind`,
    values: [after],
  });
  return rows[0]?.account ?? null;
};

/** Of more links with a tag, nobody counts how many there are. */
const countedLinks = 10_000;

/** The one of a query's tags that the fewest links have, as far as they are counted; `null` without tags. */
const rarestTag = async (
  tx: Client,
  { account, tag: tags }: AccountQuery,
): Promise<string | null> => {
  if (tags.length < 2) return tags[0] ?? null;
  const { rows } = await tx.query<{ tag: string }>({
    name: 'links-rarest-tag',
    text: `SELECT tag FROM unnest($2::text[]) AS asked (tag)
           ORDER BY (SELECT count(*) FROM (SELECT FROM ${tagsTable} t
             WHERE t.account = $1 AND t.tag = asked.tag LIMIT ${countedLinks}) counted) LIMIT 1`,
    values: [account, tags],
  });
  return rows[0]?.tag ?? null;
};

/** What a query selects at a moment, by the shortest way to it. */
export const selectionOf = async (
  tx: Client,
  query: AccountQuery,
  now: Date,
): Promise<Selection> => ({ query, now, tag: await rarestTag(tx, query), withoutClicks: false });
