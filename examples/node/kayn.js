// kayn: node kayn.js. It is older than account-v1 and match-v5, which its limiter can call.
const { Kayn } = require('kayn');

const relay = process.env.RIFTRELAY || 'http://127.0.0.1:8985';
const kayn = Kayn('x')({ region: 'euw', apiURLPrefix: `${relay}/%s`, debugOptions: { isEnabled: false } });

(async () => {
  const account = JSON.parse(await kayn.limiter.executing({
    url: `${relay}/europe/riot/account/v1/accounts/by-riot-id/${encodeURIComponent('Hide on bush')}/KR1`, token: 'x',
  }));
  const summoner = await kayn.Summoner.by.puuid(account.puuid);
  console.log(`level ${summoner.summonerLevel}`);
  process.exit(); // its limiter keeps timers
})();
