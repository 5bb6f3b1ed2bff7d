-- Who switched maintenance on, and when.
ALTER TABLE ledger.platform ADD COLUMN maintenance_since timestamptz, ADD COLUMN maintenance_actor text;
UPDATE ledger.platform SET maintenance_since = last_event_at WHERE maintenance;

-- The family of the browser that signed in; NULL if it is unknown.
ALTER TABLE ledger.console_sessions ADD COLUMN browser text;

-- The history has the events of the platform too. Operators list the changes of accounts and the platform, newest first.
CREATE INDEX ON projection_history.events (time, subject, sequence)
  WHERE partition >= 8;
DROP SCHEMA IF EXISTS projection_history_previous CASCADE;
DO $$
BEGIN
  IF EXISTS (SELECT FROM ledger.platform WHERE sequence > 0) THEN
    COMMENT ON SCHEMA projection_history IS 'rebuild due';
  END IF;
END
$$;
