-- The roles of the services in a PostgreSQL (16 or later) that only Linklog uses. Run it once, as a superuser, in
-- Linklog's new and empty database. Then give each role a password (role-passwords.sql, for psql), and run
-- `node dist/ops/tools/migrate.js` as linklog_migrations: it creates the tables and grants the rights (rights.sql).

-- Owns the database and its tables. Only migrations, backups and audits use it.
CREATE ROLE linklog_migrations LOGIN;
CREATE ROLE linklog_api LOGIN;
CREATE ROLE linklog_edge LOGIN;
-- Owns the projections: a rebuild replaces their schemas.
CREATE ROLE linklog_projectors LOGIN;
-- Migrations change the tables of projections too.
GRANT linklog_projectors TO linklog_migrations;
-- For operators, an API rebuilds and redrives projections: on connections for this alone, by SET ROLE.
GRANT linklog_projectors TO linklog_api WITH INHERIT FALSE, SET TRUE;
-- The runbook: the owner sees all sessions, and ends those that are not a superuser's.
GRANT pg_read_all_stats, pg_signal_backend TO linklog_migrations;

DO $$
DECLARE
  database text := quote_ident(current_database());
BEGIN
  EXECUTE 'ALTER DATABASE ' || database || ' OWNER TO linklog_migrations';
  EXECUTE 'REVOKE ALL ON DATABASE ' || database || ' FROM PUBLIC';
  EXECUTE 'GRANT CONNECT ON DATABASE ' || database || ' TO linklog_api, linklog_edge, linklog_projectors';
  EXECUTE 'GRANT CREATE ON DATABASE ' || database || ' TO linklog_projectors';
END
$$;
ALTER SCHEMA public OWNER TO linklog_migrations;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
