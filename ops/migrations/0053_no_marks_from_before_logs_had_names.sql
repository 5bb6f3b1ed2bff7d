-- What 0050 deletes, where a version from before 0008 was upgraded at once: its log had no name yet, and was in
-- PostgreSQL. Nor has the log of a new installation, whose tables are empty.
DO $$
DECLARE
  reader text;
BEGIN
  IF EXISTS (SELECT FROM log.identity WHERE coalesce(log_name, 'postgres') = 'postgres') THEN
    FOR reader IN SELECT schemaname FROM pg_tables WHERE tablename = 'high_water_marks' LOOP
      EXECUTE format('DELETE FROM %I.high_water_marks WHERE raised_on IS NULL', reader);
    END LOOP;
  END IF;
END
$$;
