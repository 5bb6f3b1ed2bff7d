-- The embedded log keeps batches: rows with so many records, one a line, whose keys are their subjects. What
-- was a row for each event is a batch of one. With Kafka, log.records is the ledger's outbox.
ALTER TABLE log.events RENAME TO records;
ALTER TABLE log.records RENAME CONSTRAINT events_pkey TO records_pkey;
ALTER INDEX log.events_by_subject RENAME TO records_by_subject;
ALTER TABLE log.records RENAME COLUMN record_offset TO first_offset;
ALTER TABLE log.records ADD COLUMN records integer NOT NULL DEFAULT 1;
-- Null: a batch.
ALTER TABLE log.records ALTER COLUMN key DROP NOT NULL;

-- Old records, put together below the last signed checkpoint.
CREATE TABLE log.segments (LIKE log.records, PRIMARY KEY (partition_id, first_offset));

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
