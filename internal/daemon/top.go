package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"

	"riftrelay/internal/admin"
	"riftrelay/internal/config"
	"riftrelay/internal/top"
)

// top shows a running relay until somebody quits.
func (p Process) top(ctx context.Context, o config.TopOptions) error {
	out, ok := p.Stdout.(*os.File)
	if !ok || !newScreen(out, p.noColor()).isTTY {
		return errors.New("top: standard output is not a terminal; allowed: a terminal, or riftrelay status, which prints the same once")
	}
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) {
		return errors.New("top: standard input is not a terminal, which the keys come from; allowed: a terminal, or riftrelay status, which prints the same once")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-p.Signals:
			stop()
		case <-ctx.Done():
		}
	}()
	before, err := term.MakeRaw(in)
	if err != nil {
		return fmt.Errorf("top: %w", err)
	}
	defer func() { _ = term.Restore(in, before) }() // it worked the other way
	screen := newScreen(out, p.noColor())
	err = top.New(ctx, o.Addr, func(ctx context.Context) ([]byte, error) {
		return admin.Ask(ctx, o.Addr, o.Token)
	}).Run(top.Terminal{In: os.Stdin, Out: out, Size: screen.cells, Color: screen.color})
	if err != nil {
		return fmt.Errorf("top: %w", err)
	}
	return nil
}
