# Like the official image: the user `redis` with uid 999, and a volume at /data.
FROM linklog-test/debian
RUN groupadd --system --gid 999 redis && useradd --system --uid 999 --gid redis redis && \
  apt-get update && apt-get install --yes --no-install-recommends redis-server redis-tools && \
  rm -rf /var/lib/apt/lists/* && mkdir /data && chown redis:redis /data
VOLUME /data
WORKDIR /data
EXPOSE 6379
CMD ["redis-server"]
