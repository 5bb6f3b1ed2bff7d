/** Rows of the ledger's tables. A column has the name of its field in snake case. */
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import type { None, Remains } from '../../schemas/folds/subject-state.js';
import type { Statement } from '../platform/postgres/statement.js';
import type { LedgerRows } from './decide.js';

export const columnOf = (field: string): string => field.replace(/[A-Z]/g, '_$&').toLowerCase();

/** The columns of fields in a SELECT. @param alias of the table, with a dot */
export const selected = (fields: readonly string[], alias = ''): string =>
  fields.map((field) => `${alias}${columnOf(field)} AS "${field}"`).join();

/** Inserts a row, or overwrites the row with its key. */
export const upsert = (
  table: string,
  key: string,
  row: Readonly<Record<string, unknown>>,
): Statement => {
  const columns = Object.keys(row).map(columnOf);
  return {
    text: `INSERT INTO ${table} (${columns.join()})
           VALUES (${columns.map((_column, index) => `$${index + 1}`).join()})
           ON CONFLICT (${key}) DO UPDATE SET
             ${columns.map((column) => `${column} = excluded.${column}`).join()}`,
    values: Object.values(row),
  };
};

const textOfTime = (value: unknown): unknown =>
  value instanceof Date ? value.toISOString() : value;

/**
 * A table of states by ID. If a state has ended, the columns of its terms are `null`.
 *
 * @param ended the status of an ended state; `null`: every state keeps its terms
 * @param stored the terms as the driver writes them
 */
export const tableOfTerms = <
  Active extends Remains,
  Ended extends Remains,
  Event extends LinklogEvent,
>(
  table: string,
  ended: Ended['status'] | null,
  terms: readonly Exclude<keyof Active & string, keyof Remains>[],
  stored: (active: Active) => object = (active) => active,
) => {
  type Row = Remains & { readonly id: string } & Readonly<Record<string, unknown>>;
  type State = None | Active | Ended;
  const fields = ['account', 'status', ...terms, 'sequence', 'lastEventAt'];
  const columns = (alias = ''): string => selected(['id', ...fields], alias);
  const remainsOf = ({ account, status, sequence, lastEventAt }: Remains): Remains => ({
    ...{ account, status, sequence, lastEventAt },
  });
  /** The state of a row that has not ended. */
  const activeOf = (row: Row): Active => {
    const values = terms.map((term) => [term, textOfTime(row[term])] as const);
    return { ...remainsOf(row), ...Object.fromEntries(values) } as Active;
  };
  const stateOf = (row: Row): Active | Ended =>
    row.status === ended ? (remainsOf(row) as Ended) : activeOf(row);
  const rows: LedgerRows<State, Event> = {
    /** Locks the table against the few other writers, because the number of active states is limited. */
    async lock(tx, ids, schema = 'ledger') {
      await tx.query(`LOCK TABLE ${schema}.${table} IN SHARE ROW EXCLUSIVE MODE`);
      const found = await tx.query<Row>(
        `SELECT ${columns()} FROM ${schema}.${table} WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE`,
        [ids],
      );
      return new Map(found.rows.map((row) => [row.id, stateOf(row)]));
    },
    save: (states, schema = 'ledger') =>
      [...states].flatMap(([id, state]) => {
        if (state.status === 'none') return [];
        const known = (state.status === ended ? state : stored(state as Active)) as Partial<Row>;
        const values = fields.map((field) => [field, known[field] ?? null] as const);
        return upsert(`${schema}.${table}`, 'id', { id, ...Object.fromEntries(values) });
      }),
  };
  return { columns, activeOf, rows };
};
