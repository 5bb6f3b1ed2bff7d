-- The months of a meter are turned where its calls are counted, in TypeScript, as the fold of the log turns them.
DROP FUNCTION ledger.set_aside(jsonb, date, bigint, bigint, bigint, date);
