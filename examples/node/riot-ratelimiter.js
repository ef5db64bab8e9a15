// riot-ratelimiter: node riot-ratelimiter.js. It looks for a dot in the host: 127.0.0.1 or a whole name, not localhost.
const RiotRateLimiter = require('riot-ratelimiter');

const relay = process.env.RIFTRELAY || 'http://127.0.0.1:8985';
const limiter = new RiotRateLimiter();
const get = async (path) => JSON.parse(await limiter.executing({ url: relay + path, token: 'x' }));

(async () => {
  const account = await get(`/europe/riot/account/v1/accounts/by-riot-id/${encodeURIComponent('Hide on bush')}/KR1`);
  const summoner = await get(`/euw1/lol/summoner/v4/summoners/by-puuid/${account.puuid}`);
  console.log(`level ${summoner.summonerLevel}`);
})();
