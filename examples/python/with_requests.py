"""requests with Riot's own URLs, unchanged. The relay runs with TRUST_DIR=trust:

HTTPS_PROXY=http://127.0.0.1:8985 REQUESTS_CA_BUNDLE=trust/riftrelay-ca.pem python3 with_requests.py
"""
import requests


def get(url):
    answer = requests.get(url, timeout=300)
    answer.raise_for_status()
    return answer.json()


account = get("https://europe.api.riotgames.com/riot/account/v1/accounts/by-riot-id/Hide on bush/KR1")
summoner = get(f"https://euw1.api.riotgames.com/lol/summoner/v4/summoners/by-puuid/{account['puuid']}")
print("level", summoner["summonerLevel"])
