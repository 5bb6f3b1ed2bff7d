-- Links that their owners edit, describe, disable and delete. What most links do not have is null, and takes
-- no space.

ALTER TABLE ledger.links
  ADD COLUMN deleted boolean NOT NULL DEFAULT false,
  ADD COLUMN disabled boolean NOT NULL DEFAULT false,
  -- Destination and hash of the password where they were edited: {"url", "passwordHash"}.
  ADD COLUMN edited jsonb;

-- A deleted link expires no more.
DROP INDEX ledger.links_to_expire;
CREATE INDEX links_to_expire ON ledger.links (expires_at)
  WHERE expired IS NULL AND expires_at IS NOT NULL AND NOT deleted;

ALTER TABLE projection_redirects.links
  ADD COLUMN blocked boolean,
  ADD COLUMN disabled boolean,
  ADD COLUMN custom boolean,
  ADD COLUMN title text,
  ADD COLUMN note text,
  ADD COLUMN tags jsonb,
  ADD COLUMN updated_at timestamptz,
  ADD COLUMN live_since timestamptz,
  ADD COLUMN original jsonb;
UPDATE projection_redirects.links SET blocked = true WHERE status = 'blocked';

-- Re-checks of destinations follow the age of what a link leads to now.
DROP INDEX projection_redirects.links_created_at_code_idx;
CREATE INDEX ON projection_redirects.links ((coalesce(live_since, created_at)), code)
  WHERE status = 'active';

-- The next rebuild copies the tables as they are now; the one before could not be swapped back.
DROP SCHEMA IF EXISTS projection_redirects_previous CASCADE;
