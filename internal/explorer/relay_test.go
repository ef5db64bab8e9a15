package explorer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"riftrelay/internal/explorer"
	"riftrelay/internal/openapi"
	"riftrelay/riotsim"
	"riftrelay/route"
)

func tableOf(t testing.TB, o route.Options) *route.Table {
	t.Helper()
	table, err := route.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// valid has an independent reader judge a document.
func valid(t testing.TB, d openapi.Document) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(d.Marshal())
	if err == nil {
		err = doc.Validate(t.Context(), openapi3.EnableExamplesValidation())
	}
	if err != nil {
		t.Fatalf("not valid OpenAPI: %v", err)
	}
	if !doc.IsOpenAPI31OrLater() {
		t.Fatalf("it is OpenAPI %s", doc.OpenAPI)
	}
	return doc
}

// awkward are methods that nobody but an operator knows: of one shape with
// other names, with the host's own name, with names alike, with every host.
const awkward = "GET\t/x/v1/{a}\tx-v1\t*\tkey\nPUT\t/x/v1/{b}\tx-v1\teuw1\tkey\nDELETE\t/x/v1/{b}\tx-v1\tzz9\tkey\n" +
	"GET\t/x/v1/y/{host}\tx-v1\teuw1\tkey\nGET\t/x/v1/a-b/c\tx-v1\teuw1\tRSO\nGET\t/x/v1/a.b/c\tx-v1\teuw1\tkey\nGET\t/x/v1/a~b/c\tx-v1\teuw1\tkey\n"

func TestDocumentIsValid(t *testing.T) {
	for name, o := range map[string]route.Options{
		"built-in": {}, "a methods file": {Methods: strings.NewReader(awkward)}, "one host": {Hosts: "kr"},
		"unknown hosts": {Methods: strings.NewReader(awkward), Hosts: "euw1", ForwardUnknownHosts: true, ForwardUnknownPaths: true},
	} {
		t.Run(name, func(t *testing.T) {
			table := tableOf(t, o)
			d := explorer.Relay(explorer.RelayOptions{Table: table, Budgets: []string{"crawler"}})
			valid(t, d)
			ids, operations := map[string]bool{}, 0
			for _, path := range d.Paths {
				for _, op := range path {
					operations++
					if ids[op.OperationID] {
						t.Errorf("two operations are %s", op.OperationID)
					}
					ids[op.OperationID] = true
				}
			}
			if operations != len(table.Methods()) {
				t.Errorf("%d operations for %d methods", operations, len(table.Methods()))
			}
		})
	}
}

// Each method of the table is there with its verb, the hosts that serve it, a
// parameter for each part of its path, and the headers that say how to serve it.
func TestEveryMethodIsThere(t *testing.T) {
	table := route.Default()
	doc := valid(t, explorer.Relay(explorer.RelayOptions{Table: table, Budgets: []string{"crawler", "web"}}))
	byShape := map[string]*openapi3.PathItem{}
	for path, item := range doc.Paths.Map() {
		byShape[braces.ReplaceAllString(path, "{}")] = item
	}
	for _, m := range table.Methods() {
		item := byShape["/{}"+braces.ReplaceAllString(m.Template, "{}")]
		if item == nil || item.GetOperation(m.Verb) == nil {
			t.Errorf("%s is not there", m)
			continue
		}
		op := item.GetOperation(m.Verb)
		hosts := m.Hosts
		if hosts == nil {
			hosts = table.Hosts()
		}
		var offered []string
		for _, h := range op.Parameters.GetByInAndName("path", "host").Schema.Value.Enum {
			offered = append(offered, h.(string))
		}
		if !slices.Equal(offered, hosts) {
			t.Errorf("%s: hosts %q, want %q", m, offered, hosts)
		}
		inPath := 0
		for _, p := range op.Parameters {
			if p.Value.In == "path" {
				inPath++
			}
		}
		if want := 1 + strings.Count(m.Template, "{"); inPath != want {
			t.Errorf("%s: %d parameters in the path, want %d", m, inPath, want)
		}
		for _, name := range []string{"X-Priority", "X-Max-Wait", "X-Riot-Token-Index", "X-Rate-Budget"} {
			if p := op.Parameters.GetByInAndName("header", name); p == nil || p.Required {
				t.Errorf("%s: %s is %+v", m, name, p)
			}
		}
		if budgets := op.Parameters.GetByInAndName("header", "X-Rate-Budget"); budgets != nil && len(budgets.Schema.Value.Enum) != 2 {
			t.Errorf("%s: budgets %v", m, budgets.Schema.Value.Enum)
		}
	}
}

var braces = regexp.MustCompile(`\{[^}]*\}`)

// Every method can be tried as it stands on the page at first: the relay takes
// it, and the answer is of the documented kind.
func TestExamplesWork(t *testing.T) {
	table := route.Default()
	d := explorer.Relay(explorer.RelayOptions{Table: table})
	doc := valid(t, d)
	edge, err := riotsim.New(riotsim.Config{Keys: map[string]string{"key": riotsim.NoLimit}, MatchBytes: 500, TimelineBytes: 500})
	if err != nil {
		t.Fatal(err)
	}
	for path, verbs := range d.Paths {
		for verb, op := range verbs {
			target, query := path, url.Values{}
			for _, p := range op.Parameters {
				if name, is := strings.CutPrefix(p.Ref, "#/components/parameters/"); is {
					p = d.Components.Parameters[name]
				}
				if !p.Required {
					if p.Example != nil {
						t.Errorf("%s: %s is filled in, and would be sent unasked", op.OperationID, p.Name)
					}
					continue
				}
				if enum := p.Schema.Enum; enum != nil && !slices.Contains(enum, fmt.Sprint(p.Example)) {
					t.Errorf("%s: %s=%v is none of %q", op.OperationID, p.Name, p.Example, enum)
				}
				if p.In == "query" {
					query.Set(p.Name, fmt.Sprint(p.Example))
				} else {
					target = strings.ReplaceAll(target, "{"+p.Name+"}", url.PathEscape(fmt.Sprint(p.Example)))
				}
			}
			body := ""
			if op.RequestBody != nil {
				text, err := json.Marshal(op.RequestBody.Content["application/json"].Example)
				if err != nil {
					t.Fatal(err)
				}
				body = string(text)
			}
			if len(query) > 0 {
				target += "?" + query.Encode()
			}
			r := httptest.NewRequest(strings.ToUpper(verb), target, strings.NewReader(body))
			if body != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			r.Header.Set("X-Riot-Token", "key")
			if op.Security != nil {
				r.Header.Set("Authorization", "Bearer player")
			}
			host, rest, err := table.Split(r.URL.EscapedPath())
			if err != nil {
				t.Errorf("%s: %v", op.OperationID, err)
				continue
			}
			if _, err := table.Match(r.Method, host, rest); err != nil {
				t.Errorf("%s: %v", op.OperationID, err)
			}

			sent := httptest.NewRequest(r.Method, "https://"+host+".api.riotgames.com"+strings.TrimPrefix(target, "/"+host), strings.NewReader(body))
			sent.Header = r.Header
			w := httptest.NewRecorder()
			edge.ServeHTTP(w, sent)
			if w.Code != http.StatusOK {
				t.Errorf("%s: %d %s", target, w.Code, w.Body)
				continue
			}
			if w.Body.String() == "{}" {
				continue // the simulated edge knows no better
			}
			var answer any
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatal(err)
			}
			described := doc.Paths.Value(path).GetOperation(r.Method).Responses.Value("200").Value.Content["application/json"].Schema.Value
			if err := described.VisitJSON(answer, openapi3.EnableJSONSchema2020()); err != nil {
				t.Errorf("%s: %v", target, err)
			}
		}
	}
}

// Where clients need a token there is a field for it, every call needs it, and
// RSO calls need both.
func TestClientsToken(t *testing.T) {
	without := explorer.Relay(explorer.RelayOptions{Table: route.Default()})
	if text := string(without.Marshal()); strings.Contains(text, "X-Relay-Token") || without.Security != nil {
		t.Error("a token is asked for, and nobody needs one")
	}
	d := explorer.Relay(explorer.RelayOptions{Table: route.Default(), Tokens: true})
	doc := valid(t, d)
	var field string
	for name, s := range doc.Components.SecuritySchemes {
		if s.Value.Type == "apiKey" && s.Value.In == "header" && s.Value.Name == "X-Relay-Token" {
			field = name
		}
	}
	if field == "" {
		t.Fatalf("no field for the token: %v", doc.Components.SecuritySchemes)
	}
	for path, item := range doc.Paths.Map() {
		for verb, op := range item.Operations() {
			needs := doc.Security
			if op.Security != nil {
				needs = *op.Security
			}
			rso := op.Summary == "with the player's own token"
			if len(needs) != 1 || needs[0][field] == nil || (needs[0]["RSO"] != nil) != rso {
				t.Errorf("%s %s needs %v", verb, path, needs)
			}
		}
	}
}

func TestParametersOfNoMethodAreNotKept(t *testing.T) {
	d := explorer.Relay(explorer.RelayOptions{Table: route.Default()})
	text := string(d.Marshal())
	for _, want := range []string{"startTime", "RANKED_SOLO_5x5", "platformType", "X-Max-Wait", "X-Priority", "X-Riot-Token-Index"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, "X-Rate-Budget") {
		t.Error("X-Rate-Budget, without a budget")
	}
	for _, tag := range d.Tags {
		if tag.Name == "spectator-tft-v5" && tag.Description != "Teamfight Tactics" {
			t.Errorf("%s is of %s", tag.Name, tag.Description)
		}
		if tag.Description == "other" {
			t.Errorf("%s is of no game", tag.Name)
		}
	}
}
