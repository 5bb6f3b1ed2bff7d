-- Each start of an edge makes a spool, which has a high-water mark in each partition of visits and for each
-- reader. Readers delete the mark 30 days after its last visit: this is the day that they count from. The
-- days of spools that there are already begin now.
DO $$
DECLARE
  reader text;
BEGIN
  FOR reader IN SELECT schemaname FROM pg_tables WHERE tablename = 'high_water_marks' LOOP
    EXECUTE format($statements$
      ALTER TABLE %1$I.high_water_marks ADD COLUMN raised_on date;
      UPDATE %1$I.high_water_marks SET raised_on = (clock_timestamp() AT TIME ZONE 'UTC')::date
      WHERE origin LIKE '/linklog/spool/%%';
      CREATE INDEX ON %1$I.high_water_marks (topic, partition, raised_on) WHERE raised_on IS NOT NULL;
    $statements$, reader);
  END LOOP;
END
$$;

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
  $tables$, 'projection_' || name);
END
$function$;
