package cmd

import (
	"encoding/json"
	"encoding/xml"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sstool/inspect"
	"sstool/inspect/lint"
	"sstool/internal/lsm/lsmtest"
	"sstool/internal/topology"
)

// TestRulesPageIsCurrent compares docs/rules.md with the rule table;
// UPDATE_GOLDEN=1 (make golden) rewrites it.
func TestRulesPageIsCurrent(t *testing.T) {
	path := filepath.Join("..", "docs", "rules.md")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(rulesPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != rulesPage() {
		t.Error("docs/rules.md is stale: make golden rewrites it")
	}
}

// realTexts are the topologies that people pasted, as arguments of lint.
func realTexts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../testdata/topologies/[0-9]*.txt")
	if err != nil || len(files) < 19 {
		t.Fatalf("%d texts, %v", len(files), err)
	}
	for i, f := range files {
		files[i] = "app-" + strings.TrimSuffix(filepath.Base(f), ".txt") + "=" + f
	}
	return files
}

// TestSARIF checks what SARIF 2.1.0 demands of the objects that are written,
// and what GitHub's code scanning demands besides.
func TestSARIF(t *testing.T) {
	got := runWith(t, nil, append([]string{"lint", "-o", "sarif"}, realTexts(t)...)...)
	if got.code != 3 {
		t.Fatalf("code %d, %s", got.code, got.err)
	}
	var log sarifLog
	dec := json.NewDecoder(strings.NewReader(got.out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.HasSuffix(log.Schema, "sarif-2.1.0.json") || len(log.Runs) != 1 {
		t.Fatalf("version %q, schema %q, %d runs", log.Version, log.Schema, len(log.Runs))
	}
	run := log.Runs[0]
	if run.Tool.Driver.Name == "" || run.Tool.Driver.Version == "" || run.ColumnKind != "utf16CodeUnits" || !run.Invocations[0].Successful {
		t.Errorf("run %+v", run.Tool.Driver)
	}
	levels := []string{"none", "note", "warning", "error"}
	rules := run.Tool.Driver.Rules
	if len(rules) != len(lint.Rules()) {
		t.Errorf("%d rules", len(rules))
	}
	ids := map[string]bool{}
	for _, r := range rules {
		if ids[r.ID] || r.ID == "" {
			t.Errorf("rule %q twice or without an id", r.ID)
		}
		ids[r.ID] = true
		if !regexp.MustCompile(`^([A-Z][a-z]*)+$`).MatchString(r.Name) {
			t.Errorf("%s: name %q is not PascalCase", r.ID, r.Name)
		}
		if r.Short.Text == "" || r.Full.Text == "" || r.Help.Text == "" || r.Help.Markdown == "" || !slices.Contains(levels, r.Default.Level) {
			t.Errorf("%s is not complete: %+v", r.ID, r)
		}
	}
	if len(run.Results) < 20 {
		t.Fatalf("%d results", len(run.Results))
	}
	prints := map[string]bool{}
	for _, r := range run.Results {
		if r.RuleIndex < 0 || r.RuleIndex >= len(rules) || rules[r.RuleIndex].ID != r.RuleID || !slices.Contains(levels, r.Level) || r.Message.Text == "" || len(r.Locations) != 1 {
			t.Errorf("result %+v", r)
			continue
		}
		at := r.Locations[0]
		if u, err := url.Parse(at.Physical.Artifact.URI); err != nil || u.String() == "" || strings.ContainsAny(u.String(), ` \`) || at.Physical.Region.StartLine < 1 {
			t.Errorf("location %+v: %v", at.Physical, err)
		}
		for i, o := range r.Related {
			if o.ID != i+1 || o.Physical.Region.StartLine < 1 || o.Message.Text == "" {
				t.Errorf("related location %+v", o)
			}
		}
		p := r.Fingerprints[fingerprintKey]
		if p == "" || prints[p] {
			t.Errorf("fingerprint %q is there twice, or not at all", p)
		}
		prints[p] = true
	}
}

func TestFileURI(t *testing.T) {
	for file, want := range map[string]string{
		"topology.txt": "topology.txt", "./a b/ü#1.txt": "a%20b/%C3%BC%231.txt", topology.Stdin: "stdin", "/nowhere/x y.txt": "file:///nowhere/x%20y.txt", "../up.txt": "../up.txt",
	} {
		if got := fileURI(file); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}

func TestJUnit(t *testing.T) {
	got := runWith(t, nil, append([]string{"lint", "-o", "junit"}, realTexts(t)...)...)
	var all junitSuites
	if err := xml.Unmarshal([]byte(got.out), &all); err != nil || got.code != 3 {
		t.Fatalf("code %d, %v", got.code, err)
	}
	tests, fails := 0, 0
	for _, s := range all.Suites {
		f, k := 0, 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				f++
				if c.Failure.Type != "error" || c.Failure.Message == "" {
					t.Errorf("%s: %+v", s.Name, c)
				}
			}
			if c.Skipped != nil {
				k++
			}
		}
		if s.Tests != len(s.Cases) || s.Fails != f || s.Skipped != k || k == 0 {
			t.Errorf("%s: %d tests of %d, %d failures of %d, %d skipped of %d", s.Name, s.Tests, len(s.Cases), s.Fails, f, s.Skipped, k)
		}
		tests, fails = tests+s.Tests, fails+f
	}
	if len(all.Suites) < 19 || all.Tests != tests || all.Fails != fails || fails < 20 {
		t.Errorf("%d suites, %d tests of %d, %d failures of %d", len(all.Suites), all.Tests, tests, all.Fails, fails)
	}
	// Warnings are failures when they are asked to be.
	again := runWith(t, nil, append([]string{"lint", "-o", "junit", "--fail-on", "warning"}, realTexts(t)...)...)
	var more junitSuites
	if err := xml.Unmarshal([]byte(again.out), &more); err != nil || more.Fails <= all.Fails {
		t.Errorf("%d failures with --fail-on warning, %d without, %v", more.Fails, all.Fails, err)
	}
}

func TestLintConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		"rules: [C8]":                                     "c.yaml:1: rules must be a mapping",
		"rules:\n  C99: off":                              `c.yaml:2: there is no rule "C99"`,
		"rules:\n  C8: fatal":                             `c.yaml:2: C8 must be one of error, warning, info, off, not "fatal"`,
		"rules:\n  C8: off\n  C8: error":                  `c.yaml:3: "C8" is there twice`,
		"weak-names: foo":                                 "c.yaml:1: weak-names must be a list",
		"weak-names:\n  - '('":                            `c.yaml:2: "(" is not a regular expression`,
		"naming: {prefix: x}":                             `c.yaml:1: unknown key "prefix" of naming`,
		"naming:\n  pattern: [a]":                         "c.yaml:2: a regular expression must be one value",
		"topology-optimization: maybe":                    `c.yaml:1: topology-optimization is all or none, not "maybe"`,
		"ignore:\n  - rule: C8":                           "c.yaml:2: an ignore needs a reason",
		"ignore:\n  - reason: x":                          "c.yaml:2: an ignore needs a rule or a name",
		"ignore:\n  - {rule: C8, reason: '', name: x}":    "c.yaml:2: reason must be one value",
		"ignore:\n  - {rule: C8, reason: x, expires: y}":  `c.yaml:2: expires must be a date like 2027-01-31, not "y"`,
		"ignore:\n  - {rule: C8, reason: x, because: no}": `c.yaml:2: unknown key "because" of an ignore`,
		"ignores: []":                                     `c.yaml:1: unknown key "ignores"`,
		"- x":                                             "c.yaml:1: the configuration must be a mapping",
		"a: [":                                            "c.yaml: line 1",
	} {
		_, err := parseLintConfig("c.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if code, _ := exitCode(err, true); code != 2 {
			t.Errorf("%q: code %d", text, code)
		}
	}
	c, err := parseLintConfig("c.yaml", []byte("rules: {generated-name: warning, w1: Off}\nweak-names: []\nnaming: {prefixes: [account.]}\nignore:\n- {name: 'x-*', reason: because, expires: 2027-01-31}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Severities["C8"] != lint.Warning || c.Severities["W1"] != lint.Off || c.WeakNames == nil || len(c.Prefixes) != 1 || c.Ignores[0].Expires.Day() != 31 || c.Ignores[0].Line != 5 {
		t.Errorf("%+v", c)
	}
}

func FuzzLintConfig(f *testing.F) {
	f.Add("rules: {C8: off}\nignore: [{rule: C8, reason: x, expires: 2027-01-31}]\nnaming: {pattern: 'a', prefixes: [b]}\nweak-names: ['^x']")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := parseLintConfig("c.yaml", []byte(text)); err == nil && c == nil {
			t.Error("no configuration and no error")
		}
	})
}

// TestLintRealDirectories compares real applications with what they have on
// disk: nothing is left behind, moved or of another kind; and a store that the
// text does not have is.
func TestLintRealDirectories(t *testing.T) {
	for _, name := range lsmtest.Names(t) {
		unpacked, app := lsmtest.Unpack(t, name)
		text, err := os.ReadFile(filepath.Join(unpacked, "describe.txt"))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		describe := func(text string) string {
			file := filepath.Join(dir, "describe.txt")
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			return filepath.Base(app) + "=" + file
		}
		args := func(text string) []string {
			return []string{"lint", describe(text), "--state-dir", filepath.Dir(app), "--rules", "S1,S2,C12", "--fail-on", "info"}
		}
		if got := runWith(t, nil, args(string(text))...); got.code != 0 {
			t.Errorf("%s: code %d\n%s%s", name, got.code, got.out, got.err)
		}
		tree, err := inspect.Find(t.Context(), app)
		if err != nil {
			t.Fatal(err)
		}
		gone := tree.Stores()[0].Name
		changed := regexp.MustCompile(`([\[ ])`+regexp.QuoteMeta(gone)+`([,\]])`).ReplaceAllString(string(text), "${1}another-name${2}")
		if got := runWith(t, nil, args(changed)...); got.code != 3 || !strings.Contains(got.out, "warning S1: store "+gone+" is on disk in ") {
			t.Errorf("%s without %s: code %d\n%s%s", name, gone, got.code, got.out, got.err)
		}
	}
}
