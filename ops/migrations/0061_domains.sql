-- Generation 1: releases up to 0.2.0 do not know the renamed columns.

-- A link is a code on a domain. The key of its rows is the subject of its events: see schemas/link-subject.ts.
ALTER TABLE ledger.links RENAME COLUMN code TO subject;
ALTER TABLE ledger.password_tries RENAME COLUMN code TO subject;
ALTER TABLE ledger.idempotency RENAME COLUMN codes TO subjects;
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

-- Projections kept for a rollback have the former names.
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

-- Owners and claims of domains. A released domain keeps its row, because the sequence of its events goes on.
CREATE TABLE ledger.domains (
  domain text COLLATE "C" PRIMARY KEY,
  -- NULL: no account has it.
  account text COLLATE "C",
  created_at timestamptz,
  verified_at timestamptz,
  -- NULL: an operator added it.
  token text,
  root_redirect text,
  not_found_redirect text,
  expired_redirect text,
  -- By account: {"token", "claimedAt"}.
  claims jsonb NOT NULL DEFAULT '{}',
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL
);
CREATE INDEX ON ledger.domains (account) WHERE account IS NOT NULL;
CREATE INDEX ON ledger.domains USING gin (claims);

-- NULL: all scopes, including those that later versions add. A key with all scopes of its time was never restricted.
ALTER TABLE ledger.api_keys ALTER COLUMN scopes DROP NOT NULL;
UPDATE ledger.api_keys SET scopes = NULL WHERE scopes @>
  '{links:create,links:read,links:write,stats:read,qr:read,keys:manage}';
