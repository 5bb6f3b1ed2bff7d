# Like the official image: the user `postgres` with uid 999, the volume and PGDATA of version 18, psql and pg_isready.
FROM linklog-test/debian
RUN groupadd --system --gid 999 postgres && \
  useradd --system --uid 999 --gid postgres --home-dir /var/lib/postgresql postgres && \
  apt-get update && apt-get install --yes --no-install-recommends postgresql-client && \
  rm -rf /var/lib/apt/lists/* && \
  install --directory --owner postgres --group postgres /var/lib/postgresql /docker-entrypoint-initdb.d
COPY native /usr/local/pgsql
COPY postgres-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
ENV PGDATA=/var/lib/postgresql/18/docker PATH=/usr/local/pgsql/bin:$PATH
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
EXPOSE 5432
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
