-- The rights of the services' roles (roles.sql). The owner of the tables runs it after migrations; it can be repeated.

GRANT USAGE ON SCHEMA public, ledger, log TO linklog_api, linklog_edge, linklog_projectors;
GRANT SELECT ON public.migrations, public.generation TO linklog_api, linklog_edge, linklog_projectors;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.processes TO linklog_api, linklog_edge, linklog_projectors;

-- All services append to the log. On Kafka, any of them may be the relay, which deletes what Kafka has.
GRANT SELECT ON ALL TABLES IN SCHEMA log TO linklog_api, linklog_edge, linklog_projectors;
GRANT UPDATE ON log.identity TO linklog_api, linklog_edge, linklog_projectors;
GRANT INSERT, UPDATE ON log.partitions TO linklog_api, linklog_edge, linklog_projectors;
GRANT INSERT, UPDATE, DELETE ON log.records, log.relayed, log.relay_checkpoints, log.unapplied
  TO linklog_api, linklog_edge, linklog_projectors;
GRANT INSERT, UPDATE, DELETE ON log.segments TO linklog_projectors;
GRANT INSERT, UPDATE, DELETE ON log.spools TO linklog_edge;

-- The relay compares the last event of each subject with the ledger.
GRANT SELECT (id, sequence) ON ledger.api_keys TO linklog_edge, linklog_projectors;
GRANT SELECT (alias, sequence) ON ledger.alias_overrides TO linklog_edge, linklog_projectors;
GRANT SELECT (key_id, usage_sequence) ON ledger.key_meters TO linklog_edge, linklog_projectors;
GRANT SELECT ON ledger.links, ledger.platform TO linklog_edge, linklog_projectors;

-- All services have the active domains in memory.
GRANT SELECT (domain, account, root_redirect, not_found_redirect, expired_redirect, case_insensitive, sequence)
  ON ledger.domains TO linklog_edge, linklog_projectors;

-- The relay compares the sequences of these tables too; projectors deliver, and disable webhooks whose receivers fail.
GRANT SELECT (id, sequence) ON ledger.shares, ledger.people, ledger.invitations, ledger.utm_templates
  TO linklog_edge, linklog_projectors;
GRANT SELECT (id, sequence) ON ledger.webhooks TO linklog_edge;
GRANT SELECT, INSERT, UPDATE ON ledger.webhooks TO linklog_projectors;
GRANT USAGE ON SCHEMA delivery TO linklog_api, linklog_projectors;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA delivery TO linklog_api, linklog_projectors;

-- The API imports.
GRANT USAGE ON SCHEMA imports TO linklog_api;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA imports TO linklog_api;

-- The API decides all but clicks. It has no key of the edges.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ledger TO linklog_api;
REVOKE ALL ON ledger.password_tries, ledger.client_hash_key, ledger.copy_key, ledger.visitor_keys FROM linklog_api;

-- An edge takes clicks of links with a limit, and throttles passwords.
GRANT UPDATE ON ledger.links TO linklog_edge;
GRANT SELECT, INSERT, UPDATE, DELETE ON ledger.password_tries TO linklog_edge;
GRANT SELECT ON ledger.client_hash_key, ledger.copy_key TO linklog_edge;
GRANT SELECT, INSERT, TRUNCATE ON ledger.visitor_keys TO linklog_edge;

-- The projectors own what is computed from the log. The others read projections, also rebuilt ones.
DO $$
DECLARE
  relation record;
BEGIN
  FOR relation IN
    SELECT n.oid AS schema_oid, quote_ident(nspname) AS schema, nspowner <> 'linklog_projectors'::regrole AS is_foreign,
           nspname LIKE 'projection\_%' AS is_projection
    FROM pg_namespace n WHERE nspname LIKE 'projection\_%' OR nspname IN ('seals', 'archive')
  LOOP
    IF relation.is_foreign THEN
      EXECUTE 'ALTER SCHEMA ' || relation.schema || ' OWNER TO linklog_projectors';
    END IF;
    IF relation.is_projection THEN
      EXECUTE 'GRANT USAGE ON SCHEMA ' || relation.schema || ' TO linklog_api, linklog_edge';
      EXECUTE 'GRANT SELECT ON ALL TABLES IN SCHEMA ' || relation.schema || ' TO linklog_api, linklog_edge';
    END IF;
  END LOOP;
  FOR relation IN
    SELECT c.oid::regclass AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE relkind = 'r' AND relowner <> nspowner AND nspowner = 'linklog_projectors'::regrole
  LOOP
    EXECUTE 'ALTER TABLE ' || relation.name || ' OWNER TO linklog_projectors';
  END LOOP;
END
$$;
ALTER DEFAULT PRIVILEGES FOR ROLE linklog_projectors GRANT USAGE ON SCHEMAS TO linklog_api, linklog_edge;
ALTER DEFAULT PRIVILEGES FOR ROLE linklog_projectors GRANT SELECT ON TABLES TO linklog_api, linklog_edge;
