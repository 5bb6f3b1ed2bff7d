import { createRequire } from 'node:module';
import type pg from 'pg';

const { prepareValue } = createRequire(import.meta.url)('pg/lib/utils.js') as {
  /** The value as the driver sends it. @throws for a value that has no form in PostgreSQL */
  readonly prepareValue: (value: unknown) => string | Buffer | null;
};

/** A statement as data. A statement with a `name` is parsed once for each connection. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** What a transaction writes, as data, and what it returns. */
export interface Write<Result> {
  /** They are sent in this order. */
  readonly statements: readonly Statement[];
  /** Makes the transaction's result of the results of the statements. */
  readonly resultOf: (results: readonly pg.QueryResult[]) => Result;
  /** Called when the transaction is committed. What it throws is logged. */
  readonly afterCommit?: (() => void) | undefined;
}

/** A write without a result. */
export const writeOnly = (statements: readonly Statement[]): Write<void> => ({
  statements,
  resultOf: () => undefined,
});

/** The write with other statements before its own. Its `resultOf` may read the last results only. */
export const writeAfter = <Result>(
  statements: readonly Statement[],
  write: Write<Result>,
): Write<Result> => ({ ...write, statements: [...statements, ...write.statements] });

/** The write with another result. */
export const mapResult = <Before, After>(
  write: Write<Before>,
  map: (result: Before) => After,
): Write<After> => ({ ...write, resultOf: (results) => map(write.resultOf(results)) });

/**
 * The statement with parameters that the driver sends as they are. The driver would not send a statement whose
 * parameters it cannot encode, but it would send the statements behind it, COMMIT included.
 *
 * @throws for a parameter that cannot be encoded
 */
export const encodeStatement = ({ values, ...statement }: Statement): pg.QueryConfig => ({
  ...statement,
  ...(values && { values: values.map(prepareValue) }),
});
