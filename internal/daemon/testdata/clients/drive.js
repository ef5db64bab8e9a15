'use strict';
// node --require ./shim.js drive.js CLIENT: drives one client library through a relay, told by lines on
// stdin, and tells what became of it in lines of JSON on stdout.
//
//   chain [["name","tag"],…]   account → summoner → league → match ids → two matches, for each Riot ID
//   league                     one call for the league of the last player
//   key KEY                    from here on the client's key is KEY
const readline = require('node:readline');

const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);
const told = (error) => {
  const said = error && (error.message || error.statusText || JSON.stringify(error));
  const status = error && (error.status || error.statusCode || (error.response && error.response.status));
  return `${status || ''} ${said}`.trim();
};
process.on('uncaughtException', (error) => { say({ crashed: String(error && error.stack) }); process.exit(1); });
process.on('unhandledRejection', (error) => { say({ crashed: `nobody caught ${told(error)}` }); process.exit(1); });

const relay = process.env.RELAY;
const make = require(`./${process.argv[2]}.js`);
let client = make(relay, 'client-key');
let puuid = 'nobody';

async function chain(players) {
  const seen = [];
  for (const [name, tag] of players) {
    const account = await client.account(name, tag);
    puuid = account.puuid;
    const summoner = await client.summoner(puuid);
    const league = await client.league(puuid);
    const ids = await client.matchIDs(puuid, 2);
    const matches = [];
    for (const id of ids) matches.push((await client.match(id)).metadata.matchId);
    seen.push({ name: account.gameName, tag: account.tagLine, level: summoner.summonerLevel, leagues: league.length, ids, matches });
  }
  return seen;
}

const commands = {
  chain: (players) => chain(JSON.parse(players)),
  league: async () => {
    const got = await client.league(puuid);
    return Array.isArray(got) ? got.length : got; // TeemoJS gives errors for answers
  },
  key: (key) => { client = make(relay, key); },
};

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [command, ...rest] = line.split(' ');
    const began = Date.now();
    try {
      const answer = await commands[command](rest.join(' '));
      say({ ok: true, ms: Date.now() - began, answer });
    } catch (error) {
      say({ ok: false, ms: Date.now() - began, error: told(error) });
    }
  }
  process.exit(0); // some clients keep timers
})();
