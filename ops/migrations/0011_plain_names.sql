-- The field's words for tables and columns that are ours alone.
ALTER TABLE ledger.safety_walks RENAME TO safety_scans;
ALTER TABLE log.relay_milestones RENAME TO relay_checkpoints;
ALTER TABLE log.relay_checkpoints RENAME COLUMN reached_at TO saved_at;
ALTER TABLE log.identity RENAME COLUMN home TO log_name;

-- Every reader of the log has its high-water marks: live projections, what rebuilds have left, the archive.
DO $$
DECLARE
  reader record;
BEGIN
  FOR reader IN SELECT schemaname AS schema FROM pg_tables WHERE tablename = 'marks' LOOP
    EXECUTE format('ALTER TABLE %I.marks RENAME TO high_water_marks', reader.schema);
    EXECUTE format(
      'ALTER TABLE %I.high_water_marks RENAME CONSTRAINT marks_pkey TO high_water_marks_pkey',
      reader.schema);
  END LOOP;
END
$$;
