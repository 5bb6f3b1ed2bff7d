-- Before its start, a link is scheduled.
ALTER TABLE ledger.links ADD COLUMN starts_at timestamptz;
ALTER TABLE projection_redirects.links ADD COLUMN starts_at timestamptz;
-- A list of scheduled links reads these alone.
CREATE INDEX ON projection_redirects.links (account, created_at, code) WHERE starts_at IS NOT NULL;

-- A limit on a link that was visited before has an opening balance, so the number of a click is not the sequence of
-- its event.
ALTER TABLE ledger.links ADD COLUMN visit_sequence integer NOT NULL DEFAULT 0;
UPDATE ledger.links SET visit_sequence = clicks WHERE clicks > 0;

-- POST /v2/shorten with `reuse` finds the oldest link of an account to a destination: see schemas/folds/ledger-link.ts.
ALTER TABLE ledger.links ADD COLUMN created_at timestamptz, ADD COLUMN reuse_key bigint;
UPDATE ledger.links l SET created_at = p.created_at, reuse_key = CASE WHEN p.custom IS NULL THEN
  ('x' || encode(substring(sha256(convert_to(
    l.account || E'\n' || coalesce(l.edited ->> 'url', p.original ->> 'url', p.url), 'UTF8')) FROM 1 FOR 6), 'hex')
  )::bit(48)::bigint END
FROM projection_redirects.links p WHERE p.code = l.code;
-- Not projected yet: its only event is LinkCreated.
UPDATE ledger.links SET created_at = last_event_at WHERE created_at IS NULL;
ALTER TABLE ledger.links ALTER COLUMN created_at SET NOT NULL;
CREATE INDEX links_reuse ON ledger.links (reuse_key, created_at) WHERE reuse_key IS NOT NULL;

-- A projection kept for a rollback lacks the column.
DROP SCHEMA IF EXISTS projection_redirects_previous CASCADE;
