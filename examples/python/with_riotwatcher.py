"""RiotWatcher with Riot's own URLs: HTTPS_PROXY=http://127.0.0.1:8985 REQUESTS_CA_BUNDLE=trust/riftrelay-ca.pem python3 with_riotwatcher.py

For LolWatcher alone there is also Kernel's way, without a proxy: LolWatcher(kernel_url="http://127.0.0.1:8985").
"""
from riotwatcher import LolWatcher, RiotWatcher

account = RiotWatcher("x").account.by_riot_id("europe", "Hide on bush", "KR1")
summoner = LolWatcher("x").summoner.by_puuid("euw1", account["puuid"])
print("level", summoner["summonerLevel"])
