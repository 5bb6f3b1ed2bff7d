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
} as const;
