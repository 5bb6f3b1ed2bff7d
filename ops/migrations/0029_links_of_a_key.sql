-- How many links a key has made, of all months: for the number of an account's links.
ALTER TABLE ledger.key_meters ADD COLUMN all_links bigint NOT NULL DEFAULT 0;
UPDATE ledger.key_meters SET all_links = links.made
FROM (SELECT key_id, count(*) AS made FROM ledger.links GROUP BY key_id) links
WHERE links.key_id = key_meters.key_id;
