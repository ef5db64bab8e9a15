#!/bin/sh
# Sets up the relay, Prometheus and Grafana with Docker, from a clone:
#
#   RIOT_TOKEN=RGAPI-... deploy/up.sh
#
# It writes the key to .env, unless .env has one.
set -eu
cd "$(dirname "$0")/.."
fail() { echo "deploy/up.sh: $*" >&2; exit 1; }

command -v docker >/dev/null || fail "docker is not installed"
docker compose version >/dev/null 2>&1 || fail "docker has no compose plugin: https://docs.docker.com/compose/install/"
if ! grep -Eq '^(export )?(RIOT_TOKEN|RIOT_TOKEN_FILE|RIOT_API_KEY|API_KEY)=.' .env 2>/dev/null; then
	[ -n "${RIOT_TOKEN:-}" ] || fail "set RIOT_TOKEN, or write it into .env"
	umask 077
	[ ! -s .env ] || [ -z "$(tail -c 1 .env)" ] || echo >>.env # a last line without its end
	printf 'RIOT_TOKEN=%s\n' "$RIOT_TOKEN" >>.env
fi
docker compose --profile metrics up -d --build
echo "relay http://$(docker compose port riftrelay 8985), Prometheus http://localhost:9090, Grafana http://localhost:3000"
