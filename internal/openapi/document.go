// Package openapi writes OpenAPI 3.1 documents: as much of the format as the
// relay's own two descriptions need. It knows nothing of what is described.
//
// A document marshals to the same bytes each time. That it is valid is for
// those to test who make one.
package openapi

import "encoding/json"

// Version is the version of OpenAPI that documents follow.
const Version = "3.1.0"

// Document is a description of an API.
type Document struct {
	OpenAPI    string          `json:"openapi"`
	Info       Info            `json:"info"`
	Servers    []Server        `json:"servers,omitempty"`
	Tags       []Tag           `json:"tags,omitempty"`
	Paths      map[string]Path `json:"paths"`
	Components Components      `json:"components"`

	Security []map[string][]string `json:"security,omitempty"` // of operations that don't say
}

// Info says what is described.
type Info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
}

// Server is where the paths are: relative to the document itself.
type Server struct {
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
}

// Tag is a heading that operations stand under.
type Tag struct {
	Name         string `json:"name"`
	Description  string `json:"description,omitempty"`
	ExternalDocs *Link  `json:"externalDocs,omitempty"`
}

// Link leads to what others have written.
type Link struct {
	URL string `json:"url"`
}

// Path has the operations of a path, by the verb in lower case.
type Path map[string]Operation

// Operation is one thing that can be asked for.
type Operation struct {
	Tags        []string              `json:"tags,omitempty"`
	Summary     string                `json:"summary,omitempty"`
	Description string                `json:"description,omitempty"`
	OperationID string                `json:"operationId"`
	Parameters  []Parameter           `json:"parameters,omitempty"`
	RequestBody *Body                 `json:"requestBody,omitempty"`
	Responses   map[string]Response   `json:"responses"`
	Security    []map[string][]string `json:"security,omitempty"`
}

// Parameter is a part of a path, of a query, or a header; or it is Ref alone,
// the place of one in Components.
type Parameter struct {
	Ref         string  `json:"$ref,omitempty"`
	Name        string  `json:"name,omitempty"`
	In          string  `json:"in,omitempty"` // path, query or header
	Required    bool    `json:"required,omitempty"`
	Description string  `json:"description,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
	Example     any     `json:"example,omitempty"`
}

// Body is what a request carries.
type Body struct {
	Required bool             `json:"required,omitempty"`
	Content  map[string]Media `json:"content"`
}

// Media is a body of one kind.
type Media struct {
	Schema  *Schema `json:"schema,omitempty"`
	Example any     `json:"example,omitempty"`
}

// Response is an answer; or it is Ref alone.
type Response struct {
	Ref         string            `json:"$ref,omitempty"`
	Description string            `json:"description,omitempty"`
	Headers     map[string]Header `json:"headers,omitempty"`
	Content     map[string]Media  `json:"content,omitempty"`
}

// Header is a header of an answer; or it is Ref alone.
type Header struct {
	Ref         string  `json:"$ref,omitempty"`
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
}

// Components are what the rest refers to.
type Components struct {
	Schemas         map[string]*Schema   `json:"schemas,omitempty"`
	Parameters      map[string]Parameter `json:"parameters,omitempty"`
	Headers         map[string]Header    `json:"headers,omitempty"`
	Responses       map[string]Response  `json:"responses,omitempty"`
	SecuritySchemes map[string]Security  `json:"securitySchemes,omitempty"`
}

// Security is a way to prove who one is.
type Security struct {
	Type        string `json:"type"` // apiKey or http
	Name        string `json:"name,omitempty"`
	In          string `json:"in,omitempty"`
	Scheme      string `json:"scheme,omitempty"`
	Description string `json:"description,omitempty"`
}

// JSON is content of the one kind that is in use here.
func JSON(s *Schema, example any) map[string]Media {
	return map[string]Media{"application/json": {Schema: s, Example: example}}
}

// Marshal returns the document's text.
func (d Document) Marshal() []byte {
	d.OpenAPI = Version
	text, err := json.Marshal(d)
	if err != nil {
		panic("BUG: openapi: " + err.Error())
	}
	return text
}
