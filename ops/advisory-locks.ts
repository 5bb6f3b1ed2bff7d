/**
 * Every advisory lock that Linklog takes, so that no number means two things. Locks with one number
 * and locks with two (the second names a projection) are apart in PostgreSQL.
 */
export const advisoryLocks = {
  /** Held while migrations run. */
  migrations: 7_021_955,
  /** Held by the one process that relays the outbox to the log. */
  relay: 7_021_956,
  /** Held while the first key of a new installation is made. */
  firstKey: 7_021_957,
  /** With a projection's number: shared by batches, held by whoever changes the schema. */
  projectionSchema: 7_021_958,
  /** With a projection's number: held by whoever rebuilds it. */
  projectionRebuild: 7_021_959,
  /** Held by the one process that compacts the embedded log at this moment. */
  compaction: 7_021_960,
  /** With the hash of an account's name: held while a key of the account makes a key. */
  accountKeys: 7_021_961,
  /** Held by the one process that counts the missing visits of spools at this moment. */
  spoolWatch: 7_021_963,
} as const;
