-- For the most clicked links. A rank spans more clicks the more there are, so that few visits change it: an update
-- that changes no index costs less. No click: no rank.
ALTER TABLE projection_stats.codes ADD COLUMN rank integer GENERATED ALWAYS AS (
  CASE WHEN clicks > 4 THEN floor(2 * sqrt(clicks::float8)) ELSE nullif(clicks, 0) END::integer
) STORED;
CREATE INDEX ON projection_stats.codes (account, rank DESC, code);

-- The next rebuild copies the tables as they are now; the one before could not be swapped back.
DROP SCHEMA IF EXISTS projection_stats_previous CASCADE;
