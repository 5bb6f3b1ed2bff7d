#!/usr/bin/env bash
# Creates the cluster at the first start, and runs the SQL files of /docker-entrypoint-initdb.d in it.
set -euo pipefail

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir --parents --mode=0700 "$PGDATA"
  initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" \
    --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8
  printf '%s\n' "listen_addresses = '*'" "unix_socket_directories = '/var/run/postgresql'" \
    >>"$PGDATA/postgresql.conf"
  printf 'host all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
  # Other containers cannot connect before the cluster is complete.
  pg_ctl --wait --options="-c listen_addresses=''" start
  sql() { psql --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" "$@"; }
  sql --dbname postgres --command "CREATE DATABASE \"$POSTGRES_DB\""
  for file in /docker-entrypoint-initdb.d/*.sql; do sql --dbname "$POSTGRES_DB" --file "$file"; done
  pg_ctl --wait --mode=fast stop
fi

exec "$@"
