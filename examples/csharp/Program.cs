// With HttpClient: dotnet run
using System.Net.Http.Json;
using System.Text.Json;

var relay = Environment.GetEnvironmentVariable("RIFTRELAY") ?? "http://127.0.0.1:8985";
using var http = new HttpClient { Timeout = TimeSpan.FromMinutes(6) }; // calls may wait 5 minutes for their turn

var account = await http.GetFromJsonAsync<JsonElement>($"{relay}/europe/riot/account/v1/accounts/by-riot-id/Hide%20on%20bush/KR1");
var summoner = await http.GetFromJsonAsync<JsonElement>($"{relay}/euw1/lol/summoner/v4/summoners/by-puuid/{account.GetProperty("puuid")}");
Console.WriteLine($"level {summoner.GetProperty("summonerLevel")}");
