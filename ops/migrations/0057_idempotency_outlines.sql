-- A record of an Idempotency-Key has at most 64 KB: of a longer answer it has the outline, with which the answer is made
-- again from the request and the events of its links.
ALTER TABLE ledger.idempotency ADD is_outline boolean NOT NULL DEFAULT false;
-- Answers in which all items failed: a retry is decided again. No release reads them.
DELETE FROM ledger.idempotency WHERE cardinality(codes) = 0;
