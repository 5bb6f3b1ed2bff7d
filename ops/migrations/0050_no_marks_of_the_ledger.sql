-- The log in PostgreSQL has each event of the ledger once, by the transaction that decided it: readers keep marks of
-- spools alone.
DO $$
DECLARE
  reader text;
BEGIN
  IF EXISTS (SELECT FROM log.identity WHERE log_name = 'postgres') THEN
    FOR reader IN SELECT schemaname FROM pg_tables WHERE tablename = 'high_water_marks' LOOP
      EXECUTE format('DELETE FROM %I.high_water_marks WHERE raised_on IS NULL', reader);
    END LOOP;
  END IF;
END
$$;
