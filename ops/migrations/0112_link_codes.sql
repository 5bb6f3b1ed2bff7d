-- Further codes of links. A row of a code has the subject of its link, and the columns of a link stay at their defaults,
-- but `deleted`: the code was removed. See ops/ledger/codes.ts.
ALTER TABLE ledger.links ADD COLUMN code_of text COLLATE "C";

ALTER TABLE projection_redirects.links ADD COLUMN codes jsonb;
