// Mutants puts each fault of faults.txt into the program, one at a time, and runs
// the tests that must notice it: run it in the root of the tree as
// go -C tools/proof run ./mutants. It prints a line for each fault, and ends with
// status 1 if a fault survives. The tree stays as it is: the compiler reads the
// faulty file in place of the right one.
//
//	-check      only check that each fault's old text occurs exactly once
//	-only A,B   only the faults with these ids
//	-each 10m   the time that the tests of one fault may take
//	-all 3h     the time that all of them may take
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed faults.txt
var list string

// root of the tree, seen from tools/proof.
const root = "../.."

func main() {
	check := flag.Bool("check", false, "only check the list")
	only := flag.String("only", "", "ids of faults, with commas; all by default")
	each := flag.Duration("each", 10*time.Minute, "the time that one fault's tests may take")
	all := flag.Duration("all", 3*time.Hour, "the time that all tests may take")
	flag.Parse()
	if err := run(*check, *only, *each, *all); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(check bool, only string, each, all time.Duration) error {
	faults, err := parse(list)
	if err != nil {
		return err
	}
	if only != "" {
		ids := strings.Split(only, ",")
		faults = slices.DeleteFunc(faults, func(f fault) bool { return !slices.Contains(ids, f.id) })
	}
	var problems []error
	for i := range faults {
		problems = append(problems, faults[i].apply())
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	if check {
		fmt.Printf("%d faults\n", len(faults))
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), all)
	defer cancel()
	return judge(ctx, faults, each)
}

// judge runs the tests, first without a fault: a test that fails then proves nothing.
func judge(ctx context.Context, faults []fault, each time.Duration) error {
	began, survivors := time.Now(), 0
	sound := map[string]bool{}
	for _, f := range faults {
		if key := strings.Join(f.test, " "); !sound[key] {
			if failed, out, err := test(ctx, "", f.test, each); err != nil || failed {
				return fmt.Errorf("go test %s fails without a fault: %v\n%s", key, err, out)
			}
			sound[key] = true
		}
		start := time.Now()
		failed, out, err := f.judge(ctx, each)
		word := "killed"
		switch {
		case err != nil:
			word = "BROKEN"
			fmt.Fprintf(os.Stderr, "%s: %v\n%s", f.id, err, out)
			survivors++
		case !failed:
			word = "SURVIVED"
			survivors++
		}
		fmt.Printf("%-4s %-8s %5.1f s  %s\n", f.id, word, time.Since(start).Seconds(), f.says)
	}
	fmt.Printf("%d faults, %d killed, %d survived, %.0f s\n", len(faults), len(faults)-survivors, survivors, time.Since(began).Seconds())
	if survivors > 0 {
		return fmt.Errorf("%d faults survived", survivors)
	}
	return nil
}

func (f *fault) judge(ctx context.Context, each time.Duration) (failed bool, out string, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return false, "", err
	}
	defer os.RemoveAll(dir)
	faulty, overlay := filepath.Join(dir, filepath.Base(f.file)), filepath.Join(dir, "overlay.json")
	right, err := filepath.Abs(filepath.Join(root, f.file))
	if err != nil {
		return false, "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{right: faulty}})
	if err != nil {
		return false, "", err
	}
	if err := errors.Join(os.WriteFile(faulty, []byte(f.faulty), 0o600), os.WriteFile(overlay, text, 0o600)); err != nil {
		return false, "", err
	}
	return test(ctx, overlay, f.test, each)
}

// test tells whether the tests fail. A fault that doesn't compile is an error:
// no test has noticed it. A fault for which the tests never end is noticed.
func test(ctx context.Context, overlay string, args []string, each time.Duration) (failed bool, out string, err error) {
	args = append([]string{"test", "-short", "-count=1", "-failfast", "-vet=off", "-timeout", each.String(), "-overlay", overlay}, args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	text, err := cmd.CombinedOutput()
	out = string(text)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, out, errors.New("out of time: see -all")
	case err == nil && strings.Contains(out, "no tests to run"):
		return false, out, errors.New("no test has the name that the fault states")
	case err == nil:
		return false, out, nil
	case !errors.As(err, &exit):
		return false, out, err
	case !strings.Contains(out, "--- FAIL") && !strings.Contains(out, "panic: ") && !strings.Contains(out, "fatal error: "):
		return false, out, errors.New("the tests did not run")
	}
	return true, out, nil
}
