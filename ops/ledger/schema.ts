/** Where a ledger's tables are: the live one's, or a session's own temporary ones, for a fold that nobody else sees. */
export type LedgerSchema = 'ledger' | 'pg_temp';
