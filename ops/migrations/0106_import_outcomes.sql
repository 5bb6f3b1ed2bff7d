-- Outcomes are kept for 30 days, records until they are decided. In one table, the space of the records stayed allocated
-- as long as the outcomes behind them.
CREATE TABLE imports.outcomes (
  import uuid NOT NULL REFERENCES imports.imports ON DELETE CASCADE,
  number integer NOT NULL,
  -- JSON Lines.
  outcomes text NOT NULL,
  PRIMARY KEY (import, number)
);
INSERT INTO imports.outcomes SELECT import, number, outcomes FROM imports.portions WHERE outcomes IS NOT NULL;
DELETE FROM imports.portions WHERE records IS NULL;
ALTER TABLE imports.portions DROP COLUMN outcomes, ALTER COLUMN records SET NOT NULL;
