package admin

import (
	"cmp"

	"riftrelay/internal/openapi"
)

// bearer names the security scheme of ADMIN_TOKEN.
const bearer = "ADMIN_TOKEN"

var asking = []string{"asking"}

// Describe returns the OpenAPI description of what Handler serves. Its schemas
// are made of the types that are answered with, so they can't differ.
func Describe(version string) openapi.Document {
	d := openapi.Document{
		Info: openapi.Info{
			Title: "RiftRelay admin API", Version: cmp.Or(version, "dev"),
			Description: "What the relay is doing and why, and what operators do about it. Lengths of time are numbers of seconds; null is a time that nobody can tell.",
		},
		Servers: []openapi.Server{{URL: "/", Description: "this relay"}},
		Tags:    []openapi.Tag{{Name: asking[0], Description: "needs no token"}, {Name: "changing", Description: "needs ADMIN_TOKEN where one is set"}},
		Paths:   map[string]openapi.Path{},
		Components: openapi.Components{SecuritySchemes: map[string]openapi.Security{bearer: {
			Type: "http", Scheme: "bearer", Description: "The value of ADMIN_TOKEN, for calls that change something. Without one they are served on a loopback ADMIN_ADDR only.",
		}}},
	}
	c := &d.Components
	failure := openapi.Response{Description: "It can't be answered or done: the error says why and what is allowed.", Content: openapi.JSON(openapi.SchemaFor[problem](c), nil)}

	d.Paths[Root+"state"] = openapi.Path{"get": {
		Tags: asking, OperationID: "state", Summary: "limits, what is used of them, what waits and for what",
		Responses: map[string]openapi.Response{"200": answers[State](c, "The state at this moment."), "default": failure},
	}}
	d.Paths[Root+"estimate"] = openapi.Path{"get": {
		Tags: asking, OperationID: "estimate", Summary: "what calls would wait now",
		Parameters: []openapi.Parameter{
			{Name: "host", In: "query", Required: true, Schema: openapi.Of("string"), Example: "euw1", Description: "The host at Riot."},
			{Name: "path", In: "query", Required: true, Schema: openapi.Of("string"), Example: "/lol/status/v4/platform-data", Description: "The call's path, without the host. With several keys a player's id in it counts: the key that gave it is waited for."},
			{Name: "verb", In: "query", Schema: openapi.Words("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"), Description: "GET if empty."},
			{Name: "priority", In: "query", Schema: openapi.Words("normal", "high"), Description: "normal if empty."},
			{Name: "calls", In: "query", Schema: openapi.Of("integer"), Example: 12, Description: "How many calls come now; the answer is the wait of the last one. 1 if empty."},
		},
		Responses: map[string]openapi.Response{"200": answers[Estimate](c, "The wait, or why the call would be refused."), "400": failure, "default": failure},
	}}
	changes := func(id, summary string, answer openapi.Response, parameters ...openapi.Parameter) openapi.Path {
		return openapi.Path{"post": {
			Tags: []string{"changing"}, OperationID: id, Summary: summary, Parameters: parameters, Security: []map[string][]string{{bearer: {}}, {}},
			Responses: map[string]openapi.Response{"200": answer, "401": failure, "403": failure, "default": failure},
		}}
	}
	d.Paths[Root+"reload"] = changes("reload", "read the keys again", answers[Reloaded](c, "What changed, by the keys' names."))
	name := openapi.Parameter{Name: "name", In: "path", Required: true, Schema: openapi.Of("string"), Example: "key0", Description: "The key's name, as in the state."}
	for action, summary := range map[string]string{
		"disable": "no calls on a key until it is enabled", "enable": "take a disabled key back", "recheck": "try a suspect key with the next call",
	} {
		d.Paths[Root+"keys/{name}/"+action] = changes(action, summary, answers[Key](c, "How the key is then."), name)
	}
	d.Paths[Root+"openapi.json"] = openapi.Path{"get": {
		Tags: asking, OperationID: "openapi", Summary: "this description",
		Responses: map[string]openapi.Response{"200": {Description: "OpenAPI " + openapi.Version + ".", Content: openapi.JSON(openapi.Of("object"), nil)}},
	}}
	return d
}

// answers is a good answer.
func answers[T any](c *openapi.Components, text string) openapi.Response {
	return openapi.Response{Description: text, Content: openapi.JSON(openapi.SchemaFor[T](c), nil)}
}
