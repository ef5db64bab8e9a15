package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"riftrelay"
	"riftrelay/internal/tokens"
	"riftrelay/route"
)

// Client is somebody who may use the relay. It holds digests of tokens, so that nothing that prints it can print a token.
type Client struct {
	Name     string         // in lower case
	Tokens   []tokens.Token // one or several
	Budget   string         // CLIENT_<name>_BUDGET; "" = whichever the client names
	NoHigh   bool           // CLIENT_<name>_PRIORITY=normal
	Patterns []Pattern      // CLIENT_<name>_ALLOW; none = all
}

// Pattern is a part of the API: calls with a verb, on a host, of the methods whose templates begin with a path.
type Pattern struct {
	Verb, Host, Path string // empty verb or host = every one; "/" = every path
}

const (
	clientPrefix = "CLIENT_"
	maxTokens    = 1024
	leastToken   = tokens.Shortest
	mostToken    = 256
)

// A token can stand in a header, in a query and in a URL's password. Without '#' and ',' a line and a list can be cut.
var (
	tokenForm  = regexp.MustCompile(`^[A-Za-z0-9._~+/=-]+$`)
	clientForm = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)
)

const tokenAllowed = "name=token; a name has 1 to 64 letters, digits, '-' and '_', a token 8 to 256 letters, digits and any of -._~+/="

// clientTokens reads "name=token,…".
func (d *draft) clientTokens() value {
	return value{
		allowed: "up to 1024 of " + tokenAllowed + ", separated by commas",
		show: func() string {
			shown := make([]string, len(d.clients))
			for i, c := range d.clients {
				shown[i] = c.Name + "=(hidden)"
			}
			return strings.Join(shown, ",")
		},
		read: func(text string) error {
			list, problems := readClients(strings.Split(text, ","), func(i int) string { return fmt.Sprintf("token %d", i+1) })
			if len(problems) > 0 {
				return partsError(problems)
			}
			d.clients = list
			return nil
		},
	}
}

// readClients reads parts of the form name=token, of which several may be of one name. Its messages call a token by its
// place: what looks like a name may be half of a token.
func readClients(parts []string, label func(int) string) (list []Client, problems []string) {
	if len(parts) > maxTokens {
		return nil, []string{fmt.Sprintf("has %d tokens; allowed: at most %d", len(parts), maxTokens)}
	}
	seen := map[tokens.Token]int{}
	for i, part := range parts {
		bad := func(format string, args ...any) {
			problems = append(problems, label(i)+" "+fmt.Sprintf(format, args...))
		}
		name, token, named := strings.Cut(strings.TrimSpace(part), "=")
		name, token = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(token)
		known := tokens.Of(token)
		j, twice := seen[known]
		switch {
		case !named || !clientForm.MatchString(name) || looksLikeKey.MatchString(name) || len(token) < leastToken || len(token) > mostToken || !tokenForm.MatchString(token):
			bad("is not shown; allowed: %s", tokenAllowed)
			continue
		case twice:
			bad("is the same as %s; allowed: each token once", label(j))
			continue
		}
		seen[known] = i
		at := slices.IndexFunc(list, func(c Client) bool { return c.Name == name })
		if at < 0 {
			at, list = len(list), append(list, Client{Name: name})
		}
		list[at].Tokens = append(list[at].Tokens, known)
	}
	return list, problems
}

// parseTokenFile reads one name=token a line.
func parseTokenFile(data []byte) ([]Client, []string) {
	if len(data) > maxKeyFile {
		return nil, []string{fmt.Sprintf("has %d bytes; allowed: at most %d", len(data), maxKeyFile)}
	}
	if problem := notUTF8(data); problem != "" {
		return nil, []string{problem}
	}
	parts, lines := contentLines(data)
	if len(parts) == 0 {
		return nil, []string{"has no token; allowed: one a line, name=token"} // an emptied file must not open the relay to all
	}
	return readClients(parts, func(i int) string { return fmt.Sprintf("line %d", lines[i]) })
}

// rule returns the draft of what a client may do, made if need be.
func (d *draft) rule(name string) *Client {
	if d.rules == nil {
		d.rules = map[string]*Client{}
	}
	if d.rules[name] == nil {
		d.rules[name] = &Client{Name: name}
	}
	return d.rules[name]
}

func (d *draft) clientBudget(name string) value {
	return value{allowed: "the id of a RATE_BUDGET_<id>, as in crawler", read: func(text string) error {
		d.rule(name).Budget = strings.ToLower(text)
		return nil
	}}
}

func (d *draft) clientPriority(name string) value {
	var word string
	v := choice(&word, "high", "normal")
	read := v.read
	v.read = func(text string) error {
		err := read(text)
		if err == nil {
			d.rule(name).NoHigh = word == "normal"
		}
		return err
	}
	return v
}

func (d *draft) clientAllow(name string) value {
	return value{allowed: "[VERB ][host:]path, separated by commas, as in GET /lol/match/v5,kr:/", read: func(text string) error {
		for item := range strings.SplitSeq(text, ",") {
			var p Pattern
			where := strings.TrimSpace(item)
			if verb, rest, ok := strings.Cut(where, " "); ok {
				p.Verb, where = verb, strings.TrimSpace(rest)
			}
			if host, rest, ok := strings.Cut(where, ":"); ok {
				if p.Host, where = host, rest; host == "" {
					return fmt.Errorf("%q has no host before the colon", item)
				}
			}
			if !strings.HasPrefix(where, "/") {
				return fmt.Errorf("%q has no path that begins with /", item)
			}
			p.Path = "/" + strings.Trim(where, "/")
			d.rule(name).Patterns = append(d.rule(name).Patterns, p)
		}
		return nil
	}}
}

// finishClients joins tokens and rules, and checks what depends on other settings.
func (d *draft) finishClients(s *Settings, env Env, cmd command, sources []source, complain func(string, error), r *report) {
	d.readTokenFile(env, cmd, sources, r)
	wrong := func(name, suffix string, err error) {
		for _, known := range cmd.settings {
			if strings.EqualFold(known.name, clientPrefix+name+suffix) {
				complain(known.name, err)
			}
		}
	}
	from := "CLIENT_TOKENS"
	if d.tokenFile != "" {
		from = "CLIENT_TOKENS_FILE"
	}
	if word := d.wordOfRiots(s.Table); word != "" {
		complain(from, fmt.Errorf("a token of it is a part of %s, which calls to Riot have; allowed: tokens that no call has by chance", word))
	}
	for _, k := range d.keys {
		if slices.ContainsFunc(d.clients, func(c Client) bool { return slices.Contains(c.Tokens, tokens.Of(k.Value)) }) {
			complain(from, fmt.Errorf("a token of it is the key %s; clients are not to know keys", k.Name))
		}
	}
	for name, rule := range d.rules {
		at := slices.IndexFunc(d.clients, func(c Client) bool { return c.Name == name })
		switch {
		case at >= 0:
			rule.Tokens = d.clients[at].Tokens
			d.clients[at] = *rule
		case d.tokenFile != "": // a client that is taken out of the file must not keep the file from being read
			r.warn(fmt.Sprintf("CLIENT_TOKENS_FILE has no client %s, for which there are settings", name))
		default:
			for _, suffix := range clientSuffixes {
				wrong(name, suffix, fmt.Errorf("CLIENT_TOKENS has no client %s", name))
			}
			continue
		}
		if b := rule.Budget; b != "" && b != riftrelay.NoBudget && !slices.ContainsFunc(d.budgets, func(known riftrelay.Budget) bool { return known.Name == b }) {
			wrong(name, clientSuffixes[0], fmt.Errorf("there is no %s%s", budgetPrefix, strings.ToUpper(b)))
		}
		for _, p := range rule.Patterns {
			if err := p.check(s); err != nil {
				wrong(name, clientSuffixes[2], err)
			}
		}
	}
	slices.SortFunc(d.clients, func(a, b Client) int { return cmp.Compare(a.Name, b.Name) })
	s.Clients = d.clients
}

var clientSuffixes = [...]string{"_BUDGET", "_PRIORITY", "_ALLOW"}

// check reports a pattern that allows nothing: a slip of the pen.
func (p Pattern) check(s *Settings) error {
	if s.Table == nil {
		return nil // that is reported already
	}
	if p.Host != "" && !s.ForwardUnknownHosts && !slices.Contains(s.Table.Hosts(), p.Host) {
		return fmt.Errorf("no host %q", p.Host)
	}
	if !slices.ContainsFunc(s.Table.Methods(), func(m *route.Method) bool {
		rest, ok := strings.CutPrefix(m.Template, p.Path)
		return (p.Verb == "" || p.Verb == m.Verb) && (p.Path == "/" || ok && (rest == "" || rest[0] == '/'))
	}) {
		return fmt.Errorf("no method begins with %q", strings.TrimSpace(p.Verb+" "+p.Path))
	}
	return nil
}

// readTokenFile takes the clients from CLIENT_TOKENS_FILE, if that is where they are.
func (d *draft) readTokenFile(env Env, cmd command, sources []source, r *report) {
	const setting = "CLIENT_TOKENS_FILE"
	if d.tokenFile == "" {
		return
	}
	bad := func(format string, args ...any) {
		r.bad(setting, fmt.Sprintf("%s is %q: ", setting, d.tokenFile)+fmt.Sprintf(format, args...))
	}
	if f := find("CLIENT_TOKENS", cmd.settings, sources); f.text != "" {
		bad("CLIENT_TOKENS is set %s as well; allowed: one of the two", f.where)
		return
	}
	data, err := env.ReadFile(d.tokenFile)
	if err != nil {
		bad("%v; allowed: a readable file of tokens", err)
		return
	}
	list, problems := parseTokenFile(data)
	for _, p := range problems {
		bad("%s", p)
	}
	if len(problems) == 0 {
		d.clients = list
	}
}

// find is setting.find by name.
func find(name string, known []setting, sources []source) finding {
	for _, s := range known {
		if s.name == name {
			f, _ := s.find(sources, &report{})
			return f
		}
	}
	return finding{}
}
