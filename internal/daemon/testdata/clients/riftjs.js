'use strict';
module.exports = open('@timmsy/riftjs');
module.exports.open = open;

// open takes the name under which a generation of axios is installed.
function open(name) {
  return (relay, key) => {
    process.env.HTTPS_PROXY = relay;
    process.env.RIOT_API_KEY = key;
    const { RiotAPI } = require(name);
    const api = new RiotAPI();
    return {
      account: (name, tag) => api.getAccountByRiotId(name, tag),
      summoner: (puuid) => api.getSummonerByPuuid(puuid),
      league: (puuid) => api.getRankEntriesByPuuid(puuid),
      matchIDs: (puuid, count) => api.getMatchlistByPuuid(puuid, { count }),
      match: (id) => api.getMatchById(id),
    };
  };
}
