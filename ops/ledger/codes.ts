/**
 * The further codes of links. Each is a row of `ledger.links` that points to its link, so that no code is assigned twice;
 * all other readers of the table ignore these rows.
 */
import type { CodeEvent, EventNamed } from '../../schemas/events/catalogue.js';
import { unnest, type Queryable } from '../platform/postgres/pool.js';
import type { Statement } from '../platform/postgres/statement.js';
import type { LedgerSchema } from './decide.js';

export interface AdditionalCode {
  /** The subject of its link. */
  readonly link: string;
  readonly isRemoved: boolean;
}

/** The further codes among subjects. */
export const readCodes = async (
  postgres: Queryable,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, AdditionalCode>> => {
  if (subjects.length === 0) return new Map();
  const { rows } = await postgres.query<AdditionalCode & { readonly subject: string }>({
    name: 'links-codes',
    text: `SELECT subject, code_of AS link, deleted AS "isRemoved" FROM ledger.links
           WHERE subject = ANY ($1::text[]) AND code_of IS NOT NULL`,
    values: [subjects],
  });
  return new Map(rows.map((row) => [row.subject, row]));
};

/** The subjects of the links that have these codes, in the same order. A removed code stays, and names no link. */
export const linksWithCodes = async (
  postgres: Queryable,
  subjects: readonly string[],
): Promise<readonly string[]> => {
  const codes = await readCodes(postgres, subjects);
  return subjects.map((subject) => {
    const code = codes.get(subject);
    return code && !code.isRemoved ? code.link : subject;
  });
};

const added = ({ type }: CodeEvent): boolean => type === 'linklog.LinkCodeAdded.v1';

/**
 * Writes the rows of codes. It waits for concurrent inserts.
 *
 * @param conflict what happens to a code that is taken; by default the statement fails with `isSubjectTaken`
 */
export const saveCodes = (
  events: readonly CodeEvent[],
  schema: LedgerSchema = 'ledger',
  conflict: '' | 'ON CONFLICT DO NOTHING' = '',
): readonly Statement[] => {
  const additions = events.filter(added) as readonly EventNamed<'LinkCodeAdded'>[];
  const removals = events.filter((event) => !added(event));
  const insert: Statement = {
    text: `INSERT INTO ${schema}.links
             (subject, key_id, account, created_at, sequence, last_event_at, code_of)
           SELECT code, key_id, account, time, sequence, time, subject
           FROM ${unnest(['text', 'text', 'text', 'timestamptz', 'bigint', 'text'])}
             AS i (code, key_id, account, time, sequence, subject)
           ORDER BY code ${conflict}`,
    values: [
      additions.map(({ data }) => data.code),
      additions.map(({ data }) => data.keyId),
      additions.map(({ account = 'default' }) => account),
      additions.map(({ time }) => new Date(time)),
      additions.map(({ sequence }) => sequence),
      additions.map(({ subject }) => subject),
    ],
  };
  const remove: Statement = {
    text: `UPDATE ${schema}.links l
           SET deleted = true, sequence = i.sequence, last_event_at = i.time
           FROM ${unnest(['text', 'text', 'bigint', 'timestamptz'])} AS i (code, subject, sequence, time)
           WHERE l.subject = i.code AND l.code_of = i.subject`,
    values: [
      removals.map(({ data }) => data.code),
      removals.map(({ subject }) => subject),
      removals.map(({ sequence }) => sequence),
      removals.map(({ time }) => new Date(time)),
    ],
  };
  return [...(additions.length > 0 ? [insert] : []), ...(removals.length > 0 ? [remove] : [])];
};
