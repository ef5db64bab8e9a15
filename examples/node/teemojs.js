// TeemoJS: node teemojs.js
const TeemoJS = require('teemojs');

const relay = process.env.RIFTRELAY || 'http://127.0.0.1:8985';
const api = TeemoJS('x', { prefix: `${relay}/%s` });

(async () => {
  const account = await api.get('europe', 'account.getByRiotId', 'Hide on bush', 'KR1');
  const summoner = await api.get('euw1', 'summoner.getByPUUID', account.puuid);
  console.log(`level ${summoner.summonerLevel}`);
})();
