package lint

import (
	"context"
	"os"
	"strings"
	"testing"

	"sstool/internal/topology"
)

// FuzzLint judges whatever the parser takes for a topology: every finding is
// whole, and the same text gives the same findings.
func FuzzLint(f *testing.F) {
	for _, file := range texts(f) {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b), "A")
	}
	f.Add("Sub-topology: 0\nSource: s (topics: [x-repartition])\nSink: t (topic: x-repartition)\n", "a-b")
	f.Fuzz(func(t *testing.T, text, id string) {
		if strings.ContainsAny(id, "\x00") {
			return
		}
		m, err := topology.ParseText(text, topology.Options{ApplicationID: id, All: true})
		if err != nil {
			return
		}
		o := Options{Inputs: []Input{{AppID: id, File: "f", Topologies: m.Topologies, Problems: m.Problems}},
			Facts: &Facts{Topics: map[string]Topic{"a": {Partitions: 2}, id + "-x-changelog": {Partitions: 3}}, Complete: true, Groups: []string{"b"}},
			Dirs:  []Dir{{AppID: id, Task: "0_0", Name: "x"}}}
		a, err := Lint(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := Lint(context.Background(), o)
		prints := map[string]bool{}
		for i, x := range a.Findings {
			if x.Rule == "" || x.Message == "" || x.Severity == "" || prints[x.Fingerprint] {
				t.Errorf("finding %+v", x)
			}
			prints[x.Fingerprint] = true
			if b.Findings[i].Message != x.Message {
				t.Errorf("once %q, once %q", x.Message, b.Findings[i].Message)
			}
		}
	})
}
