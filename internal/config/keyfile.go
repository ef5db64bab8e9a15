package config

import (
	"fmt"
	"strings"

	"riftrelay"
)

// maxKeyFile bounds RIOT_TOKEN_FILE: 1,024 keys with their names and comments are far less.
const maxKeyFile = 1 << 20

// readKeyFile takes the keys from RIOT_TOKEN_FILE, if that is where they are.
func (d *draft) readKeyFile(env Env, cmd command, sources []source, r *report) {
	if d.keyFile == "" {
		return
	}
	var file, token finding
	for _, s := range cmd.settings {
		switch s.name {
		case "RIOT_TOKEN":
			token, _ = s.find(sources, &report{})
		case "RIOT_TOKEN_FILE":
			file, _ = s.find(sources, &report{})
		}
	}
	bad := func(format string, args ...any) {
		r.bad("RIOT_TOKEN_FILE", fmt.Sprintf("RIOT_TOKEN_FILE is %q: ", d.keyFile)+fmt.Sprintf(format, args...)+fmt.Sprintf(" (set %s)", file.where))
	}
	if token.text != "" {
		bad("RIOT_TOKEN is set %s as well; allowed: one of the two", token.where)
		return
	}
	data, err := env.ReadFile(d.keyFile)
	if err != nil {
		bad("%v; allowed: a readable file of keys", err)
		return
	}
	list, problems := parseKeyFile(data)
	for _, p := range problems {
		bad("%s", p)
	}
	if len(problems) == 0 {
		d.keys = list
	}
}

// parseKeyFile reads one [name=]key a line. Its problems name a key by its line, never by its value.
func parseKeyFile(data []byte) (list []riftrelay.Key, problems []string) {
	if len(data) > maxKeyFile {
		return nil, []string{fmt.Sprintf("has %d bytes; allowed: at most %d", len(data), maxKeyFile)}
	}
	if problem := notUTF8(data); problem != "" {
		return nil, []string{problem}
	}
	parts, lines := contentLines(data)
	if len(parts) == 0 {
		return nil, []string{"has no key; allowed: one a line, RGAPI-… or name=RGAPI-…"}
	}
	return readKeys(parts, func(i int) string { return fmt.Sprintf("line %d", lines[i]) })
}

// keyRoutes reads "/lol/tournament/=tournament,host:kr=asia".
func keyRoutes(to *[]riftrelay.Group) value {
	return value{
		allowed: "/beginning/of/a/path=group or host:kr=group, separated by commas; a group is named as its keys are",
		read: func(text string) error {
			var groups []riftrelay.Group
			for item := range strings.SplitSeq(text, ",") {
				what, name, ok := strings.Cut(strings.TrimSpace(item), "=")
				what, name = strings.TrimSpace(what), strings.TrimSpace(name)
				host, isHost := strings.CutPrefix(what, "host:")
				if !ok || name == "" || !nameForm.MatchString(name) || !isHost && !strings.HasPrefix(what, "/") || host == "" && isHost {
					return errNotAllowed
				}
				i := 0
				for i < len(groups) && groups[i].Name != name {
					i++
				}
				if i == len(groups) {
					groups = append(groups, riftrelay.Group{Name: name})
				}
				if isHost {
					groups[i].Hosts = append(groups[i].Hosts, host)
				} else {
					groups[i].Paths = append(groups[i].Paths, what)
				}
			}
			*to = groups
			return nil
		},
	}
}
