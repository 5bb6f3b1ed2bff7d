import { createRequire } from 'node:module';
import type pg from 'pg';

const { prepareValue } = createRequire(import.meta.url)('pg/lib/utils.js') as {
  /** Encodes a parameter as the driver does. @throws if the value has no form in PostgreSQL */
  readonly prepareValue: (value: unknown) => string | Buffer | null;
};

/** A statement with a `name` is parsed once for each connection. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** The statements of a transaction, and its result. */
export interface Write<Result> {
  readonly statements: readonly Statement[];
  /** Returns the result of the transaction. */
  readonly resultOf: (results: readonly pg.QueryResult[]) => Result;
  /** Called after COMMIT. An error is logged. */
  readonly afterCommit?: (() => void) | undefined;
}

/** A write without a result. */
export const writeOnly = (statements: readonly Statement[]): Write<void> => ({
  statements,
  resultOf: () => undefined,
});

/** Puts statements before those of a write, whose `resultOf` may read only the last results. */
export const writeAfter = <Result>(
  statements: readonly Statement[],
  write: Write<Result>,
): Write<Result> => ({ ...write, statements: [...statements, ...write.statements] });

export const mapResult = <Before, After>(
  write: Write<Before>,
  map: (result: Before) => After,
): Write<After> => ({ ...write, resultOf: (results) => map(write.resultOf(results)) });

/**
 * Encodes the parameters of a statement. The driver would omit a statement whose parameters it cannot encode, but send the
 * following ones, including COMMIT.
 *
 * @throws if a parameter cannot be encoded
 */
export const encodeStatement = ({ values, ...statement }: Statement): pg.QueryConfig => ({
  ...statement,
  ...(values && { values: values.map(prepareValue) }),
});
