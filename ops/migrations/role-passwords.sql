-- For psql: gives the roles of roles.sql the passwords of their URLs, so that they are on no command line. SECRETS_DIR has
-- a file for each role with its DATABASE_URL. The passwords consist of letters and digits.
\set migrations `cat "$SECRETS_DIR/migrations-database-url"`
\set api `cat "$SECRETS_DIR/api-database-url"`
\set edge `cat "$SECRETS_DIR/edge-database-url"`
\set projectors `cat "$SECRETS_DIR/projectors-database-url"`
SELECT format('ALTER ROLE %I PASSWORD %L', matched[1], matched[2])
FROM unnest(ARRAY[:'migrations', :'api', :'edge', :'projectors']) AS url,
  regexp_match(url, '^postgres://(linklog_[a-z]+):([A-Za-z0-9]+)@') AS matched
\gexec
