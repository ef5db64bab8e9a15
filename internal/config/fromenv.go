package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	in, err := parseOld(values, env)
	right := in
	if err != nil {
		right = rightOnes(values, err, env)
	}
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
	changes, todo := oldDefaults(values, compose, string(data))
	var adjusted []string
	if in != nil {
		for _, w := range in.Warnings {
			w = strings.ReplaceAll(w, "(set in the environment)", "(set in "+file+")")
			if strings.HasPrefix(w, "key ") { // names, places and forms of keys
				todo = append(todo, "check: "+w)
			} else {
				adjusted = append(adjusted, w)
			}
		}
	}
	stays := staying(right, adjusted)
	if values["COMPOSE_PROFILES"] != "" {
		stays = append(stays, "COMPOSE_PROFILES = "+values["COMPOSE_PROFILES"]+", which docker compose reads")
	}
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			todo = append(todo, "change: "+strings.ReplaceAll(line, "in the environment", "in "+file))
		}
		err = fmt.Errorf("the relay doesn't start with %s", file)
	}
	part("Stays", stays)
	part("Changes", append(adjusted, changes...))
	part("To do", todo)
	return b.String(), err
}

// parseOld reads the variables of the file as settings of this relay.
func parseOld(values map[string]string, env Env) (*Invocation, error) {
	return Parse([]string{string(Validate)}, Env{
		Lookup: lookupIn(values), Names: func() []string { return slices.Sorted(maps.Keys(values)) },
		ReadFile: func(name string) ([]byte, error) {
			if name == ".env" {
				return nil, fs.ErrNotExist
			}
			return env.ReadFile(name)
		},
	})
}

// rightOnes reads the variables without those that a line of err begins with. It returns nil if that isn't enough.
func rightOnes(values map[string]string, err error, env Env) *Invocation {
	rest := maps.Clone(values)
	for line := range strings.SplitSeq(err.Error(), "\n") {
		name, _, _ := strings.Cut(line, " ")
		delete(rest, name)
	}
	if rest["RIOT_TOKEN"] == "" {
		rest["RIOT_TOKEN"] = "RGAPI-" // is not shown
	}
	in, err := parseOld(rest, env)
	if err != nil {
		return nil
	}
	if values["RIOT_TOKEN"] != rest["RIOT_TOKEN"] {
		in.Settings.effective = slices.DeleteFunc(in.Settings.effective, func(e Effective) bool { return e.Name == "RIOT_TOKEN" })
	}
	return in
}

var unusedOverride = regexp.MustCompile(`there is no (?:method|host|method under) "/?([^"]+)"`)

// staying lists the settings that have the value of the file, without what a warning is about.
func staying(in *Invocation, warnings []string) []string {
	var stays []string
	if in == nil {
		return nil
	}
	unused := func(text string) bool {
		return slices.ContainsFunc(warnings, func(w string) bool {
			m := unusedOverride.FindStringSubmatch(w)
			return m != nil && slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == '=' || r == ' ' }), m[1])
		})
	}
	for _, e := range in.Settings.Effective() {
		if strings.HasSuffix(e.Name, overrides) {
			e.Value = strings.Trim(strings.Join(slices.DeleteFunc(strings.Split(e.Value, ","), unused), ","), ", ")
		}
		warned := slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, e.Name+" ") })
		if strings.HasPrefix(e.Source, "in the environment") && e.Value != "" && !warned && !unused(e.Name) {
			stays = append(stays, e.Name+" = "+e.Value)
		}
	}
	return stays
}

// oldDefaults lists what this relay does otherwise where the file says nothing, and what is to be done about it.
func oldDefaults(values map[string]string, compose bool, content string) (changes, todo []string) {
	set := func(name string) bool { return strings.TrimSpace(values[name]) != "" }
	if !set("LISTEN_ADDR") {
		if !compose {
			changes = append(changes, "Outside a container the relay listens on localhost only.")
			todo = append(todo, "Outside a container, set LISTEN_ADDR=* if other machines call the relay.")
		}
		changes = append(changes, "docker-compose.yml of this relay publishes the port on this machine only.")
		todo = append(todo, "With docker-compose.yml of this relay, set RELAY_BIND=0.0.0.0 if other machines call the relay.")
	}
	if port, err := strconv.Atoi(strings.TrimSpace(values["PORT"])); err == nil && !compose && port != 8985 {
		changes = append(changes, fmt.Sprintf("docker-compose.yml of this relay publishes port %d. Before, it always published 8985.", port))
	}
	if !set("ENABLE_METRICS") {
		changes = append(changes, "The metrics are on ADMIN_ADDR, 127.0.0.1:8986, and not on the relay's port.")
		todo = append(todo, "Set ENABLE_METRICS=true to have /metrics on the relay's port.")
	}
	if values["ENABLE_PPROF"] == "true" {
		changes = append(changes, "The profiles are on ADMIN_ADDR, and not on the relay's port.")
	}
	if !set("UPSTREAM_TIMEOUT") {
		changes = append(changes, "A call for which Riot sends nothing for 90s ends with 504. UPSTREAM_TIMEOUT=0 lets it wait.")
	}
	if set("RIFTRELAY_IMAGE") {
		changes = append(changes, "RIFTRELAY_IMAGE is not read. docker-compose.yml of this relay builds the image from the clone.")
		todo = append(todo, "Remove RIFTRELAY_IMAGE.")
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
