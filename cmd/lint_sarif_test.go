package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSARIFSchema holds what is written against the schema of SARIF 2.1.0, for
// every real text, with accepted findings, without any, and for odd names.
func TestSARIFSchema(t *testing.T) {
	schema := sarifSchema(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	clean := file("clean.txt", "Topologies:\n   Sub-topology: 0\n    Source: s (topics: [in])\n      --> none\n")
	odd := file("with space, ü & 100%.txt", "Topologies:\n   Sub-topology: 0\n    Source: s (topics: [in])\n      --> p\n    Processor: p (stores: [my <store>/ü\x1b[31m, temp])\n      --> none\n      <-- s\nnot a node\n")
	texts := realTexts(t)
	baseline := filepath.Join(dir, "baseline.json")
	if got := runWith(t, nil, append([]string{"lint", "--write-baseline", baseline}, texts[:3]...)...); got.code != 0 {
		t.Fatal(got.err)
	}
	for name, args := range map[string][]string{
		"real": texts, "clean": {clean}, "odd": {"orders=" + odd, "--fail-on", "info"}, "accepted": append([]string{"--baseline", baseline}, texts...),
	} {
		got := runWith(t, nil, append([]string{"lint", "-o", "sarif"}, args...)...)
		if got.code != 0 && got.code != 3 {
			t.Fatalf("%s: code %d, %s", name, got.code, got.err)
		}
		checkSARIF(t, schema, name, got.out)
	}
	// A schema that lets everything pass proves nothing.
	for _, broken := range []string{`"level": "fatal"`, `"ruleIndex": -2`, `"startLine": 0`, `"ruleIdd": "x"`} {
		got := runWith(t, nil, "lint", "-o", "sarif", texts[1])
		key, _, _ := strings.Cut(broken, ":")
		text := replaceMember(got.out, key, broken)
		if err := validSARIF(schema, text); err == nil {
			t.Errorf("%s is valid", broken)
		}
	}
}

// replaceMember puts another value at the first place of a member, or another
// member at the first of the results.
func replaceMember(text, key, with string) string {
	at := strings.Index(text, `"results"`)
	i := strings.Index(text[at:], key)
	if i < 0 {
		return text[:at] + strings.Replace(text[at:], `"ruleId"`, with+`, "ruleId"`, 1)
	}
	i += at
	end := i + strings.IndexAny(text[i:], ",\n")
	return text[:i] + with + text[end:]
}

func checkSARIF(t *testing.T, schema *jsonschema.Schema, name, text string) {
	t.Helper()
	if err := validSARIF(schema, text); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	var log sarifLog
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		t.Fatal(err)
	}
	var prints []string
	for _, r := range log.Runs[0].Results {
		prints = append(prints, r.Fingerprints[fingerprintKey])
		if rule := log.Runs[0].Tool.Driver.Rules[r.RuleIndex]; rule.ID != r.RuleID || rule.Help.Markdown == "" || rule.Help.Text == "" {
			t.Errorf("%s: rule %s has no help, or is not number %d", name, r.RuleID, r.RuleIndex)
		}
	}
	slices.Sort(prints)
	if n := len(slices.Compact(prints)); n != len(log.Runs[0].Results) {
		t.Errorf("%s: %d fingerprints of %d results", name, n, len(log.Runs[0].Results))
	}
}

func validSARIF(schema *jsonschema.Schema, text string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(doc)
}

// sarifSchema is OASIS' schema of SARIF 2.1.0, whole and unchanged but for
// white space: a schema of our own would agree with our own mistakes.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
