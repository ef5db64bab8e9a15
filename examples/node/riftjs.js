// riftjs, which knows Riot's names only. The relay runs with TRUST_DIR=trust:
//
//	HTTPS_PROXY=http://127.0.0.1:8985 NODE_EXTRA_CA_CERTS=trust/riftrelay-ca.pem RIOT_API_KEY=x node riftjs.js
const { RiotAPI } = require('@timmsy/riftjs');

(async () => {
  const api = new RiotAPI();
  const account = await api.getAccountByRiotId('Hide on bush', 'KR1');
  const summoner = await api.getSummonerByPuuid(account.puuid);
  console.log(`level ${summoner.summonerLevel}`);
})();
