-- For psql: the passwords of the roles of roles.sql, from environment variables, so that they are on no command line.
\getenv migrations POSTGRES_MIGRATIONS_PASSWORD
\getenv api POSTGRES_API_PASSWORD
\getenv edge POSTGRES_EDGE_PASSWORD
\getenv projectors POSTGRES_PROJECTORS_PASSWORD
ALTER ROLE linklog_migrations PASSWORD :'migrations';
ALTER ROLE linklog_api PASSWORD :'api';
ALTER ROLE linklog_edge PASSWORD :'edge';
ALTER ROLE linklog_projectors PASSWORD :'projectors';
