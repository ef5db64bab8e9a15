#!/usr/bin/env bash
# Runs the README's first lines in a fresh clone with an empty home, before a simulated Riot, and prints the seconds to the
# first answer, to the first page, and to the new key after the first has expired. What Go has built before isn't built
# again; GOCACHE=$(mktemp -d) deploy/newcomer.sh has all of it built, but for what this test shares with the program.
# On two cores with three times as much to do, the first answer came after 24 seconds, and after 76 with that; the new
# key was in use 0.2 seconds after its file was written.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/check"
go test -count=1 -timeout 15m -v -run '^TestNewcomer$' . | sed -u -n 's/^ *docs_test\.go:[0-9]*: //p; /^\(--- FAIL\|FAIL\|--- SKIP\)/p'
