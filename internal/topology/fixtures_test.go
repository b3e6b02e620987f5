package topology

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRealTexts parses what Kafka Streams 3.9 to 4.4 printed and prints it
// again: the same, byte for byte, but for the order in sets of topics, stores and arrows.
func TestRealTexts(t *testing.T) {
	files, err := filepath.Glob("../../testdata/fixtures/*/*/describe.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, err := ParseText(string(b), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Problems) > 0 || len(m.Topologies) != 1 {
				t.Errorf("%d topologies, problems %+v", len(m.Topologies), m.Problems)
			}
			got, want := strings.Split(strings.TrimSpace(Print(&m.Topologies[0])), "\n"), strings.Split(strings.TrimSpace(sets(string(b))), "\n")
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Errorf("line %d: printed %q, want %q", i+1, got[min(i, len(got)-1)], want[min(i, len(want)-1)])
				}
			}
		})
	}
}

var setsOf = regexp.MustCompile(`(\((?:topics|stores): \[|--> |<-- )(.*?)(\]\))?(\n|$)`)

// sets sorts what Java prints in any order.
func sets(text string) string {
	return setsOf.ReplaceAllStringFunc(text, func(s string) string {
		m := setsOf.FindStringSubmatch(s)
		names := strings.Split(m[2], ", ")
		slices.Sort(names)
		return m[1] + strings.Join(names, ", ") + m[3] + m[4]
	})
}

// TestInternalTopics compares what follows from a text with the topics that
// the application made.
func TestInternalTopics(t *testing.T) {
	files, err := filepath.Glob("../../testdata/fixtures/*/*/topics.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			dir := filepath.Dir(file)
			var fixture struct{ App, Profile string }
			var topics []struct{ Topic, Kind string }
			unmarshal(t, filepath.Join(dir, "fixture.json"), &fixture)
			unmarshal(t, file, &topics)
			text, err := os.ReadFile(filepath.Join(dir, "describe.txt"))
			if err != nil {
				t.Fatal(err)
			}
			m, err := ParseText(string(text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for _, topic := range topics {
				if topic.Kind != "user" {
					want = append(want, topic.Topic)
				}
			}
			optimised := fixture.Profile == "opt"
			for _, topic := range m.Topologies[0].InternalTopics(fixture.App) {
				unlogged := topic.Bare == "nolog-kv" // the text does not tell
				if !unlogged && !(optimised && topic.Source != "") {
					got = append(got, topic.Name)
				}
			}
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func unmarshal(t *testing.T, file string, to any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}
