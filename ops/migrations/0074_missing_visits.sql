-- Visits have a sequence for each spool and partition, so missing ones are gaps in missing_events.
DROP TABLE projection_stats.spools, projection_stats.spool_blocks;
-- With other tables it cannot become the live one.
DROP SCHEMA IF EXISTS projection_stats_previous CASCADE;
