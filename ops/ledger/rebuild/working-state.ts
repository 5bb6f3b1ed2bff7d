/** Tables and columns of the ledger that are not folds of the log. They are not rebuilt, verified or backed up. */
export const workingState = {
  tables: [
    /** Calls without a CallsMetered event; a backup closes them first. */
    'usage_minutes',
    /** Idempotency records of 24 hours. */
    'idempotency',
    /** Wrong passwords of the last two minutes, and the key of the hashes of their clients. */
    'password_tries',
    'client_hash_key',
    /** Requests for shared statistics in the last two minutes, and the key of their clients' hashes. */
    'share_tries',
    'share_key',
    /** Keys of visitor hashes, which could identify visitors and are destroyed after three days. */
    'visitor_keys',
    /** The key that signs cached links in Redis. */
    'copy_key',
    /** The latest stored time, which detects a clock that moved back. */
    'clock',
    /** Progress of the safety re-checks of links. */
    'safety_scans',
    /** Sessions of the console, and its one-time addresses of the last ten minutes. */
    'console_sessions',
    'console_addresses',
    /** Free calls of the console. */
    'console_calls',
  ],
  /** Columns of folded tables. */
  columns: {
    /** The open window of the per-minute limit. */
    key_meters: ['window_start', 'window_calls'],
    api_keys: ['last_used_at'],
    people: ['last_seen_at', 'last_account'],
  },
} as const;

/** Tables that are folds of the log, except the columns above. */
export const foldedTables = [
  'api_keys',
  'key_secrets',
  'alias_overrides',
  'domains',
  'webhooks',
  'shares',
  'people',
  'roles',
  'invitations',
  'utm_templates',
  'platform',
  'links',
  'key_meters',
] as const;
