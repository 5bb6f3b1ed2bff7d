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
      PRIMARY KEY (topic, partition, origin)
    );

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
