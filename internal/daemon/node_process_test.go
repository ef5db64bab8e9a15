package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"riftrelay/internal/trust"
)

// nodeProcess is node with one client.
type nodeProcess struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
	err *bytes.Buffer
}

// told is a line of drive.js.
type told struct {
	OK      bool
	MS      int
	Answer  json.RawMessage
	Error   string
	Crashed string
}

func startNode(t *testing.T, g *rig, node, modules, client, trustDir string) *nodeProcess {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", "clients"))
	if err != nil {
		t.Fatal(err)
	}
	p := &nodeProcess{err: &bytes.Buffer{}}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
	t.Cleanup(cancel)
	p.cmd = exec.CommandContext(ctx, node, "--require", filepath.Join(dir, "shim.js"), filepath.Join(dir, "drive.js"), client)
	p.cmd.Dir = t.TempDir() // without a .env
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.cmd.Dir, "NODE_PATH=" + modules, "RELAY=" + g.front}
	if trustDir != "" {
		p.cmd.Env = append(p.cmd.Env, "NODE_EXTRA_CA_CERTS="+filepath.Join(trustDir, trust.CertificateFile))
	}
	p.cmd.Stderr = p.err
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.cmd.Process.Kill()
			p.cmd.Wait()
		}
	})
	return p
}

// ask says a line and returns the answer.
func (p *nodeProcess) ask(t *testing.T, line string) (a told) {
	t.Helper()
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		t.Fatalf("%v\n%s", err, p.err)
	}
	for {
		text, err := p.out.ReadBytes('\n')
		if err != nil {
			t.Fatalf("%v\n%s", err, p.err)
		}
		if text[0] != '{' {
			t.Logf("it prints %s", text)
			continue
		}
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if a.Crashed != "" {
			t.Fatalf("the client crashed: %s", a.Crashed)
		}
		return a
	}
}

// chain goes from Riot IDs to matches.
func (p *nodeProcess) chain(t *testing.T, players []riotID) {
	t.Helper()
	names := make([][2]string, len(players))
	for i, r := range players {
		names[i] = [2]string{r.name, r.tag}
	}
	line, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	a := p.ask(t, "chain "+string(line))
	var got []struct {
		Name, Tag      string
		Level, Leagues int
		IDs, Matches   []string
	}
	if !a.OK || json.Unmarshal(a.Answer, &got) != nil || len(got) != len(players) {
		t.Fatalf("got %+v\n%s", a, p.err)
	}
	for i, p := range got {
		if p.Name != players[i].name || p.Tag != players[i].tag || p.Level < 30 || p.Leagues == 0 || len(p.IDs) != 2 || !slices.Equal(p.IDs, p.Matches) {
			t.Errorf("of %v it got %+v", players[i], p)
		}
	}
}

// end lets node come to its end.
func (p *nodeProcess) end(t *testing.T) {
	t.Helper()
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("node: %v\n%s", err, p.err)
	}
}
