-- How many events of a stream up to the checkpoint retention or a deletion has removed from EventStoreDB.
ALTER TABLE archive.streams ADD COLUMN removed bigint NOT NULL DEFAULT 0;

-- The metric adds up the streams with removed events.
CREATE INDEX ON archive.streams (removed) WHERE removed > 0;
