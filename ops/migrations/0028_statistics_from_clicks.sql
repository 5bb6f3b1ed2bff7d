-- The numbers of all time stay exact. What else the statistics tell, the log has: a rebuild reads it once the
-- service runs. The schema that it makes has no such comment.
INSERT INTO projection_stats.codes
  (code, account, clicks, bots, last_accessed, day, uniques, series, document, visitors, visitors_before)
SELECT code, '', clicks, bots, last_accessed, 0, 0, '[]', '[[],[],[],[],[],[],[]]', '', ''
FROM projection_stats.clicks;

DO $$
BEGIN
  IF EXISTS (SELECT FROM projection_stats.checkpoints) THEN
    COMMENT ON SCHEMA projection_stats IS 'rebuild due';
  END IF;
END
$$;

DROP TABLE projection_stats.clicks;

-- It has the table: it cannot take the place of the live tables any more.
DROP SCHEMA IF EXISTS projection_stats_previous CASCADE;
