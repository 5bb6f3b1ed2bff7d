-- The wrong tries of the last minute, one by one, oldest first: a count cannot tell when each of them
-- leaves the minute. Rows live two minutes, so nothing is taken over.
DELETE FROM ledger.password_tries;
ALTER TABLE ledger.password_tries
  DROP COLUMN wrong,
  DROP COLUMN last_wrong_at,
  ADD COLUMN wrong_at timestamptz[] NOT NULL DEFAULT '{}';
