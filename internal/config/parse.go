package config

import (
	"errors"
	"os"
	"slices"
	"strings"
)

// Command is what the command line asks for.
type Command string

// The commands. Help, Version and Completion only have a Text to print.
const (
	Serve       Command = "serve"
	Demo        Command = "demo"
	Sim         Command = "sim"
	Healthcheck Command = "healthcheck"
	Validate    Command = "validate"
	Status      Command = "status"
	Trust       Command = "trust"
	Top         Command = "top"
	Completion  Command = "completion"
	Help        Command = "help"
	Version     Command = "version"
)

// Invocation is a command line, understood.
type Invocation struct {
	Command  Command
	Settings *Settings       // of Serve and Validate; of Healthcheck and Trust only what these need; all else has its default
	Demo     DemoOptions     // of Demo
	Sim      SimOptions      // of Sim
	Status   StatusOptions   // of Status
	Top      TopOptions      // of Top
	Validate ValidateOptions // of Validate
	Text     string          // of Help, Version and Completion: print it on standard output
	Warnings []string        // worth a line in the log, a sentence each
}

// Env is the world that Parse sees.
type Env struct {
	Lookup   func(name string) (string, bool)  // a variable of the environment; nil = os.LookupEnv
	Names    func() []string                   // of all variables of the environment; nil = os.Environ's
	ReadFile func(name string) ([]byte, error) // nil = os.ReadFile
	Width    int                               // of the terminal, in columns, for Help; 0 = 80
	Color    bool                              // whether Help may use colours; NO_COLOR says no as well

	reloads reloaded
}

// reloaded says what settings are read again for. What else is wrong by then, such as a certificate that is half written,
// must not keep a new key from being used.
type reloaded uint8

const (
	everything reloaded = iota
	onlyKeys
	onlyClients
)

// Parse reads a command line (without the program's name) and whatever settings its command has. An error has a line for
// each thing that is wrong, and never a key.
func Parse(args []string, env Env) (*Invocation, error) {
	if env.Lookup == nil {
		env.Lookup = os.LookupEnv
	}
	if env.Names == nil {
		env.Names = environment
	}
	if env.ReadFile == nil {
		env.ReadFile = os.ReadFile
	}
	in, d := &Invocation{Settings: &Settings{}}, &draft{}
	cmds := commands(in, d)
	line, err := parseFlags(args, cmds)
	if err != nil {
		return nil, errors.New(hideKeys(err.Error()))
	}
	in.Command = line.command
	switch {
	case line.help:
		noColor, _ := env.Lookup("NO_COLOR")
		in.Text = helpText(cmds, line.command, env.Width, env.Color && noColor == "")
		in.Command = Help
		return in, nil
	case line.version:
		in.Text = "riftrelay " + VersionText() + "\n"
		in.Command = Version
		return in, nil
	}

	if file, ok := line.given("FROM_ENV"); ok && line.command == Validate {
		in.Validate.Report, err = fromEnv(file, env)
		return in, err
	}
	cmd := commandNamed(cmds, line.command)
	var r report
	sources := []source{{onCommandLine, line.given, nil}}
	if cmd.readsEnvironment {
		sources = gather(env, line, cmd, commandNamed(cmds, Serve).settings, &r)
	}
	setDefaults(commandNamed(cmds, Serve).settings)
	cmd.settings = expand(cmd.settings, sources, &r)
	for _, s := range cmd.settings {
		in.Settings.effective = append(in.Settings.effective, s.fill(sources, &r))
	}
	d.finish(in, cmd, env, sources, &r)
	if in.Command == Completion {
		if d.shell == "" && !r.wrong["SHELL"] {
			r.bad("SHELL", "completion: no shell is named; allowed: bash, zsh or fish")
		}
		in.Text = completion(cmds, d.shell)
	}
	in.Settings.reload = func(what reloaded) (*Settings, error) {
		env.reloads = what
		again, err := Parse(args, env)
		if err != nil {
			return nil, err
		}
		return again.Settings, nil
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	if in.Settings.UpstreamURL == riotsOwn {
		warnOfKeys(in.Settings.Keys(), &r)
	}
	in.Warnings = r.warnings
	return in, nil
}

func environment() []string {
	var names []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	return names
}

// setDefaults is for the settings that the command does not read.
func setDefaults(list []setting) {
	for _, s := range list {
		if s.def == "" {
			continue
		}
		if err := s.value.read(s.def); err != nil {
			panic("BUG: default of " + s.name + " is not allowed")
		}
	}
}

// report collects what is wrong.
type report struct {
	problems []error
	warnings []string
	wrong    map[string]bool // names of settings among the problems
}

func (r *report) bad(name string, line string) {
	if r.wrong == nil {
		r.wrong = map[string]bool{}
	}
	r.wrong[name] = true
	r.problems = append(r.problems, errors.New(hideKeys(line)))
}

func (r *report) warn(line string) { r.warnings = append(r.warnings, hideKeys(line)) }

// err is all that is wrong. What there was to warn of comes with it: it may be the reason.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	problems := slices.Clone(r.problems)
	for _, w := range r.warnings {
		problems = append(problems, errors.New(w))
	}
	return errors.Join(problems...)
}
