import pg from 'pg';
import {
  initialFields,
  type LedgerLink,
  type LedgerLinkEvent,
  type LedgerLinkState,
} from '../../schemas/folds/ledger-link.js';
import { isVisit } from '../../schemas/events/catalogue.js';
import { compareSubjects, subjectRangeOf } from '../../schemas/link-subject.js';
import { unnest, valuesByField, type Client, type Queryable } from '../platform/postgres/pool.js';
import type { Statement } from '../platform/postgres/statement.js';
import type { LedgerClock } from './clock.js';
import type { LedgerRows, LedgerSchema } from './decide.js';
import { columnOf, selected } from './rows.js';

/** SQL types by field. A column has the name of its field in snake case. */
const types = {
  subject: 'text',
  keyId: 'text',
  account: 'text',
  createdAt: 'timestamptz',
  reuseKey: 'bigint',
  deleted: 'boolean',
  blocked: 'boolean',
  disabled: 'boolean',
  expired: 'text',
  cleared: 'boolean',
  startsAt: 'timestamptz',
  expiresAt: 'timestamptz',
  maxClicks: 'integer',
  clicks: 'integer',
  visitSequence: 'integer',
  edited: 'jsonb',
  sequence: 'bigint',
  lastEventAt: 'timestamptz',
} as const satisfies Record<Exclude<keyof LedgerLink, 'status'>, string>;

type Field = keyof typeof types;

const fields = Object.keys(types) as readonly Field[];
/** Columns without a default, which new links must set. */
const insertedFields = fields.filter((field) => !(field in initialFields));
const columnsOf = (selection: readonly Field[]): readonly string[] => selection.map(columnOf);
const input = (selection: readonly Field[]): string =>
  `${unnest(selection.map((field) => types[field]))} AS i (${columnsOf(selection).join()})`;
const selectLinks = (schema: LedgerSchema): string =>
  `SELECT 'taken' AS status, ${selected(fields)} FROM ${schema}.links`;

const bySubject = (a: LedgerLink, b: LedgerLink): number => compareSubjects(a.subject, b.subject);

const valuesOf = (links: readonly LedgerLink[], selection: readonly Field[]): unknown[] =>
  valuesByField([...links].sort(bySubject), ...selection);

const initialEntries = Object.entries(initialFields);

/** Whether a link is in the initial state, which the defaults of the columns are. */
const isInitial = (link: LedgerLink): boolean =>
  initialEntries.every(([field, value]) => link[field as keyof LedgerLink] === value);

/** Inserts links. It waits for concurrent inserts, and fails with `isSubjectTaken`. */
export const insertLinks = (
  links: readonly LedgerLink[],
  schema: LedgerSchema = 'ledger',
): readonly Statement[] => {
  if (links.length === 0) return [];
  const areInitial = links.every(isInitial);
  const inserted = areInitial ? insertedFields : fields;
  return [
    {
      name: `links-insert-${areInitial ? 'initial-' : ''}${schema}`,
      text: `INSERT INTO ${schema}.links (${columnsOf(inserted).join()})
             SELECT * FROM ${input(inserted)} ORDER BY subject`,
      values: valuesOf(links, inserted),
    },
  ];
};

/** Whether `insertLinks` failed because a subject is taken. */
export const isSubjectTaken = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.constraint === 'links_pkey';

export const findTaken = async (
  client: Queryable,
  subjects: readonly string[],
): Promise<ReadonlySet<string>> => {
  if (subjects.length === 0) return new Set();
  const { rows } = await client.query<{ subject: string }>({
    name: 'links-taken',
    text: 'SELECT subject FROM ledger.links WHERE subject = ANY ($1::text[])',
    values: [subjects],
  });
  return new Set(rows.map(({ subject }) => subject));
};

/** Counts the codes of a length on a domain that were ever assigned, up to `limit`. @param length 4 or 5 */
export const countShortCodes = async (
  postgres: Queryable,
  domain: string | null,
  length: number,
  limit: number,
): Promise<number> => {
  const [after, before] = domain === null ? ['', '\u{10ffff}'] : subjectRangeOf(domain);
  const { rows } = await postgres.query<{ count: number }>({
    name: 'links-count-short',
    // The condition of the index `links_short`.
    text: `SELECT count(*) AS count FROM (
             SELECT FROM ledger.links
             WHERE subject ~ '(^|/)[^/]{4,5}$' AND subject > $1 AND subject < $2
               AND char_length(subject) = $3 AND subject ~ $4
             LIMIT $5) taken`,
    values: [
      ...[after, before, (domain === null ? 0 : domain.length + 1) + length],
      ...[domain === null ? '^[^/]+$' : '/', limit],
    ],
  });
  return rows[0]?.count ?? 0;
};

/** Locks the existing links in the order of their subjects. */
export const lockLinks = async (
  tx: Client,
  subjects: readonly string[],
  schema: LedgerSchema = 'ledger',
): Promise<ReadonlyMap<string, LedgerLink>> => {
  const { rows } = await tx.query<LedgerLink>({
    name: `links-lock-${schema}`,
    text: `${selectLinks(schema)} WHERE subject = ANY ($1::text[]) AND code_of IS NULL
           ORDER BY subject FOR UPDATE`,
    values: [subjects],
  });
  return new Map(rows.map((link) => [link.subject, link]));
};

/** Parameter `$1` is the clock's upper bound. */
const isDue = `expired IS NULL AND NOT deleted AND expires_at <= least(clock_timestamp(), $1::timestamptz)`;

/** Whether links are due to expire, without a transaction. */
export const areLinksDue = async (postgres: Queryable, clock: LedgerClock): Promise<boolean> => {
  const { rows } = await postgres.query<{ due: boolean }>({
    name: 'links-due',
    text: `SELECT EXISTS (SELECT FROM ledger.links WHERE ${isDue}) AS due`,
    values: [clock.upperBound()],
  });
  return rows[0]?.due === true;
};

/** Locks links that are due to expire and not locked yet. */
export const lockDueLinks = async (
  tx: Client,
  limit: number,
  clock: LedgerClock,
): Promise<ReadonlyMap<string, LedgerLink>> => {
  const { rows } = await tx.query<LedgerLink>({
    name: 'links-lock-due',
    text: `${selectLinks('ledger')}
           WHERE ${isDue} ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
    values: [clock.upperBound(), limit],
  });
  return new Map(rows.map((link) => [link.subject, link]));
};

export const saveLinks = (
  links: readonly LedgerLink[],
  schema: LedgerSchema = 'ledger',
): readonly Statement[] =>
  links.length === 0
    ? []
    : [
        {
          name: `links-save-${schema}`,
          text: `UPDATE ${schema}.links l SET ${columnsOf(fields)
            .map((column) => `${column} = i.${column}`)
            .join()}
                 FROM ${input(fields)} WHERE l.subject = i.subject`,
          values: valuesOf(links, fields),
        },
      ];

/** @throws if a decider accepted events for a subject without a link, which the fold ignores */
const requireTaken = (link: LedgerLinkState): LedgerLink => {
  if (link.status === 'none') throw new Error('events were decided for a subject without a link');
  return link;
};

export const ledgerLinks: LedgerRows<LedgerLinkState, LedgerLinkEvent> = {
  lock: lockLinks,
  save: (states, schema) => saveLinks([...states.values()].map(requireTaken), schema),
  // Visits do not invalidate caches.
  changeOf: (event) =>
    isVisit(event) ? null : { kind: 'link', subject: event.subject, sequence: event.sequence },
};
