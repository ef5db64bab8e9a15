// @fightmegg/riot-api, which knows Riot's names only, and no proxy. The relay runs with TRUST_DIR=trust on port 443,
// and its machine is what these names lead to, as by a network alias or extra_hosts of the container:
//
//	NODE_EXTRA_CA_CERTS=trust/riftrelay-ca.pem node fightmegg.js
const { RiotAPI } = require('@fightmegg/riot-api');

(async () => {
  const api = new RiotAPI('x');
  const account = await api.account.getByRiotId({ region: 'europe', gameName: 'Hide on bush', tagLine: 'KR1' });
  const summoner = await api.summoner.getByPUUID({ region: 'euw1', puuid: account.puuid });
  console.log(`level ${summoner.summonerLevel}`);
})();
