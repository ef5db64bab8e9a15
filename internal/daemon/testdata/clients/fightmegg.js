'use strict';
const { RiotAPI } = require('@fightmegg/riot-api');

module.exports = (relay, key) => {
  const api = new RiotAPI(key);
  return {
    account: (gameName, tagLine) => api.account.getByRiotId({ region: 'europe', gameName, tagLine }),
    summoner: (puuid) => api.summoner.getByPUUID({ region: 'euw1', puuid }),
    league: (puuid) => api.league.getEntriesByPUUID({ region: 'euw1', puuid }),
    matchIDs: (puuid, count) => api.matchV5.getIdsByPuuid({ cluster: 'europe', puuid, params: { count } }),
    match: (matchId) => api.matchV5.getMatchById({ cluster: 'europe', matchId }),
  };
};
