#!/bin/sh
# Sets up the relay, Prometheus and Grafana with Docker, from a clone:
#
#   RIOT_TOKEN=RGAPI-... deploy/up.sh
set -eu
cd "$(dirname "$0")/.."
command -v docker >/dev/null || { echo "deploy/up.sh: docker is not installed" >&2; exit 1; }
docker compose version >/dev/null || { echo "deploy/up.sh: docker has no compose plugin" >&2; exit 1; }
if [ ! -e .env ]; then
	[ -n "${RIOT_TOKEN:-}" ] || { echo "deploy/up.sh: set RIOT_TOKEN, or write it into .env" >&2; exit 1; }
	(umask 077 && printf 'RIOT_TOKEN=%s\n' "$RIOT_TOKEN" >.env)
fi
docker compose --profile metrics up -d --build
echo "relay http://localhost:8985, Prometheus http://localhost:9090, Grafana http://localhost:3000"
