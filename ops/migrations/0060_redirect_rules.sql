-- Redirect rules, and whether the visitor's query is forwarded: see schemas/redirect-rules.ts.
ALTER TABLE projection_redirects.links ADD COLUMN rules jsonb, ADD COLUMN forward_query boolean;
-- A projection kept for a rollback lacks the columns.
DROP SCHEMA IF EXISTS projection_redirects_previous CASCADE;

-- The history has the versions of events that were current when they were projected.
DO $$
BEGIN
  IF EXISTS (
    SELECT FROM projection_history.events
    WHERE type ~ '^linklog[.](LinkCreated[.]v[123]|LinkEdited[.]v[12])$'
  ) THEN
    COMMENT ON SCHEMA projection_history IS 'rebuild due';
  END IF;
END
$$;
