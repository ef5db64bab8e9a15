package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"riftrelay/internal/openapi"
)

// whole is a document that uses all there is of the format.
func whole() openapi.Document {
	id := openapi.Parameter{Name: "id", In: "path", Required: true, Description: "Whose.", Schema: openapi.Of("string"), Example: "a b"}
	least := 1
	most := 100
	count := &openapi.Schema{Type: openapi.Kinds{"integer", "null"}, Minimum: &least, Maximum: &most, Examples: []any{20}}
	return openapi.Document{
		Info:     openapi.Info{Title: "T", Version: "v1", Description: "D"},
		Servers:  []openapi.Server{{URL: "/", Description: "here"}},
		Tags:     []openapi.Tag{{Name: "things", Description: "all", ExternalDocs: &openapi.Link{URL: "https://riot.example/#things"}}},
		Security: []map[string][]string{{"token": {}}},
		Paths: map[string]openapi.Path{
			"/things/{id}": {
				"get": {
					Tags: []string{"things"}, Summary: "one", Description: "one thing", OperationID: "thing",
					Parameters: []openapi.Parameter{id, {Name: "count", In: "query", Schema: count}, {Ref: "#/components/parameters/wait"}},
					Responses: map[string]openapi.Response{
						"200": {
							Description: "The thing.", Content: openapi.JSON(&openapi.Schema{Ref: "#/components/schemas/Thing"}, map[string]any{"name": "x", "state": "on"}),
							Headers: map[string]openapi.Header{"X-Limit": {Ref: "#/components/headers/limit"}},
						},
						"default": {Ref: "#/components/responses/failure"},
					},
				},
				"put": {
					OperationID: "change", Parameters: []openapi.Parameter{id}, Security: []map[string][]string{{"player": {}}, {}},
					RequestBody: &openapi.Body{Required: true, Content: openapi.JSON(openapi.Of("object"), map[string]any{"name": "y"})},
					Responses:   map[string]openapi.Response{"204": {Description: "Done."}},
				},
			},
		},
		Components: openapi.Components{
			Schemas: map[string]*openapi.Schema{"Thing": {
				Type: openapi.Kinds{"object"}, Required: []string{"name"}, Description: "A thing.",
				Properties: map[string]*openapi.Schema{
					"name": {Type: openapi.Kinds{"string"}, Pattern: "^[a-z]$"}, "state": openapi.Words("on", "off"), "parts": openapi.Array(openapi.Of("integer")),
					"whole": {AnyOf: []*openapi.Schema{{Ref: "#/components/schemas/Thing"}, openapi.Of("null")}}, "since": {Type: openapi.Kinds{"string"}, Format: "date-time"},
				},
			}},
			Parameters:      map[string]openapi.Parameter{"wait": {Name: "X-Max-Wait", In: "header", Schema: openapi.Of("string")}},
			Headers:         map[string]openapi.Header{"limit": {Description: "L", Required: true, Schema: openapi.Of("string")}},
			Responses:       map[string]openapi.Response{"failure": {Description: "No.", Content: openapi.JSON(openapi.Of("object"), nil)}},
			SecuritySchemes: map[string]openapi.Security{"token": {Type: "apiKey", In: "header", Name: "X-Token"}, "player": {Type: "http", Scheme: "bearer", Description: "P"}},
		},
	}
}

// read has an independent reader judge a document.
func read(t *testing.T, d openapi.Document) (*openapi3.T, error) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(d.Marshal())
	if err != nil {
		return nil, err
	}
	err = doc.Validate(t.Context(), openapi3.EnableExamplesValidation())
	return doc, err
}

// All that can be said arrives with a reader that isn't ours.
func TestDocumentIsReadByOthers(t *testing.T) {
	doc, err := read(t, whole())
	if err != nil {
		t.Fatal(err)
	}
	if !doc.IsOpenAPI31OrLater() || doc.OpenAPI != openapi.Version {
		t.Errorf("it is OpenAPI %s", doc.OpenAPI)
	}
	item := doc.Paths.Value("/things/{id}")
	get := item.Get
	if p := get.Parameters.GetByInAndName("path", "id"); p == nil || !p.Required || p.Example != "a b" || p.Description != "Whose." {
		t.Errorf("id: %+v", p)
	}
	if p := get.Parameters.GetByInAndName("header", "X-Max-Wait"); p == nil || p.Required {
		t.Errorf("a parameter by reference: %+v", p)
	}
	count := get.Parameters.GetByInAndName("query", "count").Schema.Value
	if !count.Type.Includes("integer") || !count.Type.Includes("null") || *count.Min != 1 || *count.Max != 100 || len(count.Examples) != 1 {
		t.Errorf("count: %+v", count)
	}
	ok := get.Responses.Value("200").Value
	if h := ok.Headers["X-Limit"]; h == nil || h.Value.Description != "L" || !h.Value.Required {
		t.Errorf("header: %+v", h)
	}
	if f := get.Responses.Default(); f == nil || *f.Value.Description != "No." {
		t.Errorf("an answer by reference: %+v", f)
	}
	if get.Security != nil || len(*item.Put.Security) != 2 || len(doc.Security) != 1 {
		t.Errorf("security: %v, %v, %v", get.Security, item.Put.Security, doc.Security)
	}
	if b := item.Put.RequestBody; b == nil || !b.Value.Required || b.Value.Content["application/json"].Example == nil {
		t.Errorf("body: %+v", b)
	}
	if tag := doc.Tags.Get("things"); tag == nil || tag.ExternalDocs.URL != "https://riot.example/#things" {
		t.Errorf("tag: %+v", tag)
	}
	thing := doc.Components.Schemas["Thing"].Value
	for text, fits := range map[string]bool{
		`{"name":"x"}`: true, `{"name":"x","state":"on","parts":[1],"whole":{"name":"y"}}`: true, `{"name":"x","whole":null}`: true,
		`{}`: false, `{"name":"xy"}`: false, `{"name":"x","state":"?"}`: false, `{"name":"x","parts":["1"]}`: false, `{"name":"x","whole":{}}`: false, `{"name":null}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := thing.VisitJSON(v, openapi3.EnableJSONSchema2020()); (err == nil) != fits {
			t.Errorf("%s: %v, want it to fit: %v", text, err, fits)
		}
	}
}

// The reader does judge: what is wrong in a document doesn't pass the tests
// that rely on it, here and where documents are made.
func TestWrongDocumentsDontPass(t *testing.T) {
	for name, spoil := range map[string]func(*openapi.Document){
		"a reference to nothing": func(d *openapi.Document) { delete(d.Components.Parameters, "wait") },
		"an example that isn't": func(d *openapi.Document) {
			d.Components.Schemas["Thing"].Properties["state"] = openapi.Words("up", "down")
		},
		"a parameter of the path that isn't there": func(d *openapi.Document) {
			d.Paths["/others/{id}"] = openapi.Path{"get": {OperationID: "o", Responses: map[string]openapi.Response{"200": {Description: "x"}}}}
		},
		"no answers": func(d *openapi.Document) {
			d.Paths["/others"] = openapi.Path{"get": {OperationID: "o"}}
		},
		"two of one name": func(d *openapi.Document) {
			d.Paths["/others"] = openapi.Path{"get": {OperationID: "thing", Responses: map[string]openapi.Response{"200": {Description: "x"}}}}
		},
		"no title": func(d *openapi.Document) { d.Info.Title = "" },
	} {
		d := whole()
		spoil(&d)
		if _, err := read(t, d); err == nil {
			t.Errorf("%s: it passes for valid", name)
		}
	}
}

// The same document has the same text each time, and says nothing of what isn't
// there.
func TestMarshal(t *testing.T) {
	first := string(whole().Marshal())
	for range 20 {
		if diff := cmp.Diff(first, string(whole().Marshal())); diff != "" {
			t.Fatal(diff)
		}
	}
	d := openapi.Document{Info: openapi.Info{Title: "T", Version: "v"}, Paths: map[string]openapi.Path{"/": {"get": {OperationID: "o", Responses: map[string]openapi.Response{"200": {Description: "x"}}}}}}
	const want = `{"openapi":"3.1.0","info":{"title":"T","version":"v"},"paths":{"/":{"get":{"operationId":"o","responses":{"200":{"description":"x"}}}}},"components":{}}`
	if diff := cmp.Diff(want, string(d.Marshal())); diff != "" {
		t.Error(diff)
	}
	if d.OpenAPI != "" {
		t.Error("the document itself is changed")
	}
	if text, err := json.Marshal(openapi.Kinds{"string", "null"}); err != nil || string(text) != `["string","null"]` {
		t.Errorf("kinds: %s %v", text, err)
	}
	d.Info.Description = string([]byte{0xff})
	if text := string(d.Marshal()); !strings.Contains(text, "\ufffd") && !strings.Contains(text, `\ufffd`) {
		t.Errorf("bytes that are no text: %s", text)
	}
	d.Paths["/"]["get"].Responses["200"] = openapi.Response{Description: "x", Content: openapi.JSON(nil, func() {})}
	defer func() {
		if p := recover(); p == nil || !strings.HasPrefix(p.(string), "BUG: openapi: ") {
			t.Errorf("an example that is no JSON: %v", p)
		}
	}()
	d.Marshal()
}
