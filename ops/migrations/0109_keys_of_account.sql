-- The statistics of an account add up the links of all its keys, also of revoked ones, which the index did not have.
DROP INDEX ledger.api_keys_by_account;
CREATE INDEX api_keys_by_account ON ledger.api_keys (account);
