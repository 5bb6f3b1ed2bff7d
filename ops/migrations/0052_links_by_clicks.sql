-- Where links stand among those of their account. In the rows of the links themselves, an index with their clicks made
-- each visit write that row into all indexes anew; without it, PostgreSQL replaces the row within its page where the
-- page has room.
CREATE TABLE projection_stats.links_by_clicks (
  account text COLLATE "C" NOT NULL,
  clicks bigint NOT NULL,
  code text COLLATE "C" NOT NULL
);
INSERT INTO projection_stats.links_by_clicks
SELECT account, clicks, code FROM projection_stats.codes WHERE clicks > 0;
-- Without a name of ours: a rebuild's copy gets PostgreSQL's choice of one too.
CREATE UNIQUE INDEX ON projection_stats.links_by_clicks (account, clicks DESC, code);

ALTER TABLE projection_stats.codes DROP COLUMN rank, SET (fillfactor = 50);

-- The next rebuild copies the tables as they are now; the one before could not be swapped back.
DROP SCHEMA IF EXISTS projection_stats_previous CASCADE;
