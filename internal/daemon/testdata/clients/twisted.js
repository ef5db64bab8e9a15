'use strict';
const { LolApi, RiotApi } = require('twisted');

module.exports = (relay, key) => {
  const settings = { key, baseURL: `${relay}/$(region)/:game` };
  const riot = new RiotApi(settings);
  const lol = new LolApi(settings);
  const data = async (answer) => (await answer).response;
  return {
    account: (name, tag) => data(riot.Account.getByRiotId(name, tag, 'europe')),
    summoner: (puuid) => data(lol.Summoner.getByPUUID(puuid, 'euw1')),
    league: (puuid) => data(lol.League.byPUUID(puuid, 'euw1')),
    matchIDs: (puuid, count) => data(lol.MatchV5.list(puuid, 'europe', { count })),
    match: (id) => data(lol.MatchV5.get(id, 'europe')),
  };
};
