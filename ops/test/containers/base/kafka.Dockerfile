# Like the official image: the user `appuser` with uid 1000, its volumes, and its configuration from KAFKA_* variables.
FROM linklog-test/debian
RUN useradd --uid 1000 --user-group --create-home appuser && \
  apt-get update && apt-get install --yes --no-install-recommends openjdk-17-jre-headless && \
  rm -rf /var/lib/apt/lists/* && \
  install --directory --owner appuser --group appuser \
    /opt/kafka/config /opt/kafka/logs /var/lib/kafka/data /etc/kafka/secrets /mnt/shared/config
COPY jars /opt/kafka/libs
COPY kafka-run.sh /etc/kafka/docker/run
USER appuser
VOLUME ["/etc/kafka/secrets", "/var/lib/kafka/data", "/mnt/shared/config"]
EXPOSE 9092
CMD ["/etc/kafka/docker/run"]
