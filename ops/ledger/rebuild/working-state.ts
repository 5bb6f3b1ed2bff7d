/**
 * The part of the ledger's tables that is no fold of the log: working state. It is not rebuilt, not
 * verified and not in a backup; a new installation starts without it.
 */
export const workingState = {
  tables: [
    /** Calls that no CallsMetered event tells of yet; a backup closes them first. */
    'usage_minutes',
    /** Answers kept for retries, for 24 hours. */
    'idempotency',
    /** Wrong passwords of the last two minutes, and the key of the hashes of who tried. */
    'password_tries',
    'client_hash_key',
    /** The keys of the visitors' hashes, of three days at most: whoever had them could tell who visited. */
    'visitor_keys',
    /** The key that signs the copies of links in Redis. */
    'copy_key',
    /** The latest time that was stored, to notice a clock that went back. */
    'clock',
    /** Where the re-checks of links stand; they begin anew, and find the same. */
    'safety_scans',
    /** Who is signed in to the console, and its one-time addresses of the last ten minutes. */
    'console_sessions',
    'console_addresses',
    /** Its calls of the day that cost none of the month. */
    'console_calls',
  ],
  /** Columns of tables that are folds otherwise. */
  columns: {
    /** The open window of the per-minute limit. */
    key_meters: ['window_start', 'window_calls'],
    api_keys: ['last_used_at'],
  },
} as const;

/** The ledger's tables that are folds of the log, but for the columns above. */
export const foldedTables = [
  'api_keys',
  'key_secrets',
  'alias_overrides',
  'platform',
  'links',
  'key_meters',
] as const;
