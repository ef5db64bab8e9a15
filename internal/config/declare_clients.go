package config

import "strings"

// declareClients is the part of declare about those who call the relay, and how.
func declareClients(s *Settings, d *draft) []setting {
	return []setting{
		{
			name: "CLIENT_TOKENS", group: groupClients, secret: true, help: "tokens that clients need: name=token,…",
			more: "Once there is a token, calls without one are refused: 401. It is taken as `X-Relay-Token`, `X-Riot-Token`, `?api_key=` or, except on RSO methods, " +
				"`Authorization: Bearer` or `Basic`, and never sent on. A name is what logs and metrics call the client; it may have several tokens, while one is being replaced. " +
				"Empty: whoever reaches the port may call. See [security](security.md).",
			value: d.clientTokens(),
		},
		{
			name: "CLIENT_TOKENS_FILE", group: groupClients, help: "file of them, one a line, watched for changes",
			more: "In place of `CLIENT_TOKENS`: `name=token` in each line, and `#` comments. When the file changes, and on SIGHUP, it is read again; a file with a " +
				"mistake, or without a token, changes nothing.",
			value: file(&d.tokenFile, "a readable file of tokens"),
		},
		{
			name: "CLIENT_<id>_BUDGET", group: groupClients, docOnly: true, help: "rate budget of all calls of the client <id>",
			more:  "The id of a `RATE_BUDGET_<id>`; what the client says in `X-Rate-Budget` no longer counts. Empty: the client chooses.",
			value: d.clientBudget(""), each: d.clientBudget,
		},
		{
			name: "CLIENT_<id>_PRIORITY", group: groupClients, docOnly: true, help: "highest priority of the client <id>",
			more:  "`normal` ignores its `X-Priority: high`. Empty: `high`.",
			value: d.clientPriority(""), each: d.clientPriority,
		},
		{
			name: "CLIENT_<id>_ALLOW", group: groupClients, docOnly: true, help: "what the client <id> may call: GET /lol/match/v5,kr:/",
			more: "Patterns `[VERB ][host:]path`, separated by commas: the methods whose templates begin with the path, in whole parts, with that verb and on that host. " +
				"`kr:/` is all of a host. Anything else is refused: 403. Empty: everything.",
			value: d.clientAllow(""), each: d.clientAllow,
		},
		{
			name: "CORS_ORIGINS", group: groupClients, help: "origins whose pages may call; * = all", unset: "none",
			more: "Pages of these origins can use the relay from a browser, and their preflights are answered. Empty: calls that a page of another site makes are " +
				"refused; the explorer and programs are not concerned. Together with `CLIENT_TOKENS` a page needs a token as well.",
			value: corsOrigins(&s.Origins),
		},
		{
			name: "ALLOWED_HOSTS", group: groupClients, help: "names the relay answers to; * = any",
			more: "Against pages that point a name of their own to the relay's address (DNS rebinding). IP addresses, localhost and Riot's names are always answered to. " +
				"Empty: no further names if `LISTEN_ADDR` is a loopback address, otherwise any.",
			value: allowedHosts(&s.Hosts),
		},
		{
			name: "TLS_CERT_FILE", group: groupClients, help: "PEM file: the relay's port speaks TLS only",
			more: "The certificate with its chain; `TLS_KEY_FILE` belongs to it. HTTP/2 is spoken too. Both files are watched and read again when they change; with a " +
				"mistake in them the old certificate stays. Plain http is refused, but for `/healthz` and `/readyz` and, with `TRUST_DIR`, CONNECT.",
			value: file(&d.certFile, "a readable PEM file"),
		},
		{
			name: "TLS_KEY_FILE", group: groupClients, help: "PEM file of the certificate's private key",
			more:  "May be the same file as `TLS_CERT_FILE`.",
			value: file(&d.certKeyFile, "a readable PEM file"),
		},
		{
			name: "TRUST_DIR", group: groupClients, help: "directory of a local authority; turns on CONNECT",
			more: "For clients that only speak `https://` to Riot's own names: with `HTTPS_PROXY` set to the relay they are served over CONNECT, and over TLS on " +
				"the relay's port. The authority is made at the first start and can sign for names under `api.riotgames.com` only; `riftrelay trust` shows what " +
				"each runtime needs to trust it. Empty: neither CONNECT nor TLS. See [clients](clients.md).",
			value: text(&s.TrustDir, "a directory that can be written"),
		},
		{
			name: "TUNNEL_HOSTS", group: groupClients, help: "CONNECT to others: a,b, +a,b or off", unset: "static data",
			more: "Hosts to which CONNECT passes bytes on unseen, port 443 only, when `TRUST_DIR` is set: `a,b` replaces the list, `+a,b` extends it, `off` empties it. " +
				"Names that lead to private addresses are refused. Empty: Riot's static data, `" + strings.Join(staticHosts, "`, `") + "`.",
			value: tunnelHosts(&s.TunnelHosts),
		},
		{
			name: "RATE_HEADERS", group: groupClients, def: "pass", help: "pass or strip Riot's X-*-Rate-Limit headers",
			more: "`strip` keeps the limits and counts from clients that would pace themselves by them a second time. `Retry-After` and " +
				"`X-Rate-Limit-Type` always pass.",
			value: stripOrPass(&s.StripRateHeaders),
		},
	}
}
