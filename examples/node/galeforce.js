// galeforce, which knows Riot's names only. The relay runs with TRUST_DIR=trust:
//
//	HTTPS_PROXY=http://127.0.0.1:8985 NODE_EXTRA_CA_CERTS=trust/riftrelay-ca.pem node galeforce.js
const Galeforce = require('galeforce');

(async () => {
  const api = new Galeforce({ 'riot-api': { key: 'x' } });
  const account = await api.riot.account.account().region(api.region.riot.EUROPE).gameName('Hide on bush').tagLine('KR1').exec();
  const summoner = await api.lol.summoner().region(api.region.lol.EUROPE_WEST).puuid(account.puuid).exec();
  console.log(`level ${summoner.summonerLevel}`);
  process.exit(); // its limiter keeps a timer
})();
