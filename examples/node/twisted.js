// twisted: node twisted.js
const { LolApi, RiotApi } = require('twisted');

const relay = process.env.RIFTRELAY || 'http://127.0.0.1:8985';
const settings = { key: 'x', baseURL: `${relay}/$(region)/:game` };

(async () => {
  const { response: account } = await new RiotApi(settings).Account.getByRiotId('Hide on bush', 'KR1', 'europe');
  const { response: summoner } = await new LolApi(settings).Summoner.getByPUUID(account.puuid, 'euw1');
  console.log(`level ${summoner.summonerLevel}`);
})();
