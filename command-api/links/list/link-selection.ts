import type { Client } from '../../../ops/platform/postgres/pool.js';
import { hostText } from '../../../schemas/folded-text.js';
import { creationPeriodOf } from '../../../schemas/http/list-links.js';
import type { LeadingLink } from '../../../schemas/link-options.js';
import { subjectRangeOf } from '../../../schemas/link-subject.js';
import type { AccountQuery, ListCursor, ListQuery } from './link-query.js';

interface Conditions {
  readonly query: ListQuery;
  readonly now: Date;
  /** Only links with this tag are searched; `null`: all links. */
  readonly tag: string | null;
  /** Whether only links without clicks are searched. */
  readonly withoutClicks: boolean;
}

/** The links of the projection that a query selects. */
export interface Selection extends Conditions {
  readonly query: AccountQuery;
}

/** A link that matches if one of its destinations has the host of the query (`hasDestination`). */
export interface Candidate {
  readonly account: string;
  readonly subject: string;
  readonly createdAt: Date;
  /** The sequence of its last projected event. */
  readonly sequence: number;
  /** The size of its destinations, rules and texts. */
  readonly bytes: number;
}

/** The result of examining a range of an account's links, newest first. */
interface Examined {
  readonly candidates: readonly Candidate[];
  /** Where the next range starts; `null` if there is none. */
  readonly end: ListCursor | null;
  /** The number of examined links, at most. */
  readonly examined: number;
}

export const cursorAfter = ({
  account,
  subject,
  createdAt,
}: Pick<Candidate, 'account' | 'subject' | 'createdAt'>): ListCursor => ({
  ...{ account, clicks: 0, createdAt: createdAt.getTime(), subject },
});

/** Collects the parameters of a statement. */
class Values {
  readonly list: unknown[] = [];

  /** Adds a parameter; returns its placeholder. */
  add(value: unknown, type: string): string {
    this.list.push(value);
    return `$${this.list.length}::${type}`;
  }
}

const links = 'projection_redirects.links';
const tagsTable = 'projection_redirects.link_tags';

/** The texts that the folded text of a link must contain. */
const textsOf = ({ search = [], destination }: ListQuery): readonly string[] =>
  destination === undefined ? search : [...search, hostText(destination)];

const patternOf = (part: string): string => `%${part.replace(/[\\%_]/g, '\\$&')}%`;

const textConditions = (query: ListQuery, folded: string, values: Values): readonly string[] =>
  textsOf(query).map((text) => `${folded} LIKE ${values.add(patternOf(text), 'text')}`);

/** The limit of candidates; not all of them have the host of the query. */
const limitOf = ({ destination }: ListQuery, wanted: number): number =>
  destination === undefined ? wanted : Math.max(wanted, 500);

const domainConditions = ({ domain }: ListQuery, values: Values): readonly string[] => {
  if (domain === undefined) return [];
  if (domain === null) return [`position('/' IN l.subject) = 0`];
  const [after, before] = subjectRangeOf(domain);
  return [`l.subject > ${values.add(after, 'text')}`, `l.subject < ${values.add(before, 'text')}`];
};

const timeConditions = (query: ListQuery, table: string, values: Values): readonly string[] => {
  const { from, before } = creationPeriodOf(query);
  const bound = (operator: string, time: number | null): readonly string[] =>
    time === null
      ? []
      : [`${table}.created_at ${operator} ${values.add(new Date(time), 'timestamptz')}`];
  return [...bound('>=', from), ...bound('<', before)];
};

/** Whether a link is scheduled or has expired depends on the clock: LinkExpired is projected later. */
const statusCondition = ({ query: { status }, now }: Conditions, values: Values): string => {
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

/** All conditions except those on texts. */
const otherConditionsOn = (selection: Conditions, values: Values): string => {
  const { query, tag: searchedTag, withoutClicks } = selection;
  const others = query.tag.filter((tag) => tag !== searchedTag);
  return [
    statusCondition(selection, values),
    ...others.map(
      (tag) => `EXISTS (SELECT FROM ${tagsTable} t WHERE t.account = l.account
        AND t.tag = ${values.add(tag, 'text')} AND t.created_at = l.created_at AND t.subject = l.subject)`,
    ),
    ...(withoutClicks
      ? [
          `NOT EXISTS (SELECT FROM projection_stats.links c WHERE c.subject = l.subject AND c.clicks > 0)`,
        ]
      : []),
    ...timeConditions(query, 'l', values),
    ...domainConditions(query, values),
  ].join(' AND ');
};

const conditionsOn = (selection: Conditions, values: Values): string =>
  [
    otherConditionsOn(selection, values),
    ...textConditions(selection.query, 'l.folded', values),
  ].join(' AND ');

/** The columns whose sizes vary. */
const sizedColumns = ['url', 'title', 'note', 'tags', 'options'];

/** The columns of conditions and candidates. Reading each row a second time would take most of a search's time. */
const columnsOf = (table: string): string =>
  [...['account', 'status', 'starts_at', 'expires_at', 'sequence'], ...sizedColumns]
    .map((column) => `${table}.${column}`)
    .join();

const candidateColumns = ['account', 'subject', 'created_at', 'sequence', ...sizedColumns]
  .map((column) => `l.${column}`)
  .join();

/** Adds the sizes to the rows of a query with a limit, so that PostgreSQL reads the options of no other rows. */
const sized = (limited: string): string =>
  `SELECT account, subject, created_at AS "createdAt", sequence, octet_length(concat(${sizedColumns.join()})) AS bytes
   FROM (${limited}) limited ORDER BY created_at DESC, subject DESC`;

const isBehind = (table: string, { createdAt, subject }: ListCursor, values: Values): string =>
  `(${table}.created_at, ${table}.subject) <
     (${values.add(new Date(createdAt), 'timestamptz')}, ${values.add(subject, 'text')})`;

/** Queries for links, or only their cursors, each in the order of an index. */
const branchesOf = (
  { query, tag, now }: Selection,
  what: 'links' | 'cursors',
  values: Values,
): readonly string[] => {
  const account = values.add(query.account, 'text');
  const cursor = 'SELECT b.subject, b.created_at';
  if (tag !== null) {
    const tagged = `b.account = ${account} AND b.tag = ${values.add(tag, 'text')}`;
    return what === 'cursors'
      ? [`${cursor} FROM ${tagsTable} b WHERE ${tagged}`]
      : [
          `${cursor}, ${columnsOf('l')}, l.folded FROM ${tagsTable} b JOIN ${links} l ON l.subject = b.subject
           WHERE ${tagged}`,
        ];
  }
  const selected = what === 'cursors' ? cursor : `${cursor}, ${columnsOf('b')}, b.folded`;
  const ofStatus = (status: string): string =>
    `${selected} FROM ${links} b WHERE b.account = ${account} AND b.status = '${status}'`;
  // The ledger's index of links to expire is small.
  const due = (): string => `${selected} FROM (
      SELECT l.subject, l.created_at, ${columnsOf('l')}, l.folded FROM ledger.links d JOIN ${links} l USING (subject)
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
 * The newest links after a cursor, in order. Each branch has its own limit; otherwise PostgreSQL would sort all its links
 * to merge the branches.
 */
const walkOf = (
  selection: Selection,
  what: 'links' | 'cursors',
  after: ListCursor | null,
  examined: number,
  values: Values,
): string => {
  const range = [
    ...(after === null ? [] : [isBehind('b', after, values)]),
    ...timeConditions(selection.query, 'b', values),
  ].map((condition) => ` AND ${condition}`);
  const order = `ORDER BY created_at DESC, subject DESC LIMIT ${examined}`;
  const branches = branchesOf(selection, what, values).map(
    (branch) => `${branch}${range.join('')} ${order}`,
  );
  const [only, ...others] = branches;
  if (only !== undefined && others.length === 0) return only;
  return `${branches.map((branch) => `(${branch})`).join(' UNION ALL ')} ${order}`;
};

/** The number of links in the range, and the last one if the range has the requested size. */
type Walked = { readonly walked: number } & (
  | { readonly subject: string; readonly createdAt: Date }
  | { readonly subject: null; readonly createdAt: null }
);

/** Up to `wanted` candidates among the `examined` links after a cursor. */
export const findExamined = async (
  tx: Client,
  selection: Selection,
  after: ListCursor | null,
  { examined, wanted }: { readonly examined: number; readonly wanted: number },
): Promise<Examined> => {
  const values = new Values();
  const limit = limitOf(selection.query, wanted);
  const { rows } = await tx.query<Candidate>(
    sized(`SELECT ${candidateColumns}
           FROM (${walkOf(selection, 'links', after, examined, values)}) l
           WHERE ${conditionsOn(selection, values)}
           ORDER BY l.created_at DESC, l.subject DESC LIMIT ${limit}`),
    values.list,
  );
  const last = rows.at(-1);
  if (last && rows.length === limit) {
    return { candidates: rows, end: cursorAfter(last), examined };
  }
  const ofWalk = new Values();
  const { rows: ends } = await tx.query<Walked>(
    `SELECT count(*) AS walked, (array_agg(subject))[${examined}] AS subject,
       (array_agg(created_at))[${examined}] AS "createdAt"
     FROM (${walkOf(selection, 'cursors', after, examined, ofWalk)}) walked`,
    ofWalk.list,
  );
  const [end] = ends;
  return {
    candidates: rows,
    end: end?.createdAt ? cursorAfter({ ...end, account: selection.query.account }) : null,
    examined: end?.walked ?? 0,
  };
};

/** The destinations of candidates, in any order. */
export const readDestinations = async (
  tx: Client,
  candidates: readonly Candidate[],
): Promise<readonly (LeadingLink & Pick<Candidate, 'subject'>)[]> => {
  const { rows } = await tx.query<LeadingLink & Pick<Candidate, 'subject'>>({
    name: 'links-destinations',
    text: `SELECT subject, url, options FROM ${links} WHERE subject = ANY ($1::text[])`,
    values: [candidates.map(({ subject }) => subject)],
  });
  return rows;
};

/** The candidates among these links, in any order. */
export const amongSubjects = async (
  tx: Client,
  { query, now }: Pick<Conditions, 'query' | 'now'>,
  listed: readonly { readonly subject: string }[],
): Promise<readonly Candidate[]> => {
  const values = new Values();
  const subjectsParameter = values.add(
    listed.map(({ subject }) => subject),
    'text[]',
  );
  const { account } = query;
  const ofAccount = account === null ? '' : `l.account = ${values.add(account, 'text')} AND `;
  const selection = { query, now, tag: null, withoutClicks: false };
  const { rows } = await tx.query<Candidate>(
    sized(`SELECT ${candidateColumns} FROM ${links} l
           WHERE l.subject = ANY (${subjectsParameter}) AND ${ofAccount}
             ${conditionsOn(selection, values)} LIMIT ${listed.length}`),
    values.list,
  );
  return rows;
};

/** The index has the trigrams of ASCII letters and digits in every locale. */
const hasTrigram = /[a-z0-9]{3}/;

/** Whether the text index can be used: without a trigram, it would return all links of the account. */
export const isIndexed = (query: AccountQuery): boolean =>
  textsOf(query).some((text) => hasTrigram.test(text));

// A GIN index supports only bitmap scans.
const byTextIndex = 'SET LOCAL enable_bitmapscan = on; SET LOCAL enable_indexscan = off';
const inOrder = 'SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexscan = on';

/** The newest candidates after a cursor, by the text index; `null` if more than `atMost` links match. */
export const findByTextIndex = async (
  tx: Client,
  ofList: Selection,
  after: ListCursor,
  { wanted, atMost }: { readonly wanted: number; readonly atMost: number },
): Promise<Omit<Examined, 'examined'> | null> => {
  const selection = { ...ofList, tag: null };
  const { query } = selection;
  const values = new Values();
  const account = values.add(query.account, 'text');
  const limit = limitOf(query, wanted);
  await tx.query(byTextIndex);
  // The inner LIMIT bounds how many rows are read and sorted.
  const { rows } = await tx.query<{ readonly matches: number } & (Candidate | { subject: null })>(
    `WITH found AS MATERIALIZED (
       SELECT b.subject, b.created_at, ${columnsOf('b')} FROM ${links} b
       WHERE b.account = ${account} AND ${isBehind('b', after, values)}
         AND ${textConditions(query, 'b.folded', values).join(' AND ')} LIMIT ${atMost + 1})
     SELECT matches, candidates.* FROM (SELECT count(*) AS matches FROM found) all_found
     LEFT JOIN (${sized(`SELECT ${candidateColumns} FROM found l
       WHERE ${otherConditionsOn(selection, values)}
       ORDER BY l.created_at DESC, l.subject DESC LIMIT ${limit}`)}) candidates ON true`,
    values.list,
  );
  await tx.query(inOrder);
  if ((rows[0]?.matches ?? 0) > atMost) return null;
  const candidates = rows.filter((row) => row.subject !== null);
  const last = candidates.at(-1);
  return {
    candidates,
    end: last && candidates.length === limit ? cursorAfter(last) : null,
  };
};

/** The next account with links; `null` if there is none. */
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

/** Links of a tag are counted up to this number. */
const countedLinks = 10_000;

/** The tag of a query with the fewest links; `null` without tags. */
const rarestTag = async (
  tx: Client,
  { account, tag: tags }: AccountQuery,
): Promise<string | null> => {
  if (tags.length < 2) return tags[0] ?? null;
  const { rows } = await tx.query<{ tag: string }>({
    name: 'links-rarest-tag',
    text: `SELECT tag FROM unnest($2::text[]) AS requested (tag)
           ORDER BY (SELECT count(*) FROM (SELECT FROM ${tagsTable} t
             WHERE t.account = $1 AND t.tag = requested.tag LIMIT ${countedLinks}) counted) LIMIT 1`,
    values: [account, tags],
  });
  return rows[0]?.tag ?? null;
};

export const selectionOf = async (
  tx: Client,
  query: AccountQuery,
  now: Date,
  withoutClicks = false,
): Promise<Selection> => ({ query, now, tag: await rarestTag(tx, query), withoutClicks });

/** The number of matches, `most + 1` if there are more; `null` if more links would be examined, or it takes too long. */
export const countMatches = async (
  tx: Client,
  query: ListQuery,
  now: Date,
  most: number,
): Promise<number | null> => {
  const values = new Values();
  const ofAccount = { ...query, account: query.account ?? '' };
  const tag = query.account === null ? null : await rarestTag(tx, ofAccount);
  const selection = { query: ofAccount, now, tag, withoutClicks: false };
  const isByText = query.account !== null && tag === null && isIndexed(ofAccount);
  let range = query.status === 'deleted' ? 'true' : `b.status <> 'deleted'`;
  if (isByText) {
    const texts = textConditions(ofAccount, 'b.folded', values).join(' AND ');
    range = `b.account = ${values.add(query.account, 'text')} AND ${texts}`;
  }
  const examined =
    isByText || query.account === null
      ? `SELECT b.* FROM ${links} b WHERE ${range} LIMIT ${most + 1}`
      : walkOf(selection, 'links', null, most + 1, values);
  const conditions = (isByText ? otherConditionsOn : conditionsOn)(selection, values);
  // The request, which also reads a page, has 2 s.
  await tx.query(`SET LOCAL statement_timeout = 1000${isByText ? `; ${byTextIndex}` : ''}`);
  const { rows } = await tx.query<{ readonly matches: number; readonly examined: number }>(
    `SELECT count(*) AS examined, count(*) FILTER (WHERE ${conditions}) AS matches FROM (${examined}) l`,
    values.list,
  );
  const [{ matches, examined: seen } = { matches: 0, examined: 0 }] = rows;
  return seen <= most || matches > most ? matches : null;
};
