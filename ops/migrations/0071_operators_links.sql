-- For the number of an account's links: those of its keys are counted in ledger.key_meters.
CREATE INDEX links_of_operators ON ledger.links (account) WHERE key_id = 'operator';
