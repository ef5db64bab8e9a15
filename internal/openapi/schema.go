package openapi

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Schema says what a value may be. The zero value allows anything.
type Schema struct {
	Ref         string             `json:"$ref,omitempty"`
	Type        Kinds              `json:"type,omitempty"`
	Format      string             `json:"format,omitempty"`
	Description string             `json:"description,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Minimum     *int               `json:"minimum,omitempty"`
	Maximum     *int               `json:"maximum,omitempty"`
	Examples    []any              `json:"examples,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	AnyOf       []*Schema          `json:"anyOf,omitempty"`
}

// Kinds are JSON's types: "object", "null" …
type Kinds []string

// MarshalJSON writes one kind as a word, and several as a list.
func (k Kinds) MarshalJSON() ([]byte, error) {
	if len(k) == 1 {
		return fmt.Appendf(nil, "%q", k[0]), nil
	}
	return fmt.Appendf(nil, `["%s"]`, strings.Join(k, `","`)), nil
}

// Of is a schema of one kind.
func Of(kind string) *Schema { return &Schema{Type: Kinds{kind}} }

// Array is a list of items.
func Array(items *Schema) *Schema { return &Schema{Type: Kinds{"array"}, Items: items} }

// Words is one of some texts.
func Words(words ...string) *Schema { return &Schema{Type: Kinds{"string"}, Enum: words} }

const schemas = "#/components/schemas/"

// SchemaFor describes what encoding/json makes of a T. Structs go into
// c.Schemas under their names, so two of one name must not meet. A pointer is
// for what may be null. It panics on types that need more than that.
func SchemaFor[T any](c *Components) *Schema {
	return c.schemaOf(reflect.TypeFor[T]())
}

func (c *Components) schemaOf(t reflect.Type) *Schema {
	switch t.Kind() {
	case reflect.Bool:
		return Of("boolean")
	case reflect.String:
		return Of("string")
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return Of("integer")
	case reflect.Float64:
		return Of("number")
	case reflect.Slice, reflect.Array:
		return Array(c.schemaOf(t.Elem()))
	case reflect.Pointer:
		s := c.schemaOf(t.Elem())
		if s.Ref != "" {
			return &Schema{AnyOf: []*Schema{s, Of("null")}}
		}
		s.Type = append(s.Type, "null")
		return s
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return &Schema{Type: Kinds{"string"}, Format: "date-time"}
		}
		return c.structOf(t)
	}
	panic("BUG: openapi: no schema for " + t.String())
}

func (c *Components) structOf(t reflect.Type) *Schema {
	ref := &Schema{Ref: schemas + t.Name()}
	if c.Schemas == nil {
		c.Schemas = map[string]*Schema{}
	}
	if _, known := c.Schemas[t.Name()]; known {
		return ref
	}
	s := Of("object")
	s.Properties = map[string]*Schema{}
	c.Schemas[t.Name()] = s // before its fields, which may lead back here
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		s.Properties[name] = c.schemaOf(f.Type)
		if !strings.Contains(options, "omitempty") {
			s.Required = append(s.Required, name)
		}
	}
	return ref
}
