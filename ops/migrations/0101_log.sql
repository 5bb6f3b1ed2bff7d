-- Generation 1: release 0.2.0 states none, and does not know the columns `subject`.

-- The embedded event log: append-only, with the topics and partitions that Kafka would have. With Kafka, it is the
-- ledger's outbox: the newest part of the log, in the same partitions.
CREATE SCHEMA log;

-- Identifies this log in checkpoints, so that a checkpoint of another log is refused.
CREATE TABLE log.identity (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  -- The log that the events belong to: this table, or the topics of a Kafka cluster. Fixed at the first start.
  log_name text
);
INSERT INTO log.identity DEFAULT VALUES;

-- An append locks the rows of its partitions until its commit, so a record becomes visible only after all records
-- before it. A serial id would leave holes under concurrent writers.
--
-- No table has a foreign key to it: that would lock rows in no order while appends hold them, which deadlocks.
-- Partitions are never deleted.
CREATE TABLE log.partitions (
  id smallint PRIMARY KEY,
  topic text NOT NULL,
  partition smallint NOT NULL,
  next_offset bigint NOT NULL DEFAULT 0,
  UNIQUE (topic, partition)
) WITH (fillfactor = 10);

CREATE TABLE log.records (
  partition_id smallint NOT NULL,
  first_offset bigint NOT NULL,
  -- NULL: a batch, whose records have one line each and their subjects as keys.
  key text COLLATE "C",
  -- The sequence of an event that the ledger decided; NULL for the visits of a spool.
  ledger_sequence bigint,
  value text NOT NULL,
  records integer NOT NULL DEFAULT 1,
  -- When PostgreSQL recorded the row: the time of its event lags behind after a jump of the clock.
  recorded_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (partition_id, first_offset)
);
-- The newest events of a subject, for readers that must not see less than was acknowledged.
CREATE INDEX records_by_subject ON log.records (key, partition_id, ledger_sequence)
  WHERE ledger_sequence IS NOT NULL;

-- Old records, merged below the last signed checkpoint.
CREATE TABLE log.segments (
  partition_id smallint NOT NULL,
  first_offset bigint NOT NULL,
  key text COLLATE "C",
  ledger_sequence bigint,
  value text NOT NULL,
  records integer NOT NULL,
  PRIMARY KEY (partition_id, first_offset)
);

-- One event a row, for people and their SQL.
CREATE VIEW log.events AS
SELECT r.partition_id, r.first_offset + l.position - 1 AS record_offset,
       coalesce(r.key, substring(l.value FROM '"subject":"([^"\\]*)"') COLLATE "C") AS key,
       r.ledger_sequence, l.value
FROM (
  SELECT partition_id, first_offset, key, ledger_sequence, value FROM log.segments
  UNION ALL
  SELECT partition_id, first_offset, key, ledger_sequence, value FROM log.records
) r
CROSS JOIN LATERAL unnest(
  CASE WHEN r.key IS NULL THEN string_to_array(r.value, E'\n') ELSE ARRAY[r.value] END
) WITH ORDINALITY AS l (value, position);

-- The offset up to which the relay has sent each partition to Kafka.
CREATE TABLE log.relayed (
  partition_id smallint PRIMARY KEY,
  next_offset bigint NOT NULL,
  -- Below it, each event that was sent is applied, or in log.unapplied.
  checked_offset bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);

-- Pairs of offsets, saved at intervals: all records before next_offset are before log_offset in Kafka's partition.
-- Sent rows are deleted up to a pair that all projections have passed.
CREATE TABLE log.relay_checkpoints (
  partition_id smallint NOT NULL,
  next_offset bigint NOT NULL,
  log_offset bigint NOT NULL,
  saved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (partition_id, next_offset)
);

-- Events of the ledger that are in the outbox, were sent to Kafka, and that no projection has applied.
CREATE TABLE log.unapplied (
  partition_id smallint NOT NULL,
  first_offset bigint NOT NULL,
  -- Whether a later event of the subject was applied.
  overtaken boolean NOT NULL DEFAULT false,
  PRIMARY KEY (partition_id, first_offset)
);

-- Tamper evidence: a chain of hashes for each partition of the log, and signed checkpoints of it.
CREATE SCHEMA seals;

-- The keys that have signed, one at a time: a projector with another key than the last one does not start.
CREATE TABLE seals.keys (
  id text COLLATE "C" PRIMARY KEY,
  public_key text NOT NULL,
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  retired_at timestamptz
);
CREATE UNIQUE INDEX ON seals.keys ((true)) WHERE retired_at IS NULL;

-- The end of each chain.
CREATE TABLE seals.chains (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL,
  partition smallint NOT NULL,
  log_id text NOT NULL,
  next_offset bigint NOT NULL DEFAULT 0,
  hash bytea NOT NULL,
  -- The fingerprints of the records that no checkpoint covers yet, and the time of the first of them.
  tail bytea NOT NULL DEFAULT '',
  tail_since timestamptz,
  UNIQUE (topic, partition)
) WITH (fillfactor = 50);
-- Hashes cannot be compressed.
ALTER TABLE seals.chains ALTER COLUMN tail SET STORAGE EXTERNAL;

CREATE TABLE seals.checkpoints (
  chain_id integer NOT NULL REFERENCES seals.chains (id),
  next_offset bigint NOT NULL,
  hash bytea NOT NULL,
  -- Eight bytes of the chain's hash after each record since the previous checkpoint: they locate the first record that
  -- was changed.
  fingerprints bytea NOT NULL,
  sealed_at timestamptz NOT NULL,
  key_id text COLLATE "C" NOT NULL REFERENCES seals.keys (id),
  signature bytea NOT NULL,
  PRIMARY KEY (chain_id, next_offset)
);
ALTER TABLE seals.checkpoints ALTER COLUMN fingerprints SET STORAGE EXTERNAL;
