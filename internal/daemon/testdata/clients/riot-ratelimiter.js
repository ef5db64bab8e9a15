'use strict';
const RiotRateLimiter = require('riot-ratelimiter');

module.exports = (relay, key) => {
  const limiter = new RiotRateLimiter();
  const get = async (path) => JSON.parse(await limiter.executing({ url: relay + path, token: key }));
  return {
    account: (name, tag) => get(`/europe/riot/account/v1/accounts/by-riot-id/${encodeURIComponent(name)}/${encodeURIComponent(tag)}`),
    summoner: (puuid) => get(`/euw1/lol/summoner/v4/summoners/by-puuid/${puuid}`),
    league: (puuid) => get(`/euw1/lol/league/v4/entries/by-puuid/${puuid}`),
    matchIDs: (puuid, count) => get(`/europe/lol/match/v5/matches/by-puuid/${puuid}/ids?count=${count}`),
    match: (id) => get(`/europe/lol/match/v5/matches/${id}`),
  };
};
