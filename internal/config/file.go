package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// configFile reads the YAML file name: settings by their names, in lower or upper case, with a scalar or a list of scalars
// each. Values are taken as written, so that 20:1 is no number in base 60 and 0.10 keeps its zero. A key that isn't a
// setting is an error; if not strict, a warning.
func configFile(env Env, name string, known []setting, strict bool, r *report) map[string]string {
	const label = "CONFIG_FILE"
	bad := func(format string, args ...any) {
		r.bad(label, fmt.Sprintf("%s is %q: ", label, name)+fmt.Sprintf(format, args...))
	}
	data, err := env.ReadFile(name)
	if err != nil {
		bad("%v; allowed: a readable YAML file", err)
		return nil
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		bad("%s; allowed: YAML, as in queue_total: 5000", yamlProblem(err))
		return nil
	}
	values := map[string]string{}
	for _, pair := range pairs(file, bad) {
		key, line := pair.Key.GetToken().Value, pair.Key.GetToken().Position.Line
		upper := strings.ToUpper(key)
		_, seen := values[upper]
		text, ok := scalars(pair.Value)
		switch {
		case upper == label:
			bad("line %d: config_file can't be set in the file itself", line)
		case !declared(upper, known) && !inFamily(upper, known):
			message := fmt.Sprintf("line %d: %s is not a setting", line, key)
			if near, ok := nearest(key, known); ok {
				message += fmt.Sprintf("; is %s meant?", strings.ToLower(near))
			}
			if strict {
				bad("%s", message)
			} else {
				r.warn(name + ": " + message)
			}
		case seen:
			bad("line %d: %s is set twice; allowed: each setting once", line, key)
		case !ok:
			bad("line %d: %s is neither one value nor a list of values", line, key)
		default:
			values[upper] = text
		}
	}
	return values
}

// pairs returns the entries of the file's one mapping.
func pairs(file *ast.File, bad func(string, ...any)) []*ast.MappingValueNode {
	var found []*ast.MappingValueNode
	for i, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil, *ast.NullNode, *ast.CommentGroupNode:
		case *ast.MappingNode:
			found = append(found, body.Values...)
		case *ast.MappingValueNode:
			found = append(found, body)
		default:
			bad("has no settings; allowed: YAML, as in queue_total: 5000")
		}
		if i > 0 {
			bad("has several documents; allowed: one")
			return nil
		}
	}
	return found
}

// scalars returns the text of a scalar as it is written, or of a list of them with commas between.
func scalars(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.NullNode:
		return "", true
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.SequenceNode:
		items := make([]string, len(n.Values))
		for i, item := range n.Values {
			text, ok := scalars(item)
			if _, nested := item.(*ast.SequenceNode); !ok || nested {
				return "", false
			}
			items[i] = text
		}
		return strings.Join(items, ","), true
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		return node.GetToken().Value, true
	}
	return "", false
}

// yamlProblem is a parser's error without the excerpt of the file that it comes with: that could be a key.
func yamlProblem(err error) string {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		return "is not YAML"
	}
	return fmt.Sprintf("line %d is not YAML", e.GetToken().Position.Line)
}

func declared(name string, known []setting) bool {
	for _, s := range known {
		if slices.Contains(s.names(), name) {
			return true
		}
	}
	return false
}
