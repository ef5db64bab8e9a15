// riven = "2", tokio = { version = "1", features = ["full"] }
use riven::consts::{PlatformRoute, RegionalRoute};
use riven::{RiotApi, RiotApiConfig};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let relay = std::env::var("RIFTRELAY").unwrap_or_else(|_| "http://127.0.0.1:8985".into());
    let api = RiotApi::new(RiotApiConfig::with_key("x").set_base_url(format!("{relay}/{{}}")));

    let account = api.account_v1().get_by_riot_id(RegionalRoute::EUROPE, "Hide on bush", "KR1").await?.ok_or("no account")?;
    let summoner = api.summoner_v4().get_by_puuid(PlatformRoute::EUW1, &account.puuid).await?;
    println!("level {}", summoner.summoner_level);
    Ok(())
}
