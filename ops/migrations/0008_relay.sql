-- With Kafka, log.events is the ledger's outbox: the head of the log, in the same partitions.

-- Which log the events belong to: this table itself, or a Kafka cluster's topics. Fixed at the first start.
ALTER TABLE log.identity ADD COLUMN home text;

-- How far the relay has sent each partition.
CREATE TABLE log.relayed (
  partition_id smallint PRIMARY KEY REFERENCES log.partitions (id),
  next_offset bigint NOT NULL
) WITH (fillfactor = 10);

-- Now and then: which record of Kafka's partition came after all that was sent by then. Sent rows
-- are deleted by it, once all projections are that far.
CREATE TABLE log.relay_milestones (
  partition_id smallint NOT NULL REFERENCES log.partitions (id),
  next_offset bigint NOT NULL,
  log_offset bigint NOT NULL,
  reached_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (partition_id, next_offset)
);
