// Package daemon is the program around the library: it puts the parts of the
// relay together and leads them from start to stop.
//
//   - main.go: the commands.
//   - relay.go: assembly, the one place that knows all parts.
//   - life.go: listen, serve, drain, stop.
//   - reload.go: keys that change while it serves.
//   - health.go, condition.go, admin.go, log.go: what operators see and do.
//   - tracing.go: what a collector of traces gets.
//   - state.go: what outlives the process, and riftrelay status.
//   - door.go: TLS and CONNECT at the relay's port; trust.go: riftrelay trust.
//   - validate.go: the check of settings and keys; top.go: riftrelay top.
//   - watch.go, reload.go, certificate.go: what changes while it serves.
//   - sim.go: the simulated edge on a port of its own.
//   - demo.go, load.go, tally.go: the relay in front of a simulated edge, a load
//     for it, and what became of it; view.go, screen.go draw that.
//
// Nothing here decides about a call: that is the library's business.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"riftrelay"
	"riftrelay/internal/config"
	"riftrelay/internal/files"
)

// Process is what the program sees of the world around it.
type Process struct {
	Args           []string         // without the program's name
	Env            config.Env       // variables and files; what it says of the terminal is found out here
	Stdout, Stderr io.Writer        // a terminal if they are an *os.File that is one
	Signals        <-chan os.Signal // each asks to stop; the second one insists. Nil = none comes
}

// ThisProcess is the process that we are.
func ThisProcess() Process {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	return Process{Args: os.Args[1:], Env: config.Env{Lookup: os.LookupEnv, ReadFile: files.ReadStable}, Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals}
}

// Exit statuses. There is no 2: to Docker's HEALTHCHECK it is reserved.
const (
	exitOK      = 0
	exitFailed  = 1
	exitInsists = 130 // as a shell says of a program that Ctrl-C ended
)

// errInsisted is the end by a second signal.
var errInsisted = errors.New("told twice to stop: calls under way were cut off")

// Main runs one command and returns the exit status. It ends on its own, by
// p.Signals, or by ctx, which asks as a first signal does.
func Main(ctx context.Context, p Process) int {
	log.SetOutput(&keyGuard{w: p.Stderr}) // of libraries; serve has a log of its own
	p.Env.Width, p.Env.Color = terminal(p.Stdout)
	in, err := config.Parse(p.Args, p.Env)
	if in != nil && in.Validate.Report != "" {
		say(p.Stdout, "%s", hideKeys(in.Validate.Report))
	} else if err == nil {
		err = p.run(ctx, in)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInsisted):
		return exitInsists
	}
	for line := range strings.Lines(err.Error()) {
		say(p.Stderr, "riftrelay: %s\n", hideKeys(strings.TrimRight(line, "\n")))
	}
	return exitFailed
}

func (p Process) run(ctx context.Context, in *config.Invocation) error {
	switch in.Command {
	case config.Serve:
		return p.serve(ctx, in)
	case config.Demo:
		return p.demo(ctx, in.Demo)
	case config.Sim:
		return p.sim(ctx, in.Sim)
	case config.Healthcheck:
		return healthcheck(ctx, in.Settings.HealthURL(), p.Stdout)
	case config.Status:
		return p.status(ctx, in.Status)
	case config.Trust:
		return p.trust(in.Settings)
	case config.Top:
		return p.top(ctx, in.Top)
	case config.Validate:
		return p.validate(ctx, in)
	case config.Help, config.Version, config.Completion:
		_, err := io.WriteString(p.Stdout, in.Text)
		return err
	}
	panic("BUG: nobody knows the command " + string(in.Command))
}

func (p Process) serve(ctx context.Context, in *config.Invocation) error {
	log := newLogger(p.Stderr, in.Settings, p.noColor())
	libraries(log)
	noCores()
	for _, w := range in.Warnings {
		log.Warn(w)
	}
	r, err := assemble(in.Settings, log, riftrelay.Hooks{}, nil)
	if err != nil {
		return err
	}
	if err := r.listen(ctx); err != nil {
		return err
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	r.hangup = hangup
	return r.serve(ctx, p.Signals)
}

// say prints. When that fails there is nobody left to tell.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// noColor is the wish of https://no-color.org.
func (p Process) noColor() bool {
	lookup := p.Env.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	value, _ := lookup("NO_COLOR")
	return value != ""
}

// terminal returns the width of the terminal that w is, 0 if it is none.
func terminal(w io.Writer) (width int, is bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, true
	}
	return width, true
}
