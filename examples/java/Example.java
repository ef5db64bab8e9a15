import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** With the standard library: java Example.java */
public class Example {
    static final String RELAY = System.getenv().getOrDefault("RIFTRELAY", "http://127.0.0.1:8985");
    static final HttpClient CLIENT = HttpClient.newHttpClient();

    static String get(String host, String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(RELAY + "/" + host + path)).build();
        while (true) {
            HttpResponse<String> answer = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() == 200) {
                return answer.body();
            }
            if (answer.statusCode() != 429) {
                throw new IllegalStateException(path + ": " + answer.statusCode() + " " + answer.body());
            }
            Thread.sleep(1000 * answer.headers().firstValueAsLong("Retry-After").orElse(1)); // the relay's queue is full
        }
    }

    static String field(String json, String name) {
        Matcher m = Pattern.compile("\"" + name + "\":\"?([^\",}]*)").matcher(json);
        if (!m.find()) {
            throw new IllegalStateException("no " + name + " in " + json);
        }
        return m.group(1);
    }

    public static void main(String[] args) throws Exception {
        String account = get("europe", "/riot/account/v1/accounts/by-riot-id/Hide%20on%20bush/KR1");
        String summoner = get("euw1", "/lol/summoner/v4/summoners/by-puuid/" + field(account, "puuid"));
        System.out.println("level " + field(summoner, "summonerLevel"));
    }
}
