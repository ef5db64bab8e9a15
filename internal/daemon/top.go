package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

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
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithOutput(out), tea.WithoutSignalHandler()}
	if p.noColor() {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	program := tea.NewProgram(top.New(ctx, o.Addr, func(ctx context.Context) ([]byte, error) {
		return admin.Ask(ctx, o.Addr, o.Token)
	}), options...)
	go func() {
		select {
		case <-p.Signals:
			program.Quit()
		case <-ctx.Done():
		}
	}()
	if _, err := program.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("top: %w", err)
	}
	return nil
}
