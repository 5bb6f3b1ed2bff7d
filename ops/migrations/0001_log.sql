-- The embedded event log: append-only, with the topics and partitions that Kafka would have.
CREATE SCHEMA log;

-- Names this log in checkpoints, so that a checkpoint of another one is refused.
CREATE TABLE log.identity (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid()
);
INSERT INTO log.identity DEFAULT VALUES;

-- Whoever appends holds its partitions' rows until the commit. So a record becomes visible only
-- after all before it: the hole that a serial id leaves under concurrent writers cannot open.
CREATE TABLE log.partitions (
  id smallint PRIMARY KEY,
  topic text NOT NULL,
  partition smallint NOT NULL,
  next_offset bigint NOT NULL DEFAULT 0,
  UNIQUE (topic, partition)
) WITH (fillfactor = 10);

CREATE TABLE log.events (
  partition_id smallint NOT NULL,
  record_offset bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  -- The sequence of an event that the ledger decided; null for the visits of a spool.
  ledger_sequence bigint,
  value text NOT NULL,
  PRIMARY KEY (partition_id, record_offset)
);

-- A subject's newest events, for readers that must not see less than was acknowledged.
CREATE INDEX events_by_subject ON log.events (key, partition_id, ledger_sequence)
  WHERE ledger_sequence IS NOT NULL;
