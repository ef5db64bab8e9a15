package daemon

import (
	"context"
	"errors"

	"riftrelay/internal/config"
)

func (p Process) demo(context.Context, config.DemoOptions) error {
	return errors.New("demo: not in this build")
}
