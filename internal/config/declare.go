package config

import (
	"slices"
	"strconv"
	"time"

	"riftrelay"
	"riftrelay/internal/limit"
)

// The groups, in the order in which help and documents show them.
const (
	groupKeys     = "Keys"
	groupListen   = "Listen"
	groupClients  = "Clients"
	groupLimits   = "Limits and queue"
	groupRoutes   = "Routes"
	groupUpstream = "Upstream"
	groupReplicas = "Replicas"
	groupLife     = "Life"
	groupObserve  = "Observability"
)

// setting is one declaration.
type setting struct {
	name    string   // PORT; as a flag --port
	aliases []string // further names, in the environment and the files
	group   string
	def     string // "" = nothing
	unset   string // what nothing means, if that isn't "none"; shown like a default
	help    string // the line in --help; with the default in brackets it should fit 54 columns
	more    string // further sentences, for docs/settings.md
	value   value

	each func(id string) value // of a family, whose name has <id> in it: the value of one of them

	docOnly    bool // of no interest in --help
	argument   bool // not a flag but what follows the command; flagOnly as well
	flagOnly   bool // an option of one command, not a setting: no environment, no file
	secret     bool // the value must not be shown
	lower      bool // the name in lower case is its name as well, as curl has it
	emptyValue bool // an empty value in the environment or a file is a value
}

// draft holds what is read before it can be used: what depends on other settings or on a file.
type draft struct {
	keys               []riftrelay.Key
	keyFile            string
	adminToken         string
	listen, admin      string
	port               int
	hosts, methodsFile string
	caFile, configFile string
	budgets            []riftrelay.Budget
	overridesBelow     string
	hardBudgets        []string
	clients            []Client
	rules              map[string]*Client // of CLIENT_<id>_…, by name
	tokenFile          string
	certFile           string
	certKeyFile        string
	noProxy            bool   // UPSTREAM_PROXY=off
	httpsProxy         string // HTTPS_PROXY
	exceptions         string // NO_PROXY
	shell              string
}

// declare is the list of all settings; what it reads goes into in and d.
func declare(in *Invocation, d *draft) []setting {
	s := in.Settings
	s.TunnelHosts = staticHosts
	list := []setting{
		{
			name: "RIOT_TOKEN", aliases: []string{"RIOT_API_KEY", "API_KEY"}, group: groupKeys, secret: true,
			help: "Riot API keys: RGAPI-…,RGAPI-… or name=RGAPI-…",
			more: "Keys of several products, separated by commas. A name is what metrics, logs and answers call the key; without one it is key0, key1 … by place. " +
				"As a flag a key can be read in the list of processes: better set it in the environment or in `.env`. Get one at <https://developer.riotgames.com>.",
			value: keys(&d.keys),
		},
		{
			name: "RIOT_TOKEN_FILE", group: groupKeys, help: "file of keys, one a line, watched for changes",
			more: "In place of `RIOT_TOKEN`: `RGAPI-…` or `name=RGAPI-…` in each line, and `#` comments. When the file changes, and on SIGHUP, it is read again: " +
				"nothing that waits is dropped, and a file with a mistake changes nothing. SIGHUP also reads `.env` again, if the keys are from there.",
			value: file(&d.keyFile, "a readable file of keys"),
		},
		{
			name: "KEY_ROUTES", group: groupKeys, help: "calls with keys of their own: /lol/tournament/=name",
			more: "`/beginning/of/a/path=group` or `host:kr=group`, separated by commas; the longest beginning that fits counts, a host where none does. " +
				"The keys of a group are named like it, or with a number behind: `tournament`, `tournament.2`. All other keys serve all other calls. See [keys](keys.md).",
			value: keyRoutes(&s.Groups),
		},

		{
			name: "LISTEN_ADDR", group: groupListen, def: localhost, help: "host or host:port of the relay; * = all",
			more: "`localhost` is 127.0.0.1 and ::1: only programs on this machine reach the relay. `*` is all interfaces; set `CLIENT_TOKENS` then. " +
				"The image, the compose files and the chart set `*`. A port in here goes before `PORT`. An IPv6 address may stand in brackets.",
			value: address(&d.listen),
		},
		{
			name: "PORT", group: groupListen, def: "8985", help: "port of the relay",
			more:  "Applies when `LISTEN_ADDR` has no port. 0: any free one.",
			value: number(&d.port, 65535),
		},
		{
			name: "ADMIN_ADDR", group: groupListen, def: "127.0.0.1:8986", help: "page, metrics, admin API; off = none", emptyValue: true,
			more: "[The page](page.md), the admin API, metrics, health and profiles are kept off the relay's port. Empty or `off`: there is no such listener. " +
				"`riftrelay status` and `top` ask there.",
			value: hostPortOrOff(&d.admin),
		},
		{
			name: "ADMIN_TOKEN", group: groupListen, secret: true, help: "token for changes through the admin API",
			more: "Calls that change something (`POST /api/v1/…`: reload, disable a key) need `Authorization: Bearer <token>`. Without a token they are served " +
				"on a loopback `ADMIN_ADDR` only. Reading needs none.",
			value: adminToken(&d.adminToken),
		},
		{
			name: "MAX_CONNECTIONS", group: groupListen, help: "connections to the relay's port", unset: "by open files",
			more: "Empty: four ninths of the descriptors that the process may have, less some for files; never more. When there is no room, the connection that has been " +
				"without a request for the longest is closed. While each has a request, new clients wait.",
			value: between(&s.MaxConnections, 1, 1<<20),
		},
		{
			name: "MAX_CONNECTIONS_PER_ADDRESS", group: groupListen, docOnly: true, help: "connections of one address", unset: "three quarters of them",
			more:  "Of IPv6, a network of 64 bits counts as one address. Empty: three quarters of `MAX_CONNECTIONS`, and all of them for programs on this machine.",
			value: between(&s.MaxPerAddress, 1, 1<<20),
		},
		{
			name: "MAX_BODY", group: groupListen, def: "1048576", help: "largest request body, in bytes",
			more:  "The relay reads a request's body before the call is admitted, so a slow sender holds no slot of Riot's. A larger body is answered with 413.",
			value: between(&s.MaxBody, 1, 64<<20),
		},

		{
			name: "PACING", group: groupLimits, def: "balanced", help: "balanced, spread, burst, or 0 to 1",
			more:  "The share of each window that goes as soon as there is room; the rest is spread evenly. `balanced` is 0.5, `spread` is 0, and `burst` is 1.",
			value: pacing(&s.Pacing),
		},
		{
			name: "DEFAULT_APP_RATE_LIMIT", group: groupLimits, def: riftrelay.DefaultAppLimit, help: "application limit until Riot tells it",
			more:  "Calls:seconds, as Riot writes it. It holds for a key and host until the first answer from there.",
			value: tolerantQuotas(&s.DefaultAppLimit),
		},
		{
			name: "MARGIN", aliases: []string{"ADDITIONAL_WINDOW_SIZE"}, group: groupLimits, def: shortDuration(riftrelay.DefaultMargin), help: "longest way of a call to Riot",
			more: "A call counts against a window until the window's length after its answer, or after its sending plus this time, whichever is earlier. " +
				"Where every answer takes longer, and for a while after a 429 of the relay's own making, the time is longer too, up to `MARGIN_MAX`.",
			value: within(&s.Margin, time.Millisecond, time.Minute, ""),
		},
		{
			name: "MARGIN_MAX", aliases: []string{"J_MAX"}, group: groupLimits, help: "the longest that it becomes", unset: shortDuration(riftrelay.DefaultMaxMargin),
			more:  "Empty: 2s, or `MARGIN` if that is more. Equal to `MARGIN`: it never grows.",
			value: duration(&s.MaxMargin, time.Millisecond, time.Minute, ""),
		},
		{
			name: "RATE_BUDGET_<id>", group: groupLimits, help: "ceiling of calls with X-Rate-Budget: <id>",
			more: "Of every window of Riot's, the calls that name the budget use at most this share, for each key and host, and they are paced by it. It reserves nothing, " +
				"and holds up nobody else. The case of an id counts only where two ids differ in nothing else; `default` is no id: it means no budget. No flag; in the YAML file `rate_budget_crawler: 0.3`. " +
				"See [limits of your own](limits.md).",
			value: d.budgetShare(""), each: d.budgetShare,
		},
		{
			name: "RATE_BUDGET_<id>_OVERRIDES", group: groupLimits, docOnly: true, help: "its share for single methods",
			more: "Other shares of the budget for single methods, on one host or all, as in `lol/match/v5/matches/{matchId}=0.6`. The path `/` is for a whole host. " +
				"What a path stands for is a matter of `BUDGET_OVERRIDES`.",
			value: d.budgetOverrides(""), each: d.budgetOverrides,
		},
		{
			name: "BUDGET_OVERRIDES", group: groupLimits, def: overrideEndpoint, docOnly: true, help: "endpoint or below: what a path of them is for",
			more: "`endpoint`: the method with exactly that path. Its calls use at most that share of the method's limits and of the application's, as in the relay's first version. " +
				"`below`: all methods whose paths begin so. It changes their own limits only, and the budget's share alone bounds its calls in the application's. The longest path counts.",
			value: choice(&d.overridesBelow, overrideEndpoint, overrideBelow),
		},
		{
			name: "HARD_BUDGETS", group: groupLimits, docOnly: true, help: "budgets that bound high priority too: crawler or *",
			more: "Ids, separated by commas; `*` is all of them. Calls with `X-Priority: high` count for every budget, but only a hard one holds them back. " +
				"A budget that `CLIENT_<id>_BUDGET` sets is hard for that client.",
			value: d.hard(),
		},
		{
			name: "VIOLATION_LIMIT", group: groupLimits, def: strconv.Itoa(limit.DefaultTolerance), help: "own 429s a minute before a limit is halved",
			more: "Riot blacklists keys that keep exceeding their limits. A limit that sees more 429s of our own making within a minute is used by half, " +
				"and all of it again step by step, every five minutes without another. If calls of another program were the reason, it takes less than a minute after that program has gone. 0: none is tolerated.",
			value: number(&s.ViolationLimit, 1_000_000),
		},
		{
			name: "ADMISSION_TIMEOUT", group: groupLimits, def: shortDuration(riftrelay.DefaultAdmissionTimeout), help: "longest wait for admission; 0 = no bound",
			more:  "A call that can't be served within it is refused at once, with the time to come back at. A request's `X-Max-Wait` can make it shorter.",
			value: within(&s.AdmissionTimeout, 0, longest, "no bound"),
		},
		{
			name: "QUEUE_CAPACITY", group: groupLimits, def: strconv.Itoa(riftrelay.DefaultQueueCapacity), help: "calls of a client that may wait for a method",
			more:  "It holds for each host and method, client, budget and priority by itself. 0: no call waits.",
			value: atMost(&s.QueueCapacity, 10_000_000),
		},
		{
			name: "QUEUE_TOTAL", group: groupLimits, def: strconv.Itoa(riftrelay.DefaultQueueTotal), help: "calls that may wait in all",
			more:  "When it is reached, the client with most calls makes room for others, and normal priority for high. 0: no call waits.",
			value: number(&s.QueueTotal, 10_000_000),
		},

		{
			name: "HOSTS", group: groupRoutes, help: "hosts: a,b replaces the list, +a,b extends it", unset: "Riot's",
			more:  "Names such as `euw1` or `americas`. Empty: the hosts that Riot has today.",
			value: text(&d.hosts, "host names, separated by commas, as in +xx1,yy2"),
		},
		{
			name: "SCOPE_ALIASES", group: groupRoutes, help: "budgets over hosts: tft/summoner/v1@euw1,eun1",
			more: "Methods that Riot counts together over several hosts, `path@host,host;path@host,host`: the methods whose paths begin so have one budget on " +
				"those hosts. Such were seen for TFT: `tft/summoner/v1@euw1,eun1,tr1,ru` and `tft/match/v1@asia,sea`.",
			value: aliases(&s.Aliases),
		},
		{
			name: "UNKNOWN_HOSTS", group: groupRoutes, def: "refuse", help: "refuse or forward hosts not in the list",
			more:  "`forward` takes names of 2 to 10 letters and at most one digit.",
			value: forward(&s.ForwardUnknownHosts),
		},
		{
			name: "METHODS_FILE", group: groupRoutes, help: "file that extends or replaces the method table",
			more:  "Tab-separated, as `route/methods.tsv`, whose first lines define the format.",
			value: file(&d.methodsFile, "a readable methods file"),
		},
		{
			name: "UNKNOWN_PATHS", group: groupRoutes, def: "refuse", help: "refuse or forward paths not in the table",
			more:  "`forward` sends them through one shared queue for each host.",
			value: forward(&s.ForwardUnknownPaths),
		},

		{
			name: "UPSTREAM_URL", group: groupUpstream, def: riotsOwn, help: "where Riot is",
			more:  "`{host}` stands for the call's host. Whatever is dialled, the Host header is that of Riot.",
			value: upstreamURL(&s.UpstreamURL),
		},
		{
			name: "UPSTREAM_TIMEOUT", group: groupUpstream, def: "90s", help: "wait for an answer, then idle time; 0 = none",
			more:  "Bounds the wait for the head of an answer, then the time in which its body stands still; never a running body. 0: no bound.",
			value: within(&s.UpstreamTimeout, 0, longest, "none"),
		},
		{
			name: "RETRY", group: groupUpstream, help: "502,503,504,reset,timeout: then GETs once more",
			more: "Failures of Riot's after which a GET or HEAD is sent again, at most twice, within its time and as at most a tenth of all calls. " +
				"Empty: none. A 429 is always tried again, any method, for as long as the call may wait.",
			value: retry(&s.Retry),
		},
		{
			name: "UPSTREAM_PROXY", group: groupUpstream, help: "proxy to reach Riot through; off = none", secret: true,
			more:  "It goes before `HTTPS_PROXY`. `off`: no proxy, whatever the environment says. With a plain http `UPSTREAM_URL` only socks5:// works.",
			value: proxyOrOff(&s.UpstreamProxy, &d.noProxy),
		},
		{
			name: "HTTPS_PROXY", lower: true, group: groupUpstream, docOnly: true, help: "the same, as other programs have it", secret: true,
			more: "Calls to Riot go through this proxy unless `UPSTREAM_PROXY` is set. The key is sent inside TLS, from the relay to Riot: the proxy sees the host's name only. " +
				"It isn't used for a plain http `UPSTREAM_URL`.",
			value: environmentProxy(&d.httpsProxy),
		},
		{
			name: "NO_PROXY", lower: true, group: groupUpstream, docOnly: true, help: "hosts that HTTPS_PROXY isn't for",
			more:  "Names and domains separated by commas, as in `.riotgames.com,kr.api.riotgames.com`; `*` means all.",
			value: text(&d.exceptions, "names, domains, addresses and networks, separated by commas"),
		},
		{
			name: "UPSTREAM_CA_FILE", group: groupUpstream, help: "PEM file of authorities to trust for Riot",
			more:  "In place of the system's authorities.",
			value: file(&d.caFile, "a readable PEM file of certificates"),
		},
		{
			name: "UPSTREAM_HTTP2", group: groupUpstream, def: "true", help: "speak HTTP/2 with Riot",
			value: toggle(&s.UpstreamHTTP2),
		},

		{
			name: "STORE_URL", group: groupReplicas, secret: true, help: "Redis or Valkey that all replicas share",
			more: "`redis://user:password@host:6379/0`, `rediss://…` for TLS, `redis+sentinel://host,host/master`, `redis+cluster://host,host`. " +
				"All relays with the same keys need the same. Empty: this relay is alone with its keys. See [replicas](replicas.md).",
			value: storeURL(&s.StoreURL),
		},
		{
			name: "STORE_LOSS", group: groupReplicas, def: string(riftrelay.LossShare), help: "share or closed, while it can't be reached",
			more:  "`share`: each replica goes on within its share of nine tenths of each limit. `closed`: nothing is sent.",
			value: choice(&s.StoreLoss, string(riftrelay.LossShare), string(riftrelay.LossClosed)),
		},
	}
	list = append(list, declareProcess(in, d)...)
	limits := slices.IndexFunc(list, func(s setting) bool { return s.group == groupLimits })
	return slices.Insert(list, limits, declareClients(s, d)...)
}

// longest bounds durations: what is longer is a mistake, such as milliseconds.
const longest = 7 * 24 * time.Hour
