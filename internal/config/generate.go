package config

import (
	"fmt"
	"slices"
	"strings"
)

// settingsDocument is docs/settings.md.
func settingsDocument(cmds []command) string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from internal/config/declare.go. Write it anew with: go test ./internal/config -update -->

# Settings

The first place that has a value wins:

1. a flag: ` + "`--queue-total 5000`" + ` (the name in lower case, with hyphens; ` + "`--enable-pprof`" + ` alone means true)
2. the environment: ` + "`QUEUE_TOTAL=5000`" + `
3. the file ` + "`.env`" + ` in the working directory: ` + "`QUEUE_TOTAL=5000`" + `
4. the YAML file that ` + "`CONFIG_FILE`" + ` names: ` + "`queue_total: 5000`" + ` (lists may be YAML lists)
5. the default

An empty value in the environment or a file means "not set" (of ` + "`ADMIN_ADDR`" + `: none). Whatever is wrong stops the start, all of it at once, a line
each. ` + "`riftrelay validate`" + ` checks without starting and shows what is in force and where it was set, keys hidden.
`)
	group := ""
	for _, s := range commandNamed(cmds, Serve).settings {
		if s.group != group {
			group = s.group
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		fmt.Fprintf(&b, "\n### `%s`\n\n%s.", s.name, sentence(s))
		if s.more != "" {
			b.WriteString(" " + s.more)
		}
		b.WriteString("\n\n")
		if s.def != "" {
			fmt.Fprintf(&b, "- Default: `%s`\n", s.def)
		}
		fmt.Fprintf(&b, "- Allowed: %s\n", strings.ReplaceAll(s.value.allowed, "'", "`"))
		if len(s.aliases) > 0 {
			fmt.Fprintf(&b, "- Other names: `%s`\n", strings.Join(s.aliases, "`, `"))
		}
	}
	b.WriteString("\n## Commands\n\nWithout a command, `riftrelay` serves. The flags in the tables here are flags only; settings don't reach them.\n")
	for _, c := range cmds {
		fmt.Fprintf(&b, "\n### `riftrelay %s`\n\n%s.\n", c.name, strings.ToUpper(c.help[:1])+c.help[1:])
		flags := c.settings
		if c.readsEnvironment {
			flags = slices.DeleteFunc(slices.Clone(flags), func(s setting) bool { return !s.flagOnly })
		}
		if len(flags) == 0 {
			continue
		}
		b.WriteString("\n| flag | default | what | allowed |\n|---|---|---|---|\n")
		for _, s := range flags {
			def := s.unset
			if s.def != "" {
				def = "`" + s.def + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.flag(), def, s.help, s.value.allowed)
		}
	}
	return b.String()
}

// sentence is the help line, to begin a paragraph with.
func sentence(s setting) string { return strings.ToUpper(s.help[:1]) + s.help[1:] }

// exampleEnv is .env.example: every setting but the key is commented out, with its default.
func exampleEnv(settings []setting) string {
	var b strings.Builder
	b.WriteString("# Copy to .env and fill in RIOT_TOKEN. All settings: docs/settings.md\n# Generated: go test ./internal/config -update\n")
	group := ""
	for _, s := range settings {
		if s.group != group {
			group = s.group
			fmt.Fprintf(&b, "\n# --- %s ---\n", group)
		}
		comment := "#"
		if s.name == "RIOT_TOKEN" {
			comment = ""
		}
		help := s.help
		if s.unset != "" {
			help += " [" + s.unset + "]"
		}
		fmt.Fprintf(&b, "# %s\n%s%s=%s\n", help, comment, s.name, s.def)
	}
	return b.String()
}
