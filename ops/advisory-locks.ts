/**
 * Every advisory lock of Linklog, so that no number is used twice. PostgreSQL keeps locks with one number apart from
 * locks with two (the second one identifies a projection, for example).
 */
export const advisoryLocks = {
  /** Held while migrations run. */
  migrations: 7_021_955,
  /** With the generation of the tables: held by the process that relays the outbox to the log. */
  relay: 7_021_956,
  /** Held while the first key of a new installation is created. */
  firstKey: 7_021_957,
  /** With a projection's number: shared by batches, exclusive for a change of the schema. */
  projectionSchema: 7_021_958,
  /** With a projection's number: held by a rebuild. */
  projectionRebuild: 7_021_959,
  /** Held by the process that compacts the embedded log. */
  compaction: 7_021_960,
  /** With the hash of an account's name: held while a key of the account creates a key. */
  accountKeys: 7_021_961,
  /** Held while roles of people change, because accounts need an owner. */
  people: 7_021_962,
  /** Held while a process makes a scheduled backup. */
  backups: 7_021_963,
  /** With the hash of a root key: held while a stream of the feed takes a slot. */
  streams: 7_021_964,
} as const;
