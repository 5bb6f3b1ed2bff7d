-- The latest time that was stored anywhere, as far as known: PostgreSQL's clock may have gone back since then.
CREATE TABLE ledger.clock (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  latest timestamptz NOT NULL DEFAULT 'epoch'
);
INSERT INTO ledger.clock DEFAULT VALUES;
