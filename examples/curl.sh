#!/bin/sh
# A Riot ID's account and the player's level, with curl: sh curl.sh
relay=${RIFTRELAY:-http://127.0.0.1:8985}

account=$(curl --fail --silent --show-error "$relay/europe/riot/account/v1/accounts/by-riot-id/Hide%20on%20bush/KR1") || exit 1
puuid=$(printf %s "$account" | sed 's/.*"puuid":"\([^"]*\)".*/\1/')
curl --fail --silent --show-error "$relay/euw1/lol/summoner/v4/summoners/by-puuid/$puuid" | sed 's/.*"summonerLevel":\([0-9]*\).*/level \1\n/'
