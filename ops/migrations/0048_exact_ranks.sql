-- In an account with millions of links, so many had a rank of a few clicks in common that a page could not sort them.
-- Up to 32 clicks, each number has a rank of its own: the index is their order. Beyond, few links have a rank, and an
-- update that does not change it stays cheap. The table is written anew.
ALTER TABLE projection_stats.codes DROP COLUMN rank;
ALTER TABLE projection_stats.codes ADD COLUMN rank integer GENERATED ALWAYS AS (
  CASE WHEN clicks > 32 THEN 22 + floor(2 * sqrt(clicks::float8)) ELSE nullif(clicks, 0) END::integer
) STORED;
CREATE INDEX ON projection_stats.codes (account, rank DESC, code);

-- The next rebuild copies the tables as they are now; the one before could not be swapped back.
DROP SCHEMA IF EXISTS projection_stats_previous CASCADE;
