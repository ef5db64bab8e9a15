"""With the standard library: python3 plain.py"""
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request

RELAY = os.environ.get("RIFTRELAY", "http://127.0.0.1:8985")


def get(host, path):
    while True:
        try:
            with urllib.request.urlopen(f"{RELAY}/{host}{path}") as answer:
                return json.load(answer)
        except urllib.error.HTTPError as e:
            if e.code != 429:
                raise
            time.sleep(int(e.headers["Retry-After"]))  # the relay's queue is full


name = urllib.parse.quote("Hide on bush", safe="")
account = get("europe", f"/riot/account/v1/accounts/by-riot-id/{name}/KR1")
summoner = get("euw1", f"/lol/summoner/v4/summoners/by-puuid/{account['puuid']}")
print("level", summoner["summonerLevel"])
