'use strict';
// galeforce 0.6.1 only has the leagues by summoner that are gone at Riot, and those of a division.
const Galeforce = require('galeforce');

module.exports = (relay, key) => {
  process.env.HTTPS_PROXY = relay;
  const g = new Galeforce({ 'riot-api': { key } });
  const { EUROPE } = g.region.riot;
  const { EUROPE_WEST } = g.region.lol;
  return {
    account: (name, tag) => g.riot.account.account().region(EUROPE).gameName(name).tagLine(tag).exec(),
    summoner: (puuid) => g.lol.summoner().region(EUROPE_WEST).puuid(puuid).exec(),
    league: () => g.lol.league.entries().region(EUROPE_WEST).queue('RANKED_SOLO_5x5').tier('GOLD').division('I').exec(),
    matchIDs: (puuid, count) => g.lol.match.list().region(EUROPE).puuid(puuid).query({ count }).exec(),
    match: (id) => g.lol.match.match().region(EUROPE).matchId(id).exec(),
  };
};
