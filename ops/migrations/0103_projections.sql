-- The read models. Each projection has a schema, which has its rows, its checkpoints, its high-water marks and its dead
-- letters: a rebuild creates the same tables in a second schema, and the swap renames the schemas.
--
-- Indexes have the names that PostgreSQL chooses, as in the tables of a rebuild.

-- Searches use an index of trigrams. Both extensions are trusted: a role with CREATE on the database may install them.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- For migrations that add a projection: creates its schema, with the tables of the projectors' runtime. Call it with the
-- projection's name, then create the projection's own tables.
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

    -- The highest sequence seen of an origin (a subject, or a spool): repeats are not above it. If the rows of the
    -- projection have the sequences, or the log is in PostgreSQL, only spools have marks.
    CREATE TABLE %1$I.high_water_marks (
      topic text NOT NULL,
      partition smallint NOT NULL,
      origin text COLLATE "C" NOT NULL,
      sequence bigint NOT NULL,
      -- Of a spool: the newest day of the partition's visits when this was raised, because each start of an edge makes
      -- a spool, and readers delete its mark 30 days after its last visit. NULL for a subject.
      raised_on date,
      PRIMARY KEY (topic, partition, origin)
    );
    CREATE INDEX ON %1$I.high_water_marks (topic, partition, raised_on) WHERE raised_on IS NOT NULL;

    -- Events that could not be applied; with a NULL error, events that are parked behind them.
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

    -- Events of the ledger that the log lacked when a later one of their subject came: sequences ascend by 1.
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

-- Links as edges and lists show them.
SELECT public.create_projection('redirects');

-- Values that most links do not have are NULL, which takes no space: see schemas/read-models/redirects.ts.
CREATE TABLE projection_redirects.links (
  subject text COLLATE "C" PRIMARY KEY,
  status text NOT NULL,
  expired text,
  url text NOT NULL,
  account text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  max_clicks integer,
  password_hash text,
  sequence bigint NOT NULL,
  blocked boolean,
  disabled boolean,
  custom boolean,
  title text,
  note text,
  tags jsonb,
  updated_at timestamptz,
  live_since timestamptz,
  original jsonb,
  -- The folded texts of a link: see schemas/folded-text.ts.
  folded text COLLATE "C",
  starts_at timestamptz,
  -- Redirect rules, and whether the visitor's query is forwarded: see schemas/redirect-rules.ts.
  rules jsonb,
  forward_query boolean
);
-- For the lists of an account's links, newest first. A link is in one of the first two indexes.
CREATE INDEX ON projection_redirects.links (account, created_at) WHERE status = 'active';
CREATE INDEX ON projection_redirects.links (account, status, created_at) WHERE status <> 'active';
-- A list of scheduled links reads these alone.
CREATE INDEX ON projection_redirects.links (account, created_at, subject) WHERE starts_at IS NOT NULL;
-- Re-checks of destinations follow the age of the present destination. They need no subject: few links have the same
-- time.
CREATE INDEX ON projection_redirects.links ((coalesce(live_since, created_at))) WHERE status = 'active';
-- With the account in the index, trigrams that are frequent in other accounts cost nothing. The pending list has
-- PostgreSQL's default size (4 MB): with 512 kB, the index costs three times as much per new link, and a search at most
-- 2 ms less.
CREATE INDEX ON projection_redirects.links USING gin (account, folded gin_trgm_ops);

-- The tags of links, also of deleted ones. They are compared in folded form.
CREATE TABLE projection_redirects.link_tags (
  account text COLLATE "C" NOT NULL,
  tag text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  subject text COLLATE "C" NOT NULL,
  PRIMARY KEY (account, tag, created_at, subject)
);

SELECT public.create_projection('quotas');

-- The usage of each key in each month (its first day, UTC).
CREATE TABLE projection_quotas.months (
  key_id text COLLATE "C" NOT NULL,
  month date NOT NULL,
  calls bigint NOT NULL,
  links bigint NOT NULL,
  qr_codes bigint NOT NULL,
  PRIMARY KEY (key_id, month)
) WITH (fillfactor = 50);

-- Statistics as documents, whose texts are in schemas/statistics/. `day`: UTC days since 1970. `series`: the visits of
-- its quarters of an hour. `document`: its clicks by the values of each dimension. `uniques`: visitors that were new on
-- that day.
SELECT public.create_projection('stats');

-- A link: its visits of all time, and the visits of its newest quarter of an hour so far. That quarter is in no row of
-- `days` and `quarters` until a visit of a later one comes.
CREATE TABLE projection_stats.links (
  subject text COLLATE "C" PRIMARY KEY,
  account text COLLATE "C" NOT NULL,
  clicks bigint NOT NULL,
  bots bigint NOT NULL,
  -- The time of the last click; NULL if all visitors were bots.
  last_accessed timestamptz,
  -- The day of the newest quarter.
  day integer NOT NULL,
  uniques integer NOT NULL,
  series text COLLATE "C" NOT NULL,
  document text COLLATE "C" NOT NULL,
  -- The visitors of that day, and of the day before it, concatenated, 16 characters each; NULL if they are too many, and
  -- rows of `visitors`.
  visitors text COLLATE "C",
  visitors_before text COLLATE "C",
  -- The clicks of an imported link before its import, which are part of its clicks. NULL: none.
  opening bigint
) WITH (fillfactor = 50);
CREATE INDEX ON projection_stats.links (account, day);

-- The links of an account by clicks. In the rows of the links, an index with their clicks would make each visit write
-- that row into all indexes; without it, PostgreSQL replaces the row within its page if the page has space.
CREATE TABLE projection_stats.links_by_clicks (
  account text COLLATE "C" NOT NULL,
  clicks bigint NOT NULL,
  subject text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX ON projection_stats.links_by_clicks (account, clicks DESC, subject);

-- A day of a link.
CREATE TABLE projection_stats.days (
  subject text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  account text COLLATE "C" NOT NULL,
  clicks integer NOT NULL,
  bots integer NOT NULL,
  uniques integer NOT NULL,
  series text COLLATE "C" NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (subject, day)
);
-- The most visited links of an account.
CREATE INDEX ON projection_stats.days (account, day) INCLUDE (subject, clicks);

-- The quarters of a day that has more than one; otherwise the day's document is that of its quarter.
CREATE TABLE projection_stats.quarters (
  subject text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  quarter smallint NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (subject, day, quarter)
);

-- The sum of a month's days, after a visit of a later month, if it has more than one day; otherwise the day's row is
-- that of the month. Months are counted since January 1970.
CREATE TABLE projection_stats.months (
  subject text COLLATE "C" NOT NULL,
  month integer NOT NULL,
  clicks bigint NOT NULL,
  bots bigint NOT NULL,
  uniques bigint NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (subject, month)
);

-- Visitors of a link's newest day, or of the day before it.
CREATE TABLE projection_stats.visitors (
  subject text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  visitor text COLLATE "C" NOT NULL,
  PRIMARY KEY (subject, day, visitor)
);

-- The same for all links of an account in one partition of the log, so that no partition waits for another.
CREATE TABLE projection_stats.accounts (
  account text COLLATE "C" NOT NULL,
  partition smallint NOT NULL,
  clicks bigint NOT NULL,
  bots bigint NOT NULL,
  day integer NOT NULL,
  uniques integer NOT NULL,
  series text COLLATE "C" NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (account, partition)
) WITH (fillfactor = 75);

CREATE TABLE projection_stats.account_days (
  account text COLLATE "C" NOT NULL,
  partition smallint NOT NULL,
  day integer NOT NULL,
  clicks integer NOT NULL,
  bots integer NOT NULL,
  uniques integer NOT NULL,
  series text COLLATE "C" NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (account, partition, day)
);

CREATE TABLE projection_stats.account_quarters (
  account text COLLATE "C" NOT NULL,
  partition smallint NOT NULL,
  day integer NOT NULL,
  quarter smallint NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (account, partition, day, quarter)
);

CREATE TABLE projection_stats.account_months (
  account text COLLATE "C" NOT NULL,
  partition smallint NOT NULL,
  month integer NOT NULL,
  clicks bigint NOT NULL,
  bots bigint NOT NULL,
  uniques bigint NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (account, partition, month)
);

-- Days whose dead letters were applied late. An account keeps the first values of a day in the log's order: for these
-- days, a rebuild may keep others.
CREATE TABLE projection_stats.redriven_days (
  account text COLLATE "C" NOT NULL,
  partition smallint NOT NULL,
  day integer NOT NULL,
  PRIMARY KEY (account, partition, day)
);

-- The changes of links, accounts and the platform.
SELECT public.create_projection('history');

-- The attributes of an event that cannot be derived: see schemas/read-models/history.ts. The feed finds the events of an
-- account by their offsets in the log.
CREATE TABLE projection_history.events (
  subject text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  "time" timestamptz NOT NULL,
  id uuid NOT NULL,
  type text NOT NULL,
  account text,
  actor text,
  correlationid text,
  causationid text,
  -- JSON without secrets.
  data text NOT NULL,
  partition smallint NOT NULL,
  record_offset bigint NOT NULL,
  -- The trace context of the request that caused the event.
  traceparent text,
  -- With the partition, because the id of a key may equal a code.
  PRIMARY KEY (subject, sequence, partition)
);
CREATE INDEX ON projection_history.events (account, partition, record_offset);
-- Operators list the changes of accounts and the platform, newest first.
CREATE INDEX ON projection_history.events (time, subject, sequence) WHERE partition >= 8;

-- The state of the archive in EventStoreDB: the offset up to which each partition is copied. If it is emptied, the
-- archive is filled again from the start of the log; events that it has are left unchanged.
CREATE SCHEMA archive;

CREATE TABLE archive.checkpoints (LIKE projection_history.checkpoints INCLUDING ALL) WITH (fillfactor = 50);
CREATE TABLE archive.high_water_marks (LIKE projection_history.high_water_marks INCLUDING ALL);
CREATE TABLE archive.dead_letters (LIKE projection_history.dead_letters INCLUDING ALL);

-- How many events of each stream the log has up to the checkpoint: the revision of its next one.
CREATE TABLE archive.streams (
  topic text NOT NULL,
  partition smallint NOT NULL,
  stream text COLLATE "C" NOT NULL,
  next_revision bigint NOT NULL,
  PRIMARY KEY (topic, partition, stream)
) WITH (fillfactor = 80);
