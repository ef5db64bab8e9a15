// reqwest = { version = "0.12", features = ["json"] }, serde_json = "1", tokio = { version = "1", features = ["full"] }
use serde_json::Value;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let relay = std::env::var("RIFTRELAY").unwrap_or_else(|_| "http://127.0.0.1:8985".into());
    let get = |path: String| async { reqwest::get(path).await?.error_for_status()?.json::<Value>().await };

    let account = get(format!("{relay}/europe/riot/account/v1/accounts/by-riot-id/Hide%20on%20bush/KR1")).await?;
    let puuid = account["puuid"].as_str().ok_or("no puuid")?;
    let summoner = get(format!("{relay}/euw1/lol/summoner/v4/summoners/by-puuid/{puuid}")).await?;
    println!("level {}", summoner["summonerLevel"]);
    Ok(())
}
