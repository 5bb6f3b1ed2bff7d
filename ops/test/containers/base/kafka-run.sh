#!/usr/bin/env bash
# Writes `server.properties` from the KAFKA_* variables, formats the storage at the first start, and runs the broker.
set -euo pipefail

properties=/opt/kafka/config/server.properties
: >"$properties"
while IFS= read -r name; do
  case "$name" in
    KAFKA_HEAP_OPTS | KAFKA_OPTS) ;;
    KAFKA_*)
      key=${name#KAFKA_}
      key=${key,,}
      printf '%s=%s\n' "${key//_/.}" "${!name}" >>"$properties"
      ;;
  esac
done < <(compgen -e)

classpath='/opt/kafka/libs/*'
logging=(-Dorg.slf4j.simpleLogger.defaultLogLevel=warn -Dorg.slf4j.simpleLogger.showDateTime=true)
java -XX:TieredStopAtLevel=1 "${logging[@]}" -cp "$classpath" kafka.tools.StorageTool \
  format --ignore-formatted --cluster-id "$CLUSTER_ID" --config "$properties"
# Unquoted: it is a list of options.
# shellcheck disable=SC2086
exec java ${KAFKA_HEAP_OPTS:-} "${logging[@]}" -cp "$classpath" kafka.Kafka "$properties"
