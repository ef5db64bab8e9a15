'use strict';
// kayn 0.10.2 is older than account-v1 and match-v5, and the leagues by summoner that it has are gone at Riot.
// What it has no method for goes through its own limiter, as all of its requests do.
const { Kayn } = require('kayn');

module.exports = (relay, key) => {
  const kayn = Kayn(key)({ region: 'euw', apiURLPrefix: `${relay}/%s`, debugOptions: { isEnabled: false } });
  const raw = async (path) => JSON.parse(await kayn.limiter.executing({ url: relay + path, token: key }));
  return {
    account: (name, tag) => raw(`/europe/riot/account/v1/accounts/by-riot-id/${encodeURIComponent(name)}/${encodeURIComponent(tag)}`),
    summoner: (puuid) => kayn.Summoner.by.puuid(puuid),
    league: () => kayn.League.Entries.list('RANKED_SOLO_5x5', 'GOLD', 'I'),
    matchIDs: (puuid, count) => raw(`/europe/lol/match/v5/matches/by-puuid/${puuid}/ids?count=${count}`),
    match: (id) => raw(`/europe/lol/match/v5/matches/${id}`),
  };
};
