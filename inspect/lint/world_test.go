package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRealTexts holds what a person found in the texts people paste: how many
// generated names (C8) of which severity, and which rules say something
// besides. The subjects are in the golden file.
func TestRealTexts(t *testing.T) {
	type want struct {
		errors, warnings int
		others           []string // rules, infos not counted
	}
	byFile := map[string]want{
		"01.txt": {0, 0, nil},
		"02.txt": {2, 0, nil},
		"03.txt": {2, 1, []string{"I1"}}, // the global store weighs less; a picture is no node
		"05.txt": {1, 1, []string{"N2"}}, // the store of toTable() is named, its repartition topic is not
		"06.txt": {0, 0, nil},
		"08.txt": {0, 0, nil},
		"10.txt": {0, 0, nil},
		"11.txt": {0, 1, nil},
		"12.txt": {4, 0, nil},
		"14.txt": {2, 0, nil},
		"15.txt": {0, 0, []string{"I1"}}, // shell lines around it
		"17.txt": {2, 0, nil},
		"18.txt": {0, 0, nil},
		"19.txt": {0, 0, nil},
		"20.txt": {5, 0, nil},
		"21.txt": {0, 0, nil},
		"23.txt": {2, 0, nil},
		"24.txt": {0, 0, nil},
		"25.txt": {2, 0, []string{"I1"}}, // a caption
	}
	var golden strings.Builder
	for _, file := range texts(t) {
		name := filepath.Base(file)
		res := lint(t, Options{Inputs: []Input{readInput(t, file)}})
		fmt.Fprintf(&golden, "# %s\n", name)
		var got want
		for _, f := range res.Findings {
			fmt.Fprintf(&golden, "%d %s %s %s: %s\n", f.Line, f.Rule, f.Severity, f.Subject, f.Fix)
			switch {
			case f.Rule == "C8" && f.Severity == Error:
				got.errors++
			case f.Rule == "C8":
				got.warnings++
			case f.Severity != Info && !slices.Contains(got.others, f.Rule):
				got.others = append(got.others, f.Rule)
			}
		}
		golden.WriteString("\n")
		w, ok := byFile[name]
		if ok && (got.errors != w.errors || got.warnings != w.warnings || !slices.Equal(got.others, w.others)) {
			t.Errorf("%s: got %+v, want %+v\n%v", name, got, w, res.Findings)
		}
		delete(byFile, name)
	}
	if len(byFile) > 0 {
		t.Errorf("not there: %v", byFile)
	}
	const path = "../../testdata/topologies/lint.golden"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != golden.String() {
		t.Errorf("%s differs; UPDATE_GOLDEN=1 rewrites it", path)
	}
}

// TestNamedByDocs is the pair of Kafka's documentation: naming the store frees
// a number.
func TestNamedByDocs(t *testing.T) {
	before := lint(t, Options{Inputs: []Input{readInput(t, "../../testdata/topologies/pairs/P1-after.txt")}})
	named := lint(t, Options{Inputs: []Input{readInput(t, "../../testdata/topologies/pairs/P1-named.txt")}})
	if got := of(before, "C8"); !slices.Equal(got, []string{"error KSTREAM-AGGREGATE-STATE-STORE-0000000002"}) {
		t.Errorf("before: %v", got)
	}
	if got := of(named, "C8"); got != nil {
		t.Errorf("named: %v", got)
	}
}
