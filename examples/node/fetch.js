// Without a library: node fetch.js
const relay = process.env.RIFTRELAY || 'http://127.0.0.1:8985';

async function get(host, path) {
  for (;;) {
    const answer = await fetch(`${relay}/${host}${path}`);
    if (answer.ok) return answer.json();
    if (answer.status !== 429) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    await new Promise((done) => setTimeout(done, 1000 * Number(answer.headers.get('retry-after')))); // the relay's queue is full
  }
}

(async () => {
  const riotID = ['Hide on bush', 'KR1'].map(encodeURIComponent).join('/');
  const account = await get('europe', `/riot/account/v1/accounts/by-riot-id/${riotID}`);
  const summoner = await get('euw1', `/lol/summoner/v4/summoners/by-puuid/${account.puuid}`);
  console.log(`level ${summoner.summonerLevel}`);
})();
