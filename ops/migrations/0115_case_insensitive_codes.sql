-- Whether letters of either case are the same in the codes of a domain; in `platform`, of the default domain.
ALTER TABLE ledger.domains ADD COLUMN case_insensitive boolean NOT NULL DEFAULT false;
ALTER TABLE ledger.platform ADD COLUMN case_insensitive boolean NOT NULL DEFAULT false;
