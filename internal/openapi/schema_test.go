package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"riftrelay/internal/openapi"
)

type leaf struct {
	On bool `json:"on"`
}

// tree has every kind of field that is allowed.
type tree struct {
	Name   string    `json:"name"`
	Count  int       `json:"count"`
	Big    uint64    `json:"big"`
	Share  float64   `json:"share"`
	At     time.Time `json:"at"`
	Leaf   leaf      `json:"leaf"`
	Leaves []leaf    `json:"leaves"`
	Pair   [2]int    `json:"pair"`
	Maybe  *float64  `json:"maybe"`
	Parent *tree     `json:"parent"`
	Extra  string    `json:"extra,omitempty"`
	Bare   string
	Secret string `json:"-"`
	hidden int
}

// What encoding/json makes of a value fits the schema of its type, and the
// schema knows all of its fields.
func TestSchemaIsThatOfJSON(t *testing.T) {
	d := openapi.Document{Info: openapi.Info{Title: "T", Version: "v"}}
	s := openapi.SchemaFor[tree](&d.Components)
	if s.Ref != "#/components/schemas/tree" || len(d.Components.Schemas) != 2 {
		t.Errorf("%+v, %d schemas", s, len(d.Components.Schemas))
	}
	d.Paths = map[string]openapi.Path{"/": {"get": {OperationID: "o", Responses: map[string]openapi.Response{"200": {Description: "x", Content: openapi.JSON(s, nil)}}}}}
	doc, err := read(t, d)
	if err != nil {
		t.Fatal(err)
	}
	schema := doc.Components.Schemas["tree"].Value
	half := 0.5
	for _, v := range []tree{
		{Leaves: []leaf{}, At: time.Unix(0, 0).UTC()},
		{Name: "x", Count: -1, Big: 1 << 40, Share: 0.25, At: time.Now(), Leaf: leaf{On: true}, Leaves: []leaf{{}, {On: true}}, Maybe: &half, Parent: &tree{Leaves: []leaf{}}, Extra: "e", Secret: "s", hidden: 1},
	} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		if err := schema.VisitJSON(plain, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for name := range plain.(map[string]any) {
			if schema.Properties[name] == nil {
				t.Errorf("%s is not in the schema", name)
			}
		}
	}
	if schema.Properties["Secret"] != nil || schema.Properties["hidden"] != nil || schema.Properties["-"] != nil {
		t.Errorf("what JSON leaves out is in the schema: %v", schema.Properties)
	}
	want := []string{"name", "count", "big", "share", "at", "leaf", "leaves", "pair", "maybe", "parent", "Bare"}
	if diff := cmp.Diff(want, schema.Required); diff != "" {
		t.Errorf("required: %s", diff)
	}
	for text, what := range map[string]string{
		`{"leaf":null}`: "null where no pointer is", `{"count":1.5}`: "a part of a whole number", `{"at":1}`: "a number for a time", `{"maybe":"1"}`: "text for a number", `{"leaves":[{"on":1}]}`: "a number for a yes",
	} {
		v := map[string]any{}
		base, err := json.Marshal(tree{Leaves: []leaf{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(base, &v); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if schema.VisitJSON(v, openapi3.EnableJSONSchema2020()) == nil {
			t.Errorf("%s fits: %s", what, text)
		}
	}
}

// A type that there is no schema for is our own mistake.
func TestNoSchemaForMaps(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.HasPrefix(p.(string), "BUG: openapi: no schema for map") {
			t.Errorf("%v", p)
		}
	}()
	openapi.SchemaFor[struct{ M map[string]int }](&openapi.Components{})
}
