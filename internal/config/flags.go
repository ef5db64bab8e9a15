package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// command is one of the program's commands.
type command struct {
	name             Command
	help             string
	settings         []setting
	readsEnvironment bool // the settings come from all sources, not only from flags
	strict           bool // every setting has to be right, those that aren't used as well
}

// commands lists them; what their settings read goes into in and d.
func commands(in *Invocation, d *draft) []command {
	all := declare(in, d)
	only := func(names ...string) (some []setting) {
		for _, s := range all {
			if slices.Contains(names, s.name) {
				some = append(some, s)
			}
		}
		return some
	}
	return []command{
		{name: Serve, help: "relay calls to Riot; the default", settings: all, readsEnvironment: true, strict: true},
		{name: Demo, help: "relay a load to a simulated Riot; needs no key", settings: demoOptions(&in.Demo)},
		{name: Sim, help: "serve a simulated Riot for your own tests", settings: simOptions(&in.Sim)},
		{name: Validate, help: "check the settings, and show those in force", settings: append(slices.Clone(all), validateOptions(&in.Validate)...), readsEnvironment: true, strict: true},
		{name: Status, help: "show what a running relay is doing, and why calls wait", settings: append(only("ADMIN_ADDR", "CONFIG_FILE"), statusOptions(&in.Status)...), readsEnvironment: true},
		{name: Top, help: "watch a running relay: limits, queues, reasons", settings: append(only("ADMIN_ADDR", "CONFIG_FILE"), topOptions(&in.Top)...), readsEnvironment: true},
		{name: Healthcheck, help: "ask a running relay for its health: exit status 0 or 1", settings: only("LISTEN_ADDR", "PORT", "CONFIG_FILE"), readsEnvironment: true},
		{name: Trust, help: "make the local authority, and show how to trust it", settings: only("LISTEN_ADDR", "PORT", "TRUST_DIR", "CONFIG_FILE"), readsEnvironment: true},
		{name: Completion, help: "print what completes commands and flags in a shell", settings: completionOptions(&d.shell)},
	}
}

func commandNamed(cmds []command, name Command) command {
	for _, c := range cmds {
		if c.name == name {
			return c
		}
	}
	panic("BUG: no command " + string(name))
}

func isCommand(cmds []command, name string) bool { return slices.Contains(names(cmds), name) }

func names(cmds []command) []string {
	list := make([]string, len(cmds))
	for i, c := range cmds {
		list[i] = string(c.name)
	}
	return list
}

// commandLine is what the command line says, not yet understood.
type commandLine struct {
	command       Command
	flags         map[string]string // by setting
	help, version bool
}

func (l commandLine) given(name string) (string, bool) {
	text, ok := l.flags[name]
	return text, ok
}

// parseFlags lets kong take the command line apart. All flags are texts to kong, which would stop at the first wrong value.
func parseFlags(args []string, cmds []command) (commandLine, error) {
	if len(args) > 0 {
		switch args[0] { // what people try when they know nothing
		case "help":
			args = append(append([]string{}, args[1:]...), "--help")
		case "version":
			args = []string{"--version"}
		}
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && !isCommand(cmds, args[0]) {
		return commandLine{}, fmt.Errorf("there is no command %q; allowed: %s", args[0], strings.Join(names(cmds), ", "))
	}
	var root struct {
		Help    switchFlag `short:"h"`
		Version switchFlag
	}
	opts := []kong.Option{kong.Name("riftrelay"), kong.NoDefaultHelp()}
	targets := map[Command]reflect.Value{}
	for _, c := range cmds {
		target := flagStruct(withoutFamilies(c.settings))
		targets[c.name] = target
		var tags []string
		if c.name == Serve {
			tags = append(tags, `default:"withargs"`)
		}
		opts = append(opts, kong.DynamicCommand(string(c.name), c.help, "", target.Interface(), tags...))
	}
	parser, err := kong.New(&root, opts...)
	if err != nil {
		panic("BUG: flags: " + err.Error())
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return commandLine{}, fmt.Errorf("%w (riftrelay --help lists what there is)", err)
	}
	name, _, _ := strings.Cut(ctx.Command(), " ") // arguments follow
	line := commandLine{command: Command(name), flags: map[string]string{}, help: root.Help.given, version: root.Version.given}
	target := targets[line.command].Elem()
	for i, s := range withoutFamilies(commandNamed(cmds, line.command).settings) {
		f := target.Field(i).Addr().Interface().(interface{ value() (string, bool) })
		if text, ok := f.value(); ok {
			line.flags[s.name] = text
		}
	}
	return line, nil
}

// flagStruct makes the struct from which kong learns the flags of settings, with field i for settings[i].
func flagStruct(settings []setting) reflect.Value {
	fields := make([]reflect.StructField, len(settings))
	for i, s := range settings {
		typ := reflect.TypeFor[textFlag]()
		if s.value.toggle {
			typ = reflect.TypeFor[switchFlag]()
		}
		tag := fmt.Sprintf(`name:%q`, strings.TrimPrefix(s.flag(), "--"))
		if s.argument {
			tag = fmt.Sprintf(`arg:"" optional:"" name:%q`, strings.ToLower(s.name))
		}
		fields[i] = reflect.StructField{Name: s.name, Type: typ, Tag: reflect.StructTag(tag)}
	}
	return reflect.New(reflect.StructOf(fields))
}

// textFlag is --name value or --name=value.
type textFlag struct {
	text  string
	given bool
}

func (f *textFlag) value() (string, bool) { return f.text, f.given }

// Decode implements kong.MapperValue.
func (f *textFlag) Decode(ctx *kong.DecodeContext) error {
	token, err := ctx.Scan.PopValue("a")
	if err != nil {
		return fmt.Errorf("no value; allowed: --%s=VALUE", ctx.Value.Name)
	}
	f.text, f.given = fmt.Sprint(token.Value), true
	return nil
}

// switchFlag is --name, which means true, or --name=value.
type switchFlag struct{ textFlag }

// Decode implements kong.MapperValue.
func (f *switchFlag) Decode(ctx *kong.DecodeContext) error {
	f.text, f.given = "true", true
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		f.text = fmt.Sprint(ctx.Scan.Pop().Value)
	}
	return nil
}

// IsBool implements kong.BoolMapperValue.
func (f *switchFlag) IsBool() bool { return true }
