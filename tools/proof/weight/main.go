// Weight measures what each direct dependency adds to the program: run it in
// the root of the tree as go -C tools/proof run ./weight. It prints the table of
// docs/dependencies.md.
//
// A dependency's own cost is what would go with it: the packages that nothing
// else in the program needs. Modules are those of these packages. Megabytes are
// the stripped program's, without its embedded files, by these packages' share of
// the machine code; and their embedded files. Seconds are what compiling these
// packages takes of a processor, with an empty cache.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const program = "./cmd/riftrelay"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "weight:", err)
		os.Exit(1)
	}
}

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath string
	Imports    []string
	Dir        string
	EmbedFiles []string
	Module     *struct {
		Path     string
		Main     bool
		Indirect bool
	}
}

func (p pkg) module() string {
	if p.Module == nil || p.Module.Main {
		return ""
	}
	return p.Module.Path
}

// embedded is the size of the files in a package, in megabytes.
func (p pkg) embedded() (sum float64) {
	for _, name := range p.EmbedFiles {
		if info, err := os.Stat(filepath.Join(p.Dir, name)); err == nil {
			sum += float64(info.Size()) / 1e6
		}
	}
	return sum
}

func run() error {
	work, err := os.MkdirTemp("", "weight")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	all, err := list()
	if err != nil {
		return err
	}
	full, err := build(work)
	if err != nil {
		return err
	}
	modules, direct := map[string]bool{}, map[string]bool{}
	for _, p := range all {
		if m := p.module(); m != "" {
			modules[m] = true
			if !p.Module.Indirect {
				direct[m] = true
			}
		}
	}
	var embedded float64
	for _, p := range all {
		embedded += p.embedded()
	}
	fmt.Printf("modules %d, packages %d, stripped %.1f MB, %.0f s of a processor for all, standard library included\n\n", len(modules), len(all), full.megabytes, full.total())
	fmt.Println("| dependency | modules | MB | seconds |\n|---|---|---|---|")
	for _, m := range slices.Sorted(keys(direct)) {
		own := exclusive(all, m)
		its := map[string]bool{}
		var seconds, megabytes float64
		for name, p := range own {
			seconds += full.seconds[name]
			megabytes += full.bytes[name]/full.symbols*(full.megabytes-embedded) + p.embedded()
			its[p.module()] = true
		}
		delete(its, "")
		fmt.Printf("| `%s` | %d | %.1f | %.0f |\n", m, len(its), megabytes, seconds)
	}
	return nil
}

func keys(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func list() (map[string]pkg, error) {
	out, err := command("", "go", "list", "-deps", "-json=ImportPath,Imports,Dir,EmbedFiles,Module", program).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := map[string]pkg{}
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p
	}
}

// exclusive are the packages that the program wouldn't have without a module.
func exclusive(all map[string]pkg, without string) map[string]pkg {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		p, known := all[name]
		if !known {
			p, known = all["vendor/"+name] // of the standard library
		}
		if !known || seen[p.ImportPath] || p.module() == without {
			return
		}
		seen[p.ImportPath] = true
		for _, i := range p.Imports {
			visit(i)
		}
	}
	visit("riftrelay/cmd/riftrelay")
	left := map[string]pkg{}
	for name, p := range all {
		if !seen[name] && p.Module != nil {
			left[name] = p
		}
	}
	return left
}

// built is the program and what it took.
type built struct {
	seconds   map[string]float64 // by package
	bytes     map[string]float64 // of machine code, by package
	symbols   float64
	megabytes float64
}

func (b built) total() (sum float64) {
	for _, s := range b.seconds {
		sum += s
	}
	return sum
}

func build(work string) (built, error) {
	b := built{seconds: map[string]float64{}, bytes: map[string]float64{}}
	graph, exe, stripped := filepath.Join(work, "graph"), filepath.Join(work, "full"), filepath.Join(work, "stripped")
	cache := filepath.Join(work, "cache")
	if err := command(cache, "go", "build", "-trimpath", "-debug-actiongraph="+graph, "-o", exe, program).Run(); err != nil {
		return b, fmt.Errorf("go build: %w", err)
	}
	if err := command(cache, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", stripped, program).Run(); err != nil {
		return b, fmt.Errorf("go build: %w", err)
	}
	info, err := os.Stat(stripped)
	if err != nil {
		return b, err
	}
	b.megabytes = float64(info.Size()) / 1e6
	raw, err := os.ReadFile(graph)
	if err != nil {
		return b, err
	}
	var actions []struct {
		Mode, Package   string
		CmdUser, CmdSys int64
	}
	if err := json.Unmarshal(raw, &actions); err != nil {
		return b, err
	}
	for _, a := range actions {
		if a.Mode == "build" {
			b.seconds[a.Package] += float64(a.CmdUser+a.CmdSys) / 1e9
		}
	}
	return b, b.measure(exe)
}

// measure adds up the symbols of each package.
func (b *built) measure(exe string) error {
	out, err := command("", "go", "tool", "nm", "-size", exe).Output()
	if err != nil {
		return fmt.Errorf("go tool nm: %w", err)
	}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 4 || f[2] != "T" && f[2] != "t" {
			continue // data, which is of all packages together
		}
		size, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			continue
		}
		b.symbols += size
		b.bytes[owner(f[3])] += size
	}
	return nil
}

// owner is the package of a symbol: what stands before the first dot behind the
// last slash of a name, where dots within the last part are written as %2e.
func owner(symbol string) string {
	symbol, _, _ = strings.Cut(symbol, "[") // type arguments
	symbol, _, _ = strings.Cut(symbol, "(")
	slash := strings.LastIndexByte(symbol, '/') + 1
	name, _, _ := strings.Cut(symbol[slash:], ".")
	return symbol[:slash] + strings.ReplaceAll(name, "%2e", ".")
}

// command runs in the root of the tree.
func command(cache, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = filepath.Join("..", "..")
	c.Stderr = os.Stderr
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if cache != "" {
		c.Env = append(c.Env, "GOCACHE="+cache)
	}
	return c
}
