// Command riftrelay is a rate-limiting relay for the Riot Games API; see
// riftrelay --help.
package main

import (
	"context"
	"os"

	"riftrelay/internal/daemon"
)

func main() { os.Exit(daemon.Main(context.Background(), daemon.ThisProcess())) }
