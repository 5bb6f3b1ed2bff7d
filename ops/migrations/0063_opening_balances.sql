-- The clicks that an imported link brought along, which are part of its clicks; NULL: none.
ALTER TABLE projection_stats.links ADD COLUMN opening bigint;
-- A projection kept for a rollback lacks the column.
DROP SCHEMA IF EXISTS projection_stats_previous CASCADE;
