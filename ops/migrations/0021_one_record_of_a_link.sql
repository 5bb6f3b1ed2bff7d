-- The statistics count visits and no more: what a link is they repeated from the redirects.
DROP TABLE projection_stats.links;
DELETE FROM projection_stats.checkpoints WHERE topic = 'linklog.links.v1';
DELETE FROM projection_stats.high_water_marks WHERE topic = 'linklog.links.v1';
DELETE FROM projection_stats.dead_letters WHERE topic = 'linklog.links.v1';

-- They have the table: they cannot take the place of the live tables any more.
DROP SCHEMA IF EXISTS projection_stats_previous CASCADE;
