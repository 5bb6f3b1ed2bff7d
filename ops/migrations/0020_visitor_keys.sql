-- The keys of the visitors' hashes, by UTC day. A key that was deleted is to leave the disk soon too: one dead
-- row is enough for autovacuum.
CREATE TABLE ledger.visitor_keys (
  day date PRIMARY KEY,
  key bytea NOT NULL
) WITH (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0);
