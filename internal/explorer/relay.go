package explorer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"riftrelay/internal/openapi"
	"riftrelay/route"
)

// RelayOptions say what a relay serves.
type RelayOptions struct {
	Table   *route.Table // the one that it routes with
	Budgets []string     // ids that X-Rate-Budget may name
	Tokens  bool         // calls need a client's token
}

// Relay describes a relay: each method of its table, with the host in front.
func Relay(o RelayOptions) openapi.Document {
	d := openapi.Document{
		Info: openapi.Info{
			Title: "RiftRelay", Version: "1", // of this description: anybody may ask, and the relay's version is nobody else's business
			Description: "The Riot Games API through this relay, which adds the key and waits for the rate limits. Calls from this page are real: they use the key's limits. " +
				"Players' ids are encrypted for one key; start with account-v1 by Riot ID. What stands in a field at first is an example.",
		},
		Servers: []openapi.Server{{URL: "/", Description: "this relay"}},
		Paths:   map[string]openapi.Path{},
		Components: openapi.Components{
			Schemas: map[string]*openapi.Schema{}, Parameters: controls(o.Budgets),
			SecuritySchemes: map[string]openapi.Security{playersToken: {
				Type: "http", Scheme: "bearer", Description: "A player's own token, of Riot Sign On. It goes to the methods \"with the player's own token\" only.",
			}},
		},
	}
	if o.Tokens {
		d.Components.SecuritySchemes[clientsToken] = openapi.Security{
			Type: "apiKey", In: "header", Name: "X-Relay-Token", Description: "A token of CLIENT_TOKENS, which every call to this relay needs.",
		}
		d.Security = []map[string][]string{{clientsToken: {}}}
	}
	b := builder{tokens: o.Tokens, Document: &d, answers: common(&d.Components), hosts: map[string]string{}, paths: map[string]string{}, ids: map[string]bool{}}
	for _, m := range o.Table.Methods() {
		b.add(m, o.Table.Hosts())
	}
	d.Tags = tagsOf(o.Table.Methods())
	return d
}

const playersToken, clientsToken = "RSO", "client-token"

type builder struct {
	*openapi.Document
	tokens  bool
	answers map[string]openapi.Response
	hosts   map[string]string // host lists → the names of their parameters
	paths   map[string]string // paths without the names of parameters → with them
	ids     map[string]bool
}

func (b *builder) add(m *route.Method, all []string) {
	template := b.path(m.Template)
	op := openapi.Operation{
		Tags: []string{m.Service}, OperationID: b.id(m), Responses: maps.Clone(b.answers),
		Parameters: []openapi.Parameter{b.host(m, all)},
	}
	for segment := range strings.SplitSeq(template, "/") {
		if name, is := strings.CutPrefix(segment, "{"); is && segment != hostSegment {
			op.Parameters = append(op.Parameters, pathParameter(m.Template, strings.TrimSuffix(name, "}")))
		}
	}
	op.Parameters = append(op.Parameters, inQuery[m.String()]...)
	for _, name := range slices.Sorted(maps.Keys(b.Components.Parameters)) {
		if !strings.HasPrefix(name, hostsOf) {
			op.Parameters = append(op.Parameters, openapi.Parameter{Ref: "#/components/parameters/" + name})
		}
	}
	if example, carries := bodies[m.String()]; carries {
		op.RequestBody = &openapi.Body{Required: true, Content: openapi.JSON(openapi.Of("object"), example)}
	} else if m.Verb != "GET" && m.Verb != "DELETE" {
		op.RequestBody = &openapi.Body{Content: openapi.JSON(openapi.Of("object"), nil)}
	}
	if m.Auth == route.AuthRSO {
		op.Summary = "with the player's own token"
		op.Security = []map[string][]string{{playersToken: {}}}
		if b.tokens {
			op.Security[0][clientsToken] = []string{} // both
		}
	}
	answer := shape[m.String()]
	if answer == nil {
		answer = openapi.Of("object")
	}
	op.Responses["200"] = openapi.Response{
		Description: "Riot's answer, byte for byte.", Headers: headerRefs(fromRiot...), Content: openapi.JSON(answer, nil),
	}
	if b.Paths[template] == nil {
		b.Paths[template] = openapi.Path{}
	}
	b.Paths[template][strings.ToLower(m.Verb)] = op
}

const (
	hostSegment = "{host}"
	hostName    = "host"
	hostsOf     = "hosts-"
)

// path puts the host before a template. OpenAPI takes paths that differ in the
// names of parameters only for one, so all verbs have the names of the first,
// and none has the host's.
func (b *builder) path(template string) string {
	var names, bare strings.Builder
	for segment := range strings.SplitSeq(template[1:], "/") {
		if segment == hostSegment {
			segment = "{" + hostName + "2}"
		}
		names.WriteString("/" + segment)
		if segment[0] == '{' {
			segment = "{}"
		}
		bare.WriteString("/" + segment)
	}
	if first, known := b.paths[bare.String()]; known {
		return first
	}
	b.paths[bare.String()] = "/" + hostSegment + names.String()
	return b.paths[bare.String()]
}

// id names an operation. It is in the addresses of the page, so it should stay
// the same.
func (b *builder) id(m *route.Method) string {
	base := strings.ToLower(m.Verb) + strings.Map(func(r rune) rune {
		switch {
		case '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', r == '-':
			return r
		case r == '{', r == '}':
			return -1
		}
		return '_'
	}, m.Template)
	id := base
	for n := 2; b.ids[id]; n++ {
		id = fmt.Sprintf("%s_%d", base, n)
	}
	b.ids[id] = true
	return id
}

// firstHosts are those that a page begins with, where they serve the method.
var firstHosts = []string{"euw1", "europe", "eu"}

// host returns the parameter of the hosts that serve m. Methods of the same hosts
// share one.
func (b *builder) host(m *route.Method, all []string) openapi.Parameter {
	list := m.Hosts
	if list == nil {
		list = all
	}
	key := strings.Join(list, ",")
	name, known := b.hosts[key]
	if !known {
		name = fmt.Sprintf("%s%d", hostsOf, len(b.hosts)+1)
		b.hosts[key] = name
		p := openapi.Parameter{Name: hostName, In: "path", Required: true, Description: "The host at Riot, {host}.api.riotgames.com."}
		if len(list) == 0 { // of unlisted hosts only
			p.Schema = &openapi.Schema{Type: openapi.Kinds{"string"}, Pattern: "^[a-z]{2,10}[0-9]?$"}
			p.Example = firstHosts[0]
		} else {
			p.Schema = openapi.Words(list...)
			p.Example = list[0]
			for _, h := range slices.Backward(firstHosts) {
				if slices.Contains(list, h) {
					p.Example = h
				}
			}
		}
		b.Components.Parameters[name] = p
	}
	return openapi.Parameter{Ref: "#/components/parameters/" + name}
}

// controls are the headers by which a call says how it wants to be served.
func controls(budgets []string) map[string]openapi.Parameter {
	index := openapi.Of("integer")
	index.Minimum = new(int)
	wait := openapi.Of("string")
	wait.Examples = []any{"8s", "1m30s", "0"}
	list := []openapi.Parameter{
		{Name: "X-Priority", Description: "high goes before normal; normal if empty.", Schema: openapi.Words("normal", "high")},
		{Name: "X-Max-Wait", Description: "How long the call may wait for the limits: 8s, 1m30s or whole seconds. 0 = now or never. Empty: ADMISSION_TIMEOUT.", Schema: wait},
		{Name: "X-Riot-Token-Index", Description: "Which key to use, by its place, from 0 on. Empty: the one with the earliest slot.", Schema: index},
	}
	if len(budgets) > 0 {
		list = append(list, openapi.Parameter{Name: "X-Rate-Budget", Description: "Whose share of the limits the call uses.", Schema: openapi.Words(budgets...)})
	}
	found := make(map[string]openapi.Parameter, len(list))
	for _, p := range list {
		p.In = "header"
		found[p.Name] = p
	}
	return found
}

// products are Riot's games, by what is in the templates of their methods. Of
// those that fit the last counts: /lol/spectator/tft/ is TFT's.
var products = []struct{ path, name string }{
	{"/", "other"}, {"/riot/", "Riot account"}, {"/lol/", "League of Legends"}, {"/tft/", "Teamfight Tactics"}, {"/val/", "VALORANT"},
	{"/lor/", "Legends of Runeterra"}, {"/riftbound/", "Riftbound"},
}

// productOf returns a template's place in products.
func productOf(template string) int {
	for i, p := range slices.Backward(products) {
		if strings.Contains(template, p.path) {
			return i
		}
	}
	panic("BUG: a template without a slash: " + template)
}

// tagsOf lists the APIs, those of a game together.
func tagsOf(methods []*route.Method) []openapi.Tag {
	product := map[string]int{}
	for _, m := range methods {
		if _, known := product[m.Service]; !known {
			product[m.Service] = productOf(m.Template)
		}
	}
	tags := make([]openapi.Tag, 0, len(product))
	for _, service := range slices.SortedFunc(maps.Keys(product), func(a, b string) int {
		return cmp.Or(cmp.Compare(product[a], product[b]), cmp.Compare(a, b))
	}) {
		i := product[service]
		tag := openapi.Tag{Name: service, Description: products[i].name}
		if i > 0 {
			tag.ExternalDocs = &openapi.Link{URL: "https://developer.riotgames.com/apis#" + service}
		}
		tags = append(tags, tag)
	}
	return tags
}
