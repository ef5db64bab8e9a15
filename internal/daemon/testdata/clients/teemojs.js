'use strict';
const TeemoJS = require('teemojs');

module.exports = (relay, key) => {
  const api = TeemoJS(key, { prefix: `${relay}/%s` });
  return {
    account: (name, tag) => api.get('europe', 'account.getByRiotId', name, tag),
    summoner: (puuid) => api.get('euw1', 'summoner.getByPUUID', puuid),
    league: (puuid) => api.get('euw1', 'league.getLeagueEntriesByPUUID', puuid),
    matchIDs: (puuid, count) => api.get('europe', 'match.getMatchIdsByPUUID', puuid, { count }),
    match: (id) => api.get('europe', 'match.getMatch', id),
  };
};
