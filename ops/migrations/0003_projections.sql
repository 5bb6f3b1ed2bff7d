-- The read models. Each projection has a schema of its own, which holds its rows, its checkpoints,
-- its marks and its dead letters: a rebuild makes the same tables in a second schema, and the swap
-- is a renaming of schemas.
CREATE SCHEMA projection_redirects;
CREATE SCHEMA projection_quotas;
CREATE SCHEMA projection_stats;

DO $$
DECLARE
  projection text;
BEGIN
  FOREACH projection IN ARRAY ARRAY['redirects', 'quotas', 'stats'] LOOP
    EXECUTE format($tables$
      -- Moves in the transaction of the rows.
      CREATE TABLE projection_%1$s.checkpoints (
        topic text NOT NULL,
        partition smallint NOT NULL,
        log_id text NOT NULL,
        next_offset bigint NOT NULL,
        PRIMARY KEY (topic, partition)
      ) WITH (fillfactor = 50);

      -- The highest sequence seen of an origin (a subject, or a spool): repeats are not above it.
      CREATE TABLE projection_%1$s.marks (
        topic text NOT NULL,
        partition smallint NOT NULL,
        origin text COLLATE "C" NOT NULL,
        sequence bigint NOT NULL,
        PRIMARY KEY (topic, partition, origin)
      );

      -- Events that could not be applied, and later ones of their subjects, parked behind them.
      CREATE TABLE projection_%1$s.dead_letters (
        topic text NOT NULL,
        partition smallint NOT NULL,
        record_offset bigint NOT NULL,
        subject text COLLATE "C" NOT NULL,
        value text NOT NULL,
        -- Why; null for an event that is only parked.
        error text,
        PRIMARY KEY (topic, partition, record_offset)
      );
      -- Without a name of ours: a rebuild's copy of the table gets PostgreSQL's choice of one too.
      CREATE INDEX ON projection_%1$s.dead_letters (topic, subject);
    $tables$, projection);
  END LOOP;
END
$$;

CREATE TABLE projection_redirects.links (
  code text COLLATE "C" PRIMARY KEY,
  status text NOT NULL,
  expired text,
  url text NOT NULL,
  account text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  max_clicks integer,
  password_hash text,
  sequence bigint NOT NULL
);

-- What each key spent in each month (its first day, UTC).
CREATE TABLE projection_quotas.months (
  key_id text COLLATE "C" NOT NULL,
  month date NOT NULL,
  calls bigint NOT NULL,
  links bigint NOT NULL,
  qr_codes bigint NOT NULL,
  PRIMARY KEY (key_id, month)
) WITH (fillfactor = 50);

-- A link as it was made: its record outlives it.
CREATE TABLE projection_stats.links (
  code text COLLATE "C" PRIMARY KEY,
  url text NOT NULL,
  account text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  max_clicks integer
);

CREATE TABLE projection_stats.clicks (
  code text COLLATE "C" PRIMARY KEY,
  clicks bigint NOT NULL,
  bots bigint NOT NULL,
  -- Of the last click; null while only bots came.
  last_accessed timestamptz
) WITH (fillfactor = 50);
