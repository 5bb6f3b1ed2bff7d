-- Changes the tables of release 0.2.0 to those of 0101_log.sql, 0102_ledger.sql and 0103_projections.sql, which explain
-- the columns. `migrate.ts` runs it instead of these files, and then the later files.

-- A link is a code on a domain: the key of its rows is its subject.
ALTER TABLE ledger.links RENAME COLUMN code TO subject;
ALTER TABLE ledger.password_tries RENAME COLUMN code TO subject;
ALTER TABLE ledger.idempotency RENAME COLUMN codes TO subjects;
ALTER TABLE ledger.idempotency RENAME COLUMN answer TO response;
ALTER TABLE ledger.safety_scans RENAME COLUMN past_code TO past_subject;
ALTER TABLE projection_redirects.links RENAME COLUMN code TO subject;
ALTER TABLE projection_redirects.link_tags RENAME COLUMN code TO subject;
ALTER TABLE projection_history.events RENAME COLUMN code TO subject;
ALTER TABLE projection_stats.codes RENAME TO links;
ALTER TABLE projection_stats.links RENAME COLUMN code TO subject;
ALTER TABLE projection_stats.links_by_clicks RENAME COLUMN code TO subject;
ALTER TABLE projection_stats.days RENAME COLUMN code TO subject;
ALTER TABLE projection_stats.quarters RENAME COLUMN code TO subject;
ALTER TABLE projection_stats.months RENAME COLUMN code TO subject;
ALTER TABLE projection_stats.visitors RENAME COLUMN code TO subject;

-- Projections kept for a rollback have the former names and lack columns.
DROP SCHEMA IF EXISTS projection_redirects_previous CASCADE;
DROP SCHEMA IF EXISTS projection_history_previous CASCADE;
DROP SCHEMA IF EXISTS projection_stats_previous CASCADE;

-- A rebuild names the indexes of its copies by their tables and columns. Renaming a column of a table does not rename
-- those of its indexes.
DO $$
DECLARE
  index record;
BEGIN
  FOR index IN
    SELECT c.oid::regclass AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind = 'i' AND a.attname = 'code' AND c.relnamespace IN (
      'ledger'::regnamespace, 'projection_redirects'::regnamespace,
      'projection_history'::regnamespace, 'projection_stats'::regnamespace)
  LOOP
    EXECUTE format('ALTER TABLE %s RENAME COLUMN code TO subject', index.name);
  END LOOP;
  FOR index IN
    SELECT schemaname, indexname FROM pg_indexes
    WHERE schemaname IN ('ledger', 'projection_redirects', 'projection_history', 'projection_stats')
      AND indexname LIKE '%code%'
  LOOP
    EXECUTE format('ALTER INDEX %I.%I RENAME TO %I', index.schemaname, index.indexname,
      replace(replace(index.indexname, 'codes', 'links'), 'code', 'subject'));
  END LOOP;
END
$$;

ALTER INDEX ledger.safety_walks_pkey RENAME TO safety_scans_pkey;
ALTER INDEX log.relay_milestones_pkey RENAME TO relay_checkpoints_pkey;
ALTER TABLE log.records_pkey RENAME COLUMN record_offset TO first_offset;
ALTER TABLE log.records ADD COLUMN recorded_at timestamptz NOT NULL DEFAULT now();

-- A key with all scopes of 0.2.0 was never restricted, and gets the new scopes too.
ALTER TABLE ledger.api_keys ALTER COLUMN scopes DROP NOT NULL;
UPDATE ledger.api_keys SET scopes = NULL WHERE scopes @>
  '{links:create,links:read,links:write,stats:read,qr:read,keys:manage}';
CREATE INDEX links_of_operators ON ledger.links (account) WHERE key_id = 'operator';
ALTER TABLE ledger.platform ADD COLUMN maintenance_since timestamptz, ADD COLUMN maintenance_actor text;
UPDATE ledger.platform SET maintenance_since = last_event_at WHERE maintenance;
ALTER TABLE ledger.console_sessions ADD COLUMN browser text;

ALTER TABLE projection_redirects.links ADD COLUMN rules jsonb, ADD COLUMN forward_query boolean;
ALTER INDEX projection_redirects.links_account_folded_idx RESET (gin_pending_list_limit);
ALTER TABLE projection_stats.links ADD COLUMN opening bigint;
-- Missing visits are gaps in missing_events.
DROP TABLE projection_stats.spools, projection_stats.spool_blocks;

-- The history gets the events of accounts and the platform, and the offsets of events. The rebuild sets the offsets;
-- until then rows have the default.
ALTER TABLE projection_history.events
  ADD COLUMN partition smallint NOT NULL DEFAULT -1,
  ADD COLUMN record_offset bigint NOT NULL DEFAULT -1,
  ADD COLUMN traceparent text;
ALTER TABLE projection_history.events
  ALTER COLUMN partition DROP DEFAULT,
  ALTER COLUMN record_offset DROP DEFAULT,
  DROP CONSTRAINT events_pkey,
  ADD PRIMARY KEY (subject, sequence, partition);
CREATE INDEX ON projection_history.events (account, partition, record_offset);
CREATE INDEX ON projection_history.events (time, subject, sequence) WHERE partition >= 8;
DO $$
BEGIN
  IF EXISTS (SELECT FROM projection_history.checkpoints) THEN
    COMMENT ON SCHEMA projection_history IS 'rebuild due';
  END IF;
END
$$;

INSERT INTO public.migrations (file) VALUES ('0101_log.sql'), ('0102_ledger.sql'), ('0103_projections.sql');
