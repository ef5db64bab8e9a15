package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fault is one of the list: see the head of faults.txt.
type fault struct {
	id, says string
	file     string // from the root of the tree
	test     []string
	from, to string
	faulty   string // the file with the fault in it
}

func parse(list string) (faults []fault, err error) {
	ids := map[string]bool{}
	for _, part := range strings.Split("\n"+list, "\n## ")[1:] {
		var f fault
		var from, to []string
		head, rest, _ := strings.Cut(part, "\n")
		f.id, f.says, _ = strings.Cut(head, " ")
		for line := range strings.Lines(rest) {
			line = strings.TrimSuffix(line, "\n")
			kind, text, _ := strings.Cut(line, " ")
			switch kind {
			case "file":
				f.file = text
			case "test":
				f.test = strings.Fields(text)
			case "-":
				from = append(from, text)
			case "+":
				to = append(to, text)
			case "":
			default:
				return nil, fmt.Errorf("%s: a line starts with %q; allowed: file, test, - and +", f.id, kind)
			}
		}
		f.from, f.to = strings.Join(from, "\n"), strings.Join(to, "\n")
		if f.id == "" || f.says == "" || f.file == "" || len(f.test) == 0 || f.from == "" || f.from == f.to || ids[f.id] {
			return nil, fmt.Errorf("fault %q: it needs an id of its own, a sentence, a file, tests, an old text and another new one", f.id)
		}
		ids[f.id] = true
		faults = append(faults, f)
	}
	return faults, nil
}

// apply makes the faulty file's text from the right one's.
func (f *fault) apply() error {
	text, err := os.ReadFile(filepath.Join(root, f.file))
	if err != nil {
		return fmt.Errorf("%s: %w", f.id, err)
	}
	if n := strings.Count(string(text), f.from); n != 1 {
		return fmt.Errorf("%s: %s has its old text %d times; allowed: once", f.id, f.file, n)
	}
	f.faulty = strings.Replace(string(text), f.from, f.to, 1)
	return nil
}
