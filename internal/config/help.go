package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// page writes help for a terminal.
type page struct {
	strings.Builder
	color bool
	wide  bool // room for flags beside names
}

// Widths at which help is laid out: the usual terminal, and one with room for a further column.
const (
	usualWidth = 80
	wideWidth  = 110
	usualName  = 22
)

func helpText(cmds []command, name Command, width int, color bool) string {
	p := &page{color: color, wide: width >= wideWidth}
	cmd := commandNamed(cmds, name)
	if name == Serve {
		p.overview(cmds)
	} else {
		p.line("%s  %s", p.bold("riftrelay "+string(name)), cmd.help)
		p.line("")
		p.line("Usage: riftrelay %s%s [flags]", name, cmd.argument())
	}
	if cmd.readsEnvironment {
		p.line("")
		p.line("%s  in this order: --port 9000, environment PORT=9000, .env, CONFIG_FILE.", p.bold("Settings"))
		p.line("Each is a flag too: its name in lower case, with hyphens. %s", p.dim("[default]"))
	}
	p.settings(cmd.settings)
	p.line("")
	p.line("%s", p.dim("  --help, -h and --version work everywhere."))
	return p.String()
}

// overview is the top of the first page: what it is, how to start, what there is.
func (p *page) overview(cmds []command) {
	p.line("%s  a rate-limiting relay for the Riot Games API", p.bold("riftrelay"))
	p.line("")
	p.line("  %s  serves the real API on :8985", p.name("RIOT_TOKEN=RGAPI-… riftrelay", 29))
	p.line("  %s  shows it at work, without a key", p.name("riftrelay demo --for 30s", 29))
	p.line("")
	p.line("%s  riftrelay [command] [flags]; command --help tells its flags", p.bold("Commands"))
	for _, c := range cmds {
		p.line("  %s  %s", p.name(string(c.name), 11), c.help)
	}
}

// settings writes a line for each, by groups.
func (p *page) settings(list []setting) {
	list = slices.DeleteFunc(slices.Clone(list), func(s setting) bool { return s.docOnly })
	nameWidth, flagWidth := 0, 0
	for _, s := range list {
		if len(s.name) > usualName {
			continue // juts out, rather than push all the others to the right
		}
		nameWidth, flagWidth = max(nameWidth, len(s.label())), max(flagWidth, len(s.flag()))
	}
	group := "-"
	for _, s := range list {
		if s.group != group {
			group = s.group
			p.line("")
			p.line("%s", p.bold(orElse(group, "Flags")))
		}
		row := "  " + p.name(s.label(), nameWidth)
		if p.wide && !s.flagOnly {
			flag := s.flag()
			if s.isFamily() {
				flag = ""
			}
			row += "  " + p.name(flag, flagWidth)
		}
		row += "  " + s.help
		if def := orElse(s.def, s.unset); def != "" {
			row += " " + p.dim("["+def+"]")
		}
		p.line("%s", row)
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func (p *page) line(format string, args ...any) {
	p.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

func (p *page) bold(s string) string { return p.style("1", s) }
func (p *page) dim(s string) string  { return p.style("2", s) }

// name pads a name to width and colours it.
func (p *page) name(s string, width int) string {
	return p.style("36", s) + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

func (p *page) style(code, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
