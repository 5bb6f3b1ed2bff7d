-- The key that deactivated an inactive key. Null: events before version 3 of ApiKeyChanged do not name it.
ALTER TABLE ledger.api_keys ADD COLUMN deactivated_by text COLLATE "C";
