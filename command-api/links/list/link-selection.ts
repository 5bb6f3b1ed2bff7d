import type { Client } from '../../../ops/platform/postgres/pool.js';
import { hostText } from '../../../schemas/folded-text.js';
import { creationPeriodOf } from '../../../schemas/http/list-links.js';
import type { AccountQuery, ListPlace } from './link-query.js';

/** Which links of the projection a query is about. */
export interface Selection {
  readonly query: AccountQuery;
  readonly now: Date;
  /** Links are looked for among those with this tag; `null`: among all. */
  readonly tag: string | null;
  /** Only links that were never clicked. */
  readonly withoutClicks: boolean;
}

/** A link that matches, if its destination has the host of the query (`hasDomain`). */
export interface Candidate {
  readonly code: string;
  readonly createdAt: Date;
  readonly url: string;
  /** Of its last event in the projection. */
  readonly sequence: number;
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

/** The texts that the folded text of a link must have. */
const textsOf = ({ search = [], domain }: AccountQuery): readonly string[] =>
  domain === undefined ? search : [...search, hostText(domain)];

/** The pattern of LIKE for a part of a text. */
const patternOf = (part: string): string => `%${part.replace(/[\\%_]/g, '\\$&')}%`;

const textConditions = (query: AccountQuery, folded: string, values: Values): readonly string[] =>
  textsOf(query).map((text) => `${folded} LIKE ${values.add(patternOf(text), 'text')}`);

/** How many candidates a statement returns: not all of them have the host of the query. */
const limitOf = ({ domain }: AccountQuery, wanted: number): number =>
  domain === undefined ? wanted : Math.max(wanted, 500);

/** The conditions on the time of creation. */
const timeConditions = (query: AccountQuery, table: string, values: Values): readonly string[] => {
  const { from, before } = creationPeriodOf(query);
  const bound = (operator: string, time: number | null): readonly string[] =>
    time === null
      ? []
      : [`${table}.created_at ${operator} ${values.add(new Date(time), 'timestamptz')}`];
  return [...bound('>=', from), ...bound('<', before)];
};

/** The clock decides whether a link is scheduled or has expired: the projection knows the latter later. */
const statusCondition = ({ query: { status }, now }: Selection, values: Values): string => {
  switch (status) {
    case undefined:
      return `l.status <> 'deleted'`;
    case 'active':
      return `l.status = 'active'
        AND (l.expires_at IS NULL OR l.expires_at > ${values.add(now, 'timestamptz')})
        AND (l.starts_at IS NULL OR l.starts_at <= ${values.add(now, 'timestamptz')})`;
    case 'scheduled':
      return `l.status = 'active' AND l.starts_at > ${values.add(now, 'timestamptz')}
        AND (l.expires_at IS NULL OR l.expires_at > ${values.add(now, 'timestamptz')})`;
    case 'expired':
      return `(l.status = 'expired'
        OR l.status = 'active' AND l.expires_at <= ${values.add(now, 'timestamptz')})`;
    case 'deleted':
    case 'blocked':
    case 'disabled':
      return `l.status = ${values.add(status, 'text')}`;
  }
};

/** The conditions on all but texts. */
const otherConditionsOn = (selection: Selection, values: Values): string => {
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
    ...timeConditions(query, 'l', values),
  ].join(' AND ');
};

/** The conditions that links need fulfil, whatever the order. */
const conditionsOn = (selection: Selection, values: Values): string =>
  [
    otherConditionsOn(selection, values),
    ...textConditions(selection.query, 'l.folded', values),
  ].join(' AND ');

/** What conditions and candidates need. To find each link's row once more would take most of a search's time. */
const columnsOf = (table: string): string =>
  ['account', 'status', 'starts_at', 'expires_at', 'url', 'sequence']
    .map((column) => `${table}.${column}`)
    .join();

const candidateColumns = 'l.code, l.created_at AS "createdAt", l.url, l.sequence';

const isBehind = (table: string, { createdAt, code }: ListPlace, values: Values): string =>
  `(${table}.created_at, ${table}.code) <
     (${values.add(new Date(createdAt), 'timestamptz')}, ${values.add(code, 'text')})`;

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
          `${place}, ${columnsOf('l')}, l.folded FROM ${tagsTable} b JOIN ${links} l ON l.code = b.code
           WHERE ${tagged}`,
        ];
  }
  const selected = what === 'places' ? place : `${place}, ${columnsOf('b')}, b.folded`;
  const ofStatus = (status: string): string =>
    `${selected} FROM ${links} b WHERE b.account = ${account} AND b.status = '${status}'`;
  // By the ledger's index of links to expire: there are few.
  const due = (): string => `${selected} FROM (
      SELECT l.code, l.created_at, ${columnsOf('l')}, l.folded FROM ledger.links d JOIN ${links} l USING (code)
      WHERE d.expired IS NULL AND NOT d.deleted
        AND d.expires_at <= ${values.add(now, 'timestamptz')}
        AND l.account = ${account} AND l.status = 'active' OFFSET 0) b
    WHERE true`;
  switch (query.status) {
    case undefined:
      return ['active', 'blocked', 'disabled', 'expired'].map(ofStatus);
    case 'expired':
      return [ofStatus('expired'), due()];
    case 'scheduled':
      return [`${ofStatus('active')} AND b.starts_at IS NOT NULL`];
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
  const range = [
    ...(after === null ? [] : [isBehind('b', after, values)]),
    ...timeConditions(selection.query, 'b', values),
  ].map((condition) => ` AND ${condition}`);
  const order = `ORDER BY created_at DESC, code DESC LIMIT ${examined}`;
  const branches = branchesOf(selection, what, values).map(
    (branch) => `${branch}${range.join('')} ${order}`,
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
  const limit = limitOf(selection.query, wanted);
  const { rows } = await tx.query<Candidate>(
    `SELECT ${candidateColumns}
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

/** The candidates among some links, in any order. */
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
    `SELECT ${candidateColumns} FROM ${links} l
     WHERE l.code = ANY (${all}) AND l.account = ${account} AND ${conditionsOn(selection, values)}`,
    values.all,
  );
  return rows;
};

/** The trigrams of ASCII letters and digits are in the index, whatever the locale of the database is. */
const hasTrigram = /[a-z0-9]{3}/;

/** Whether the text index finds the links of a query: without a trigram, it would return all links of the account. */
export const isIndexed = (query: AccountQuery): boolean =>
  textsOf(query).some((text) => hasTrigram.test(text));

// A GIN index has bitmap scans alone.
const byTextIndex = 'SET LOCAL enable_bitmapscan = on; SET LOCAL enable_indexscan = off';
const inOrder = 'SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexscan = on';

/** Candidates, the newest first, and where the rest begins; `null` where there is none. */
export type Indexed = Omit<Examined, 'examined'>;

/** The newest candidates behind a place, by the text index; `null` if more than `atMost` links have the texts. */
export const findByTextIndex = async (
  tx: Client,
  ofList: Selection,
  after: ListPlace,
  { wanted, atMost }: { readonly wanted: number; readonly atMost: number },
): Promise<Indexed | null> => {
  const selection = { ...ofList, tag: null };
  const { query } = selection;
  const values = new Values();
  const account = values.add(query.account, 'text');
  const limit = limitOf(query, wanted);
  await tx.query(byTextIndex);
  // The inner LIMIT bounds how many rows are read and sorted.
  const { rows } = await tx.query<{ readonly matches: number } & (Candidate | { code: null })>(
    `WITH found AS MATERIALIZED (
       SELECT b.code, b.created_at, ${columnsOf('b')} FROM ${links} b
       WHERE b.account = ${account} AND ${isBehind('b', after, values)}
         AND ${textConditions(query, 'b.folded', values).join(' AND ')} LIMIT ${atMost + 1})
     SELECT matches, candidates.* FROM (SELECT count(*) AS matches FROM found) all_found
     LEFT JOIN (
       SELECT ${candidateColumns} FROM found l WHERE ${otherConditionsOn(selection, values)}
       ORDER BY l.created_at DESC, l.code DESC LIMIT ${limit}) candidates ON true`,
    values.all,
  );
  await tx.query(inOrder);
  if ((rows[0]?.matches ?? 0) > atMost) return null;
  const candidates = rows.filter((row) => row.code !== null);
  const last = candidates.at(-1);
  return {
    candidates,
    end: last && candidates.length === limit ? placeBehind(query, last) : null,
  };
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
