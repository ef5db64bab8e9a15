"""Pulsefire: python3 with_pulsefire.py"""
import asyncio
import os

from pulsefire.clients import RiotAPIClient

RELAY = os.environ.get("RIFTRELAY", "http://127.0.0.1:8985")


async def main():
    async with RiotAPIClient(base_url=RELAY + "/{region}", default_headers={}) as api:
        account = await api.get_account_v1_by_riot_id(region="europe", game_name="Hide on bush", tag_line="KR1")
        summoner = await api.get_lol_summoner_v4_by_puuid(region="euw1", puuid=account["puuid"])
        print("level", summoner["summonerLevel"])


asyncio.run(main())
