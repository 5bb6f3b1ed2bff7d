-- The links of all accounts by clicks.
CREATE INDEX ON projection_stats.links_by_clicks (clicks DESC, subject);
-- The previous schema has no such index.
DROP SCHEMA IF EXISTS projection_stats_previous CASCADE;
