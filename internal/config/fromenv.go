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

	"github.com/goccy/go-yaml"
)

// fromEnv reads the .env or compose file of the relay's first version as this relay would, and reports what that changes.
// An error says that this relay doesn't start with it; the report is there all the same.
func fromEnv(file string, env Env) (text string, err error) {
	data, err := env.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--from-env is %q: %w; allowed: a readable .env or compose file", file, err)
	}
	values, compose, err := oldSettings(file, string(data), env)
	if err != nil {
		return "", fmt.Errorf("--from-env is %q: %w", file, err)
	}
	read := env.ReadFile
	in, err := Parse([]string{string(Validate)}, Env{
		Lookup: lookupIn(values), Names: func() []string { return slices.Sorted(maps.Keys(values)) },
		ReadFile: func(name string) ([]byte, error) {
			if name == ".env" {
				return nil, fs.ErrNotExist
			}
			return read(name)
		},
	})
	var b strings.Builder
	part := func(title string, lines []string) {
		fmt.Fprintf(&b, "%s\n", title)
		for _, line := range lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		if len(lines) == 0 {
			b.WriteString("  nothing\n")
		}
	}
	var stays, changes []string
	if err == nil {
		for _, e := range in.Settings.Effective() {
			if strings.HasPrefix(e.Source, "in the environment") {
				stays = append(stays, e.Name+" = "+e.Value)
			}
		}
		for _, w := range in.Warnings {
			changes = append(changes, strings.ReplaceAll(w, "(set in the environment)", "(set in "+file+")"))
		}
	}
	changed, todo := oldDefaults(values, compose, string(data))
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			todo = append(todo, "change: "+strings.ReplaceAll(line, "in the environment", "in "+file))
		}
		err = fmt.Errorf("the relay doesn't start with %s", file)
	}
	part("Stays", stays)
	part("Changes", append(changes, changed...))
	part("To do", todo)
	return b.String(), err
}

// oldDefaults lists what this relay does otherwise where the file says nothing, and what is to be done about it.
func oldDefaults(values map[string]string, compose bool, content string) (changes, todo []string) {
	set := func(name string) bool { return strings.TrimSpace(values[name]) != "" }
	if !set("LISTEN_ADDR") && !compose {
		changes = append(changes, "The relay listens on localhost only. The image and the compose files of this relay listen on all addresses.")
		todo = append(todo, "Outside a container, set LISTEN_ADDR=* if other machines call the relay.")
	}
	if !set("ENABLE_METRICS") {
		changes = append(changes, "The metrics are on ADMIN_ADDR, 127.0.0.1:8986, and not on the relay's port.")
		todo = append(todo, "Set ENABLE_METRICS=true to have /metrics on the relay's port.")
	}
	if values["ENABLE_PPROF"] == "true" {
		changes = append(changes, "The profiles are on ADMIN_ADDR, and not on the relay's port.")
	}
	if !set("UPSTREAM_TIMEOUT") || values["UPSTREAM_TIMEOUT"] == "0" {
		changes = append(changes, "A call for which Riot sends nothing for 90s ends with 504.")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name == "RIFTRELAY_IMAGE" || name == "COMPOSE_PROFILES" {
			changes = append(changes, name+" is for the compose file, which reads it as before. The relay doesn't.")
		}
	}
	if set("RIFTRELAY_IMAGE") {
		todo = append(todo, "Remove RIFTRELAY_IMAGE if it names the first version's image.")
	}
	if compose && strings.Contains(content, "wget") {
		todo = append(todo, `Replace the health check: test: ["CMD", "/riftrelay", "healthcheck"]. The image has no shell and no wget.`)
	}
	return changes, todo
}

// oldSettings reads the variables of a .env file, or those of the relay's service in a compose file.
func oldSettings(file, content string, env Env) (values map[string]string, compose bool, err error) {
	content = strings.TrimPrefix(content, "\ufeff")
	if ext := filepath.Ext(file); ext != ".yml" && ext != ".yaml" {
		if values, err = parseDotEnv(content); err != nil {
			return nil, false, fmt.Errorf("a mistake%s; allowed: NAME=value lines and # comments", wrongLine(content))
		}
		return values, false, nil
	}
	var doc struct {
		Services map[string]composeService `yaml:"services"`
	}
	if yaml.Unmarshal([]byte(content), &doc) != nil { // whose message may quote a key
		return nil, true, errors.New("not YAML; allowed: a .env or compose file")
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Services)) {
		if s := doc.Services[name]; len(doc.Services) == 1 || strings.Contains(name+" "+s.Image, "riftrelay") {
			values, err = s.variables(filepath.Dir(file), env)
			return values, true, err
		}
	}
	return nil, true, errors.New("no service riftrelay; allowed: a compose file with one")
}

type composeService struct {
	Image       string `yaml:"image"`
	EnvFile     any    `yaml:"env_file"`
	Environment any    `yaml:"environment"`
}

// variables reads the files that the service names, and then what it sets itself.
func (s composeService) variables(dir string, env Env) (map[string]string, error) {
	values := map[string]string{}
	beside, _ := envFile(filepath.Join(dir, ".env"), env) // compose fills in ${NAME} from it
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
