import pg from 'pg';
import {
  initialFields,
  type LedgerLink,
  type LedgerLinkEvent,
  type LedgerLinkState,
} from '../../schemas/folds/ledger-link.js';
import { unnest, valuesByField, type Client, type Queryable } from '../platform/postgres/pool.js';
import type { Statement } from '../platform/postgres/statement.js';
import type { LedgerClock } from './clock.js';
import type { LedgerRows, LedgerSchema } from './decide.js';

/** The SQL types of a link's columns. A column is named like its field, in snake case: `key_id`. */
const types = {
  code: 'text',
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
/** What a link begins with is the columns' default: a link that is made does not send it. */
const madeWith = fields.filter((field) => !(field in initialFields));
const columnOf = (field: string): string => field.replace(/[A-Z]/g, '_$&').toLowerCase();
const columnsOf = (some: readonly Field[]): readonly string[] => some.map(columnOf);
const input = (some: readonly Field[]): string =>
  `${unnest(some.map((field) => types[field]))} AS i (${columnsOf(some).join()})`;
const selected = fields.map((field) => `${columnOf(field)} AS "${field}"`).join();
const selectLinks = (schema: LedgerSchema): string =>
  `SELECT 'taken' AS status, ${selected} FROM ${schema}.links`;

const byCode = (a: LedgerLink, b: LedgerLink): number => (a.code < b.code ? -1 : 1);

const valuesOf = (links: readonly LedgerLink[], some: readonly Field[]): unknown[] =>
  valuesByField([...links].sort(byCode), ...some);

/**
 * Takes codes, as nothing has happened to them since; waits for rivals that are about to commit. Fails with an error
 * that `isCodeTaken` recognises.
 */
export const insertLinks = (
  links: readonly LedgerLink[],
  schema: LedgerSchema = 'ledger',
): readonly Statement[] =>
  links.length === 0
    ? []
    : [
        {
          name: `links-insert-${schema}`,
          text: `INSERT INTO ${schema}.links (${columnsOf(madeWith).join()})
                 SELECT * FROM ${input(madeWith)} ORDER BY code`,
          values: valuesOf(links, madeWith),
        },
      ];

/** Whether a link is as `insertLinks` inserts it. */
export const isAsMade = (link: LedgerLink): boolean =>
  Object.entries(initialFields).every(
    ([field, value]) => link[field as keyof LedgerLink] === value,
  );

/** Whether `insertLinks` found a code taken. */
export const isCodeTaken = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.constraint === 'links_pkey';

/** Those of the codes that are taken. */
export const findTaken = async (
  client: Queryable,
  codes: readonly string[],
): Promise<ReadonlySet<string>> => {
  if (codes.length === 0) return new Set();
  const { rows } = await client.query<{ code: string }>({
    name: 'links-taken',
    text: 'SELECT code FROM ledger.links WHERE code = ANY ($1::text[])',
    values: [codes],
  });
  return new Set(rows.map(({ code }) => code));
};

/** Locks the codes' rows, in their order, until the transaction ends; free codes have none. */
export const lockLinks = async (
  tx: Client,
  codes: readonly string[],
  schema: LedgerSchema = 'ledger',
): Promise<ReadonlyMap<string, LedgerLink>> => {
  const { rows } = await tx.query<LedgerLink>({
    name: `links-lock-${schema}`,
    text: `${selectLinks(schema)} WHERE code = ANY ($1::text[]) ORDER BY code FOR UPDATE`,
    values: [codes],
  });
  return new Map(rows.map((link) => [link.code, link]));
};

/** Locks links whose time is up and that nobody else holds. */
export const lockDueLinks = async (
  tx: Client,
  limit: number,
  clock: LedgerClock,
): Promise<ReadonlyMap<string, LedgerLink>> => {
  const { rows } = await tx.query<LedgerLink>({
    name: 'links-lock-due',
    text: `${selectLinks('ledger')}
           WHERE expired IS NULL AND NOT deleted AND expires_at <= least(clock_timestamp(), $2::timestamptz)
           ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED`,
    values: [limit, clock.upperBound()],
  });
  return new Map(rows.map((link) => [link.code, link]));
};

/** Writes links that the transaction has locked. */
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
                 FROM ${input(fields)} WHERE l.code = i.code`,
          values: valuesOf(links, fields),
        },
      ];

/** @throws where a decider accepted events of a code without a link: the fold ignores them */
const requireTaken = (link: LedgerLinkState): LedgerLink => {
  if (link.status === 'none') throw new Error('events were decided for a code without a link');
  return link;
};

export const ledgerLinks: LedgerRows<LedgerLinkState, LedgerLinkEvent> = {
  lock: lockLinks,
  save: (states) => saveLinks([...states.values()].map(requireTaken)),
  // What edges have in memory: a visit alone changes nothing there.
  changeOf: ({ type, subject: code, sequence }) =>
    type === 'linklog.LinkVisited.v2' ? null : { kind: 'link', code, sequence },
};
