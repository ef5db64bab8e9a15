"""RiotWatcher, in Kernel's way: python3 with_riotwatcher.py"""
import os

from riotwatcher import LolWatcher, RiotWatcher

RELAY = os.environ.get("RIFTRELAY", "http://127.0.0.1:8985")

account = RiotWatcher(kernel_url=RELAY).account.by_riot_id("EUROPE", "Hide on bush", "KR1")
summoner = LolWatcher(kernel_url=RELAY).summoner.by_puuid("EUW1", account["puuid"])
print("level", summoner["summonerLevel"])
