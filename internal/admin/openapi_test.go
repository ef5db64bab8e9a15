package admin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"riftrelay"
	"riftrelay/internal/admin"
	"riftrelay/internal/openapi"
	"riftrelay/route"
)

// operable is a limiter that can be changed.
type operable struct{ fixed }

func (operable) DisableKey(string) error { return nil }
func (operable) EnableKey(string) error  { return nil }
func (operable) RecheckKey(string) error { return nil }

// valid has an independent reader judge a document.
func valid(t *testing.T, d openapi.Document) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(d.Marshal())
	if err == nil {
		err = doc.Validate(t.Context(), openapi3.EnableExamplesValidation())
	}
	if err != nil {
		t.Fatalf("not valid OpenAPI: %v", err)
	}
	return doc
}

// What is described is what is answered, with all of its fields, and nothing is
// served that isn't described.
func TestDescription(t *testing.T) {
	d := admin.Describe("v1")
	doc := valid(t, d)
	h := admin.Handler(admin.Options{
		Clients: clients, Connections: connections, Limiter: operable{fixed: fixed{wait: 1500 * time.Millisecond}}, Matcher: route.Default(), Guard: admin.Guard{Loopback: func() bool { return true }},
		Reload: func() (admin.Reloaded, error) {
			return admin.Changes([]riftrelay.Key{{Name: "a", Value: "x"}, {Name: "b"}}, []riftrelay.Key{{Name: "a", Value: "y"}, {Name: "c"}}), nil
		},
		Description: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write(d.Marshal())
		}),
	})
	requests := map[string]string{}
	for path, verbs := range d.Paths {
		for verb := range verbs {
			requests[path] = strings.ToUpper(verb) + " http://localhost" + strings.ReplaceAll(path, "{name}", "main")
		}
	}
	requests[admin.Root+"estimate"] += "?host=euw1&path=/lol/status/v4/platform-data&priority=high"
	for path, request := range requests {
		verb, target, _ := strings.Cut(request, " ")
		r := httptest.NewRequest(verb, target, http.NoBody)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", request, w.Code, w.Body)
			continue
		}
		var answer any
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		described := doc.Paths.Value(path).GetOperation(verb).Responses.Value("200").Value.Content["application/json"].Schema.Value
		if err := described.VisitJSON(answer, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: %v", request, err)
		}
	}
	for _, p := range admin.Paths {
		stem, rest, _ := strings.Cut(p, "{name}/")
		for _, action := range strings.Split(strings.Trim(rest, "{}"), ",") {
			path := p
			if rest != "" {
				path = stem + "{name}/" + action
			}
			if d.Paths[path] == nil {
				t.Errorf("%s is served, and not described", path)
			}
		}
	}

	// Not only does the answer fit: no field of it is unknown to the schema.
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+admin.Root+"state", http.NoBody))
	var answer any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	covers(t, d.Components, "State", d.Components.Schemas["State"], answer)
	for field := range reflect.TypeFor[admin.State]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); d.Components.Schemas["State"].Properties[name] == nil {
			t.Errorf("State.%s is not described", field.Name)
		}
	}
}

// covers looks for fields of a value that its schema doesn't have.
func covers(t *testing.T, c openapi.Components, at string, s *openapi.Schema, v any) {
	t.Helper()
	if len(s.AnyOf) > 0 {
		s = s.AnyOf[0]
	}
	if name, is := strings.CutPrefix(s.Ref, "#/components/schemas/"); is {
		s = c.Schemas[name]
	}
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			if s.Properties[name] == nil {
				t.Errorf("%s.%s is not described", at, name)
				continue
			}
			covers(t, c, at+"."+name, s.Properties[name], field)
		}
		for _, name := range s.Required {
			if _, there := v[name]; !there {
				t.Errorf("%s.%s is described as always there", at, name)
			}
		}
	case []any:
		for _, item := range v {
			covers(t, c, at, s.Items, item)
		}
	case nil:
	case string:
		if !slices.Contains(s.Type, "string") {
			t.Errorf("%s is text; described: %v", at, s.Type)
		}
	}
}
