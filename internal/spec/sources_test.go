package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/topology"
)

// truth is what each profile of testdata/world declares, as summary prints it:
// stores on disk in the order of a specification. APP is the application id.
func truth() map[string][]string {
	return map[string][]string{
		"papi": {
			"dup-win window sub=0 interval=10m retention=20m",
			"plain-kv kv sub=0",
			"plain-win window sub=0 interval=10m retention=20m",
			"session session sub=0 interval=10m retention=20m",
			"ts-kv timestamped-kv sub=0",
			"ts-win timestamped-window sub=0 interval=10m retention=20m",
			"versioned versioned sub=0 interval=150s history=30m",
		},
		"papi-h": {
			"h-kv timestamped-kv headers sub=0",
			"h-session session headers sub=0 interval=10m retention=20m",
			"h-win timestamped-window headers sub=0 interval=10m retention=20m",
		},
		"agg": {
			"adapter-cnt kv sub=0",
			"cnt timestamped-kv sub=0",
			"cog timestamped-kv sub=0",
			"totable timestamped-kv sub=0",
			"KSTREAM-REDUCE-STATE-STORE-0000000005 timestamped-kv sub=1",
			"KSTREAM-AGGREGATE-STATE-STORE-0000000011 timestamped-kv sub=2",
			"flt timestamped-kv sub=3",
			"vtbl versioned sub=3 interval=150s history=30m",
			"tcnt timestamped-kv sub=4",
		},
		"win": {
			"adapter-win window sub=0 interval=3m retention=6m",
			"sess session sub=0 interval=195s retention=390s",
			"sess-emit time-ordered-session sub=0 interval=195s retention=390s",
			"slide timestamped-window sub=0 interval=210s retention=7m",
			"slide-emit time-ordered-window sub=0 interval=210s retention=7m index=true",
			"win-cnt timestamped-window sub=0 interval=3m retention=6m",
			"win-emit time-ordered-window sub=0 interval=3m retention=6m index=false",
		},
		"win-headers": {
			"adapter-win window sub=0 interval=3m retention=6m",
			"sess session headers sub=0 interval=195s retention=390s",
			"sess-emit time-ordered-session headers sub=0 interval=195s retention=390s",
			"slide timestamped-window headers sub=0 interval=210s retention=7m",
			"slide-emit time-ordered-window headers sub=0 interval=210s retention=7m index=true",
			"win-cnt timestamped-window headers sub=0 interval=3m retention=6m",
			"win-emit time-ordered-window headers sub=0 interval=3m retention=6m index=true",
		},
		"ssjoin": {
			"KSTREAM-JOINOTHER-0000000005-store window sub=0 interval=17m retention=34m",
			"KSTREAM-JOINTHIS-0000000004-store window sub=0 interval=17m retention=34m",
			"KSTREAM-OUTEROTHER-0000000023-store window sub=0 interval=17m retention=34m",
			"KSTREAM-OUTERSHARED-0000000022-store list sub=0",
			"KSTREAM-OUTERTHIS-0000000022-store window sub=0 interval=17m retention=34m",
			"lj-left-shared-join-store list sub=0",
			"lj-outer-other-join-store window sub=0 interval=17m retention=34m",
			"lj-this-join-store window sub=0 interval=17m retention=34m",
			"oj-outer-other-join-store window sub=0 interval=17m retention=34m",
			"oj-outer-shared-join-store list sub=0",
			"oj-outer-this-join-store window sub=0 interval=17m retention=34m",
		},
		"tjoin": {
			"KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000025 fk-subscription sub=0",
			"fk-out timestamped-kv sub=0",
			"fkj-subscription-store fk-subscription sub=0",
			"t1 timestamped-kv sub=0",
			"t1t2 timestamped-kv sub=0",
			"APP-t2-STATE-STORE-0000000002 timestamped-kv sub=0",
			"gj-Buffer grace-buffer sub=1",
			"vt versioned sub=1 interval=5m history=1h",
			"gtbl timestamped-kv global topic=APP-g",
		},
		"opt": {
			"j timestamped-kv sub=0",
			"src-tbl timestamped-kv sub=0 topic=APP-t1 source",
			"APP-t2-STATE-STORE-0000000002 timestamped-kv sub=0 topic=APP-t2 source",
			"KSTREAM-AGGREGATE-STATE-STORE-0000000014 timestamped-kv sub=2",
			"c1 timestamped-kv sub=2",
			"user-global kv global topic=APP-g",
		},
	}
}

// inMemory are the stores of a profile that are not on disk.
func inMemory() map[string][]string {
	return map[string][]string{
		"papi":        {"lru-kv in-memory sub=0", "mem-kv in-memory sub=0"},
		"papi-h":      {"h-mem in-memory sub=0"},
		"agg":         {"mem-cnt in-memory sub=0"},
		"win":         {"mem-win in-memory sub=0", "sup-store in-memory sub=0"},
		"win-headers": {"mem-win in-memory sub=0", "sup-store in-memory sub=0"},
	}
}

func summary(s *Store, app string) string {
	parts := []string{strings.ReplaceAll(s.Name, app, "APP"), string(s.Kind)}
	add := func(on bool, format string, args ...any) {
		if on {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(s.Headers, "headers")
	if s.Subtopology != nil {
		add(true, "sub=%d", *s.Subtopology)
	}
	add(s.Global, "global")
	add(s.Topic != "", "topic=%s", strings.ReplaceAll(s.Topic, app, "APP"))
	add(s.SourceTopic, "source")
	add(s.SegmentInterval != 0, "interval=%s", FormatDuration(s.SegmentInterval))
	add(s.Retention != 0, "retention=%s", FormatDuration(s.Retention))
	add(s.HistoryRetention != 0, "history=%s", FormatDuration(s.HistoryRetention))
	add(s.Has(FieldWithIndex), "index=%v", s.WithIndex)
	return strings.Join(parts, " ")
}

func summaries(s *Spec) []string {
	var out []string
	for i := range s.Stores {
		out = append(out, summary(&s.Stores[i], s.ApplicationID))
	}
	return out
}

// profile is the profile of a fixture, "opt" of "4.0.2-opt-alos".
func profile(name string) string {
	_, name, _ = strings.Cut(name, "-")
	name = strings.TrimSuffix(strings.TrimSuffix(name, "-alos"), "-eos")
	if name == "winb" {
		return "win"
	}
	return name
}

// fixture is one application: its state directory and what is beside it.
type fixture struct{ name, dir, app string }

// fixtures are the archives of lsmtest, or the whole set when SSTOOL_FIXTURES
// names it.
func fixtures(t *testing.T) []fixture {
	t.Helper()
	var out []fixture
	if root := os.Getenv("SSTOOL_FIXTURES"); root != "" {
		apps, err := filepath.Glob(filepath.Join(root, "*", "*", "state", "*"))
		if err != nil || len(apps) == 0 {
			t.Fatalf("no state directories under %s: %v", root, err)
		}
		for _, app := range apps {
			dir := filepath.Dir(filepath.Dir(app))
			name := filepath.Base(filepath.Dir(dir)) + "-" + strings.TrimPrefix(filepath.Base(dir), "mini-")
			out = append(out, fixture{name, dir, app})
		}
		return out
	}
	for _, name := range lsmtest.Names(t) {
		dir, app := lsmtest.Unpack(t, name)
		out = append(out, fixture{name, dir, app})
	}
	return out
}

// withoutTimes drops what is not on disk from a line of the truth.
func withoutTimes(lines []string) []string {
	var out []string
	for _, l := range lines {
		parts := slices.DeleteFunc(strings.Fields(l), func(s string) bool {
			return strings.HasPrefix(s, "retention=") || strings.HasPrefix(s, "history=")
		})
		out = append(out, strings.Join(parts, " "))
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// TestFromStateDir reads real directories: what it says agrees with what the
// applications declare, and all of it is certain.
func TestFromStateDir(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			s, err := FromStateDir(f.app)
			if err != nil {
				t.Fatal(err)
			}
			want := truth()[profile(f.name)]
			if want == nil {
				t.Fatalf("no truth for profile %q", profile(f.name))
			}
			same(t, "stores", summaries(s), withoutTimes(want))
			for _, st := range s.Stores {
				u := st.Uncertain()
				// Up to 4.2 the checkpoint does not say whose topic it lists.
				if st.Name == "src-tbl" && len(u) == 2 {
					continue
				}
				if len(u) > 0 {
					t.Errorf("%s: %v is derived, want it certain", st.Name, u)
				}
			}
			if profile(f.name) == "papi" && (len(s.Excluded) != 1 || s.Excluded[0].Name != "nolog-kv") {
				t.Errorf("excluded %+v, want nolog-kv, whose logging is off", s.Excluded)
			}
			above, err := FromStateDir(filepath.Dir(f.app))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "from the state.dir above", summaries(above), summaries(s))
		})
	}
}

func topicFacts(t *testing.T, path string) []TopicFacts {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var in []struct {
		Topic      string
		Configs    map[string]string
		Partitions []struct{ Partition int }
	}
	if err := json.Unmarshal(b, &in); err != nil {
		t.Fatal(err)
	}
	var out []TopicFacts
	for _, x := range in {
		out = append(out, TopicFacts{x.Topic, len(x.Partitions), x.Configs})
	}
	return out
}

// TestMerge joins state directory, topology and topics: everything that was
// declared is there, retention derived from the topics.
func TestMerge(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			disk, err := FromStateDir(f.app)
			if err != nil {
				t.Fatal(err)
			}
			file, err := os.Open(filepath.Join(f.dir, "describe.txt"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			m, err := topology.Parse(file, topology.Options{})
			if err != nil {
				t.Fatal(err)
			}
			text, err := FromTopology(m, filepath.Base(f.app))
			if err != nil {
				t.Fatal(err)
			}
			topics, err := FromTopics(filepath.Base(f.app), topicFacts(t, filepath.Join(f.dir, "topics.json")))
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(truth()[profile(f.name)])
			want = append(want, inMemory()[profile(f.name)]...)
			slices.Sort(want)
			for _, order := range [][]*Spec{{disk, text, topics}, {topics, text, disk}, {text, disk, topics}} {
				s, err := Merge(order...)
				if err != nil {
					t.Fatal(err)
				}
				got := summaries(s)
				slices.Sort(got)
				same(t, "merged", got, want)
				checkPrint(t, s)
			}
		})
	}
}

// checkPrint prints a specification, reads it back, and compares.
func checkPrint(t *testing.T, s *Spec) {
	t.Helper()
	var b bytes.Buffer
	if err := Print(&b, s, PrintOptions{AcceptDerived: true}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	back, err := Parse("spec.yaml", &b)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	same(t, "read back from\n"+text, summaries(back), summaries(s))
	b.Reset()
	if err := Print(&b, s, PrintOptions{}); err != nil {
		t.Fatal(err)
	}
	back, err = Parse("spec.yaml", &b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range back.Stores {
		st, _ := s.Store(back.Stores[i].Name)
		for _, f := range st.Uncertain() {
			if f != FieldName && back.Stores[i].Has(f) {
				t.Errorf("%s: derived %s was printed as if it were stated", st.Name, f)
			}
		}
	}
}
