-- Events that the log lacks, found by their sequences, which ascend by 1 in a subject or a spool.

-- Kafka: events of the ledger that are in the outbox, were sent, and that no projection has applied. `overtaken`: a
-- later event of the subject was applied.
CREATE TABLE log.unapplied (
  partition_id smallint NOT NULL,
  first_offset bigint NOT NULL,
  overtaken boolean NOT NULL DEFAULT false,
  PRIMARY KEY (partition_id, first_offset)
);
-- Below it, each event that was sent is applied, or in log.unapplied.
ALTER TABLE log.relayed ADD COLUMN checked_offset bigint NOT NULL DEFAULT 0;

DO $$
DECLARE
  projection text;
BEGIN
  FOREACH projection IN ARRAY ARRAY['redirects', 'quotas', 'stats', 'history'] LOOP
    EXECUTE format($statements$
      -- Without this table it cannot become the live one.
      DROP SCHEMA IF EXISTS projection_%1$s_previous CASCADE;
      -- Events of the ledger that were not there when a later one of their subject came.
      CREATE TABLE projection_%1$s.missing_events (
        topic text NOT NULL,
        partition smallint NOT NULL,
        subject text COLLATE "C" NOT NULL,
        first_sequence bigint NOT NULL,
        last_sequence bigint NOT NULL,
        PRIMARY KEY (topic, partition, subject, first_sequence)
      );
    $statements$, projection);
  END LOOP;
END
$$;

-- The visits of spools, by blocks of 4,096 sequences, until all of a block are accounted for. The rows of a partition
-- change in the transaction of its batch.
CREATE TABLE projection_stats.spool_blocks (
  source text COLLATE "C" NOT NULL,
  block bigint NOT NULL,
  partition smallint NOT NULL,
  visits integer NOT NULL,
  highest bigint NOT NULL,
  PRIMARY KEY (source, block, partition)
) WITH (fillfactor = 50);

CREATE TABLE projection_stats.spools (
  source text COLLATE "C" PRIMARY KEY,
  -- Up to this sequence, visits are either applied or counted in missing_before.
  accounted_through bigint NOT NULL,
  missing_before bigint NOT NULL DEFAULT 0,
  -- Visits that are missing after it, in blocks that are still open.
  missing_after bigint NOT NULL DEFAULT 0
);
-- The visits of these were not counted. Those on their way will be counted although they are accounted for: a gap of as
-- many stays hidden, and none is reported by mistake.
INSERT INTO projection_stats.spools (source, accounted_through)
SELECT origin, max(sequence) FROM projection_stats.high_water_marks
WHERE raised_on IS NOT NULL GROUP BY origin;

-- For migrations that add a projection: makes its schema, with the tables that the projectors' runtime
-- keeps in it. Call it with the projection's name, then make the projection's own tables.
CREATE OR REPLACE FUNCTION public.create_projection(name text) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  EXECUTE format($tables$
    CREATE SCHEMA %1$I;

    -- The next offset of each partition. Moves in the transaction of the rows.
    CREATE TABLE %1$I.checkpoints (
      topic text NOT NULL,
      partition smallint NOT NULL,
      log_id text NOT NULL,
      next_offset bigint NOT NULL,
      PRIMARY KEY (topic, partition)
    ) WITH (fillfactor = 50);

    -- The highest sequence seen of an origin (a subject, or a spool): repeats are not above it.
    CREATE TABLE %1$I.high_water_marks (
      topic text NOT NULL,
      partition smallint NOT NULL,
      origin text COLLATE "C" NOT NULL,
      sequence bigint NOT NULL,
      -- Of a spool: the newest day of the partition's visits when this was raised. Null of a subject.
      raised_on date,
      PRIMARY KEY (topic, partition, origin)
    );
    CREATE INDEX ON %1$I.high_water_marks (topic, partition, raised_on) WHERE raised_on IS NOT NULL;

    -- Events that could not be applied; with a null error, events that are parked behind them.
    CREATE TABLE %1$I.dead_letters (
      topic text NOT NULL,
      partition smallint NOT NULL,
      record_offset bigint NOT NULL,
      subject text COLLATE "C" NOT NULL,
      value text NOT NULL,
      error text,
      PRIMARY KEY (topic, partition, record_offset)
    );
    CREATE INDEX ON %1$I.dead_letters (topic, subject);

    -- Events of the ledger that were not there when a later one of their subject came.
    CREATE TABLE %1$I.missing_events (
      topic text NOT NULL,
      partition smallint NOT NULL,
      subject text COLLATE "C" NOT NULL,
      first_sequence bigint NOT NULL,
      last_sequence bigint NOT NULL,
      PRIMARY KEY (topic, partition, subject, first_sequence)
    );
  $tables$, 'projection_' || name);
END
$function$;
