package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// composeService is what --from-env reads of a service in a compose file.
type composeService struct {
	Image       string `yaml:"image"`
	EnvFile     any    `yaml:"env_file"`
	Environment any    `yaml:"environment"`
}

// variables reads the files that the service names, and then what it sets itself.
func (s composeService) variables(dir string, env Env) (map[string]string, error) {
	values := map[string]string{}
	beside := s.beside(dir, env)
	for _, entry := range listOf(s.EnvFile) {
		name, required := fmt.Sprint(entry), true
		if m, ok := entry.(map[string]any); ok {
			name, required = fmt.Sprint(m["path"]), m["required"] != false
		}
		more, err := envFile(filepath.Join(dir, name), env)
		if err != nil && (required || !errors.Is(err, fs.ErrNotExist)) {
			return nil, fmt.Errorf("env_file %q: %w", name, err)
		}
		maps.Copy(values, more)
	}
	if m, ok := s.Environment.(map[string]any); ok {
		for name, value := range m {
			if value == nil {
				value = beside[name]
			}
			values[name] = interpolate(fmt.Sprint(value), beside)
		}
		return values, nil
	}
	for _, entry := range listOf(s.Environment) {
		name, value, ok := strings.Cut(fmt.Sprint(entry), "=")
		if !ok {
			value = beside[name]
		}
		values[name] = interpolate(value, beside)
	}
	return values, nil
}

// beside returns what compose fills in for ${NAME}: the .env file beside the compose file, and before it the environment.
func (s composeService) beside(dir string, env Env) map[string]string {
	values, err := envFile(filepath.Join(dir, ".env"), env)
	if err != nil {
		values = map[string]string{}
	}
	for _, m := range reference.FindAllStringSubmatch(fmt.Sprint(s.Environment), -1) {
		if v, ok := env.Lookup(m[1]); ok {
			values[m[1]] = v
		}
	}
	names := slices.Clone(listOf(s.Environment))
	if m, ok := s.Environment.(map[string]any); ok {
		for name, value := range m {
			if value == nil {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		if v, ok := env.Lookup(fmt.Sprint(name)); ok { // NAME without a value
			values[fmt.Sprint(name)] = v
		}
	}
	return values
}

func listOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

func envFile(name string, env Env) (map[string]string, error) {
	data, err := env.ReadFile(name)
	if err != nil {
		return nil, err
	}
	values, err := parseDotEnv(strings.TrimPrefix(string(data), "\ufeff"))
	if err != nil { // whose message quotes the file, keys and all
		return nil, fmt.Errorf("a mistake%s; allowed: NAME=value lines and # comments", wrongLine(string(data)))
	}
	return values, nil
}

var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^}]*))?\}`)

// interpolate replaces ${NAME} and ${NAME:-default}.
func interpolate(text string, values map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		m := reference.FindStringSubmatch(ref)
		if v := values[m[1]]; v != "" {
			return v
		}
		return m[2]
	})
}
