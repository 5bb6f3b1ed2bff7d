#!/usr/bin/env bash
# `npm run test:setup`: installs the programs of others that the tests run (Debian), and schemathesis into
# .venv. They read QR codes back, look at pages, fuzz the API, and run Kafka and Redis.
set -euo pipefail
cd "$(dirname "$0")/../.."

packages=()
need() { command -v "$1" >/dev/null || packages+=("$2"); }
need zbarimg zbar-tools
need rsvg-convert librsvg2-bin
need chromium chromium
need redis-server redis-server
need kcat kcat
need jq jq
need openssl openssl
need java default-jdk-headless
need mvn maven
python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
if [ "${#packages[@]}" -gt 0 ]; then
  as_root=''
  if [ "$(id -u)" -ne 0 ]; then as_root='sudo -n'; fi
  export DEBIAN_FRONTEND=noninteractive
  $as_root apt-get update
  $as_root apt-get install -y --no-install-recommends "${packages[@]}"
fi

python3 -m venv .venv
.venv/bin/pip install --quiet schemathesis==4.32.5
