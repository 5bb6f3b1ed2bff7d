-- How many of a day's calls that cost none of the month a root's consoles have made, on the latest UTC day on
-- which they made one.
CREATE TABLE ledger.console_calls (
  root_id text COLLATE "C" PRIMARY KEY,
  day date NOT NULL,
  calls bigint NOT NULL
) WITH (fillfactor = 50);
