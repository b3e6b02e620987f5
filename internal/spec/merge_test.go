package spec

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sstool/internal/op"
	"sstool/internal/streams"
	"sstool/internal/topology"
)

// TestFromTopology takes what a text tells alone.
func TestFromTopology(t *testing.T) {
	for _, c := range []struct {
		file string
		want []string
	}{
		{"03.txt", []string{"players-STATE-STORE-0000000002 timestamped-kv sub=1", "leader-boards  sub=3", "games-STATE-STORE-0000000005 timestamped-kv global topic=games"}},
		{"12.txt", []string{"ACME-LINKS-STATE-STORE-0000000000 timestamped-kv sub=0", "KSTREAM-JOINOTHER-0000000017-store window sub=0", "KSTREAM-JOINTHIS-0000000016-store window sub=0", "ACME-STORE-COUPON  global topic=ACME-COUPONS"}},
		{"20.txt", []string{"KSTREAM-TOTABLE-STATE-STORE-0000000002 timestamped-kv sub=0", "KSTREAM-TOTABLE-STATE-STORE-0000000005 timestamped-kv sub=1", "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000010 fk-subscription sub=1"}},
		{"02.txt", []string{"KSTREAM-AGGREGATE-STATE-STORE-0000000004  sub=1"}},
	} {
		f, err := os.Open(filepath.Join("..", "..", "testdata", "topologies", c.file))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m, err := topology.Parse(f, topology.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := FromTopology(m, "app")
		if err != nil {
			t.Fatal(err)
		}
		same(t, c.file, summaries(s), c.want)
		for i := range s.Stores {
			if src := s.Stores[i].From[FieldKind]; src.Certain {
				t.Errorf("%s: kind is certain (%s), want derived: a text does not tell what is on disk", s.Stores[i].Name, src.Text)
			}
		}
		if _, err := FromTopology(m, ""); op.KindOf(err) != op.Usage {
			t.Errorf("no application id: %v, want a usage error", err)
		}
	}
}

func TestFromTopologyRefuses(t *testing.T) {
	for file, want := range map[string]string{"19.txt": "3 topologies (topology-1, topology-2, topology-3)"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "topologies", file))
		if err != nil {
			t.Fatal(err)
		}
		m, err := topology.ParseText(string(b), topology.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := FromTopology(m, "app"); op.KindOf(err) != op.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a usage error with %q", file, err, want)
		}
		m.Topologies = m.Topologies[:1]
		if _, err := FromTopology(m, "app"); op.KindOf(err) != op.Usage || !strings.Contains(err.Error(), "named topology") {
			t.Errorf("%s: %v, want a usage error about the named topology", file, err)
		}
	}
}

func TestFromTopics(t *testing.T) {
	s, err := FromTopics("app", []TopicFacts{
		{"app-counts-changelog", 4, map[string]string{"cleanup.policy": "compact"}},
		{"app-clicks-changelog", 4, map[string]string{"cleanup.policy": "compact,delete", "retention.ms": "87600000"}},
		{"app-prices-changelog", 4, map[string]string{"cleanup.policy": "compact", "min.compaction.lag.ms": "88200000"}},
		{"app-KSTREAM-JOINTHIS-0000000004-store-changelog", 4, map[string]string{"cleanup.policy": "delete", "retention.ms": "88440000"}},
		{"app-odd-changelog", 4, map[string]string{"cleanup.policy": "delete", "retention.ms": "60000"}},
		{"app-unknown-changelog", 4, nil},
		{"app-counts-repartition", 4, map[string]string{"cleanup.policy": "delete"}},
		{"application-x-changelog", 4, map[string]string{"cleanup.policy": "compact"}},
		{"other", 1, nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "stores", summaries(s), []string{
		"KSTREAM-JOINTHIS-0000000004-store window interval=17m retention=34m",
		"clicks  interval=10m retention=20m",
		"counts ",
		"odd ",
		"prices versioned interval=150s history=30m",
		"unknown ",
	})
	clicks, _ := s.Store("clicks")
	if !slices.Contains(clicks.Candidates, streams.Session) || slices.Contains(clicks.Candidates, streams.KV) {
		t.Errorf("clicks may be %v", clicks.Candidates)
	}
	for i := range s.Stores {
		for f, src := range s.Stores[i].From {
			if src.Certain {
				t.Errorf("%s: %s is certain (%s), want derived", s.Stores[i].Name, f, src.Text)
			}
		}
	}
	if _, err := FromTopics("nobody", []TopicFacts{{"app-counts-changelog", 1, nil}}); op.KindOf(err) != op.NotFound {
		t.Errorf("no changelog: %v, want not found", err)
	}
}

// stated is a specification a user wrote.
func stated(t *testing.T, stores string) *Spec {
	t.Helper()
	s, err := Parse("mine.yaml", strings.NewReader("application-id: app\nstores:\n"+stores))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMergeRules(t *testing.T) {
	topics, err := FromTopics("app", []TopicFacts{
		{"app-a-changelog", 2, map[string]string{"cleanup.policy": "compact,delete", "retention.ms": "87600000"}},
		{"app-b-changelog", 2, map[string]string{"cleanup.policy": "compact"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	// Certain wins over derived whatever the order; what nobody says stays derived.
	mine := stated(t, "  - {name: a, kind: session, subtopology: 4, retention: 1h}\n")
	for _, order := range [][]*Spec{{mine, topics}, {topics, mine}} {
		s, err := Merge(order...)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := s.Store("a")
		if got := summary(a, "app"); got != "a session sub=4 interval=10m retention=1h" {
			t.Errorf("a is %q", got)
		}
		if u := a.Uncertain(); !slices.Equal(u, []Field{FieldSegmentInterval}) {
			t.Errorf("derived %v, want the interval alone", u)
		}
	}
	// Candidates of two sources that leave one kind make it.
	one := &Spec{ApplicationID: "app", Stores: []Store{{Store: streams.Store{Name: "b"}, Candidates: []streams.Kind{streams.KV, streams.Session}}}}
	s, err := Merge(topics, one)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := s.Store("b"); b.Kind != streams.KV || b.From[FieldKind].Certain {
		t.Errorf("b is %q, certain %v; want kv, derived", b.Kind, b.From[FieldKind].Certain)
	}
	// A topology knows all stores.
	m, err := topology.ParseText("Topologies:\n   Sub-topology: 0\n    Source: s (topics: [t])\n      --> p\n    Processor: p (stores: [a])\n      --> none\n      <-- s\n", topology.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := FromTopology(m, "app")
	if err != nil {
		t.Fatal(err)
	}
	s, err = Merge(text, topics)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Stores) != 1 || len(s.Excluded) != 1 || s.Excluded[0].Name != "b" {
		t.Errorf("stores %v, excluded %+v; want a, and b left out", summaries(s), s.Excluded)
	}
}

// TestMergeMissingOnDisk: a changelog whose store is in no task directory is of
// a store in memory, with and without a topology.
func TestMergeMissingOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "app")
	for _, path := range []string{"0_0/rocksdb/a", "1_0/rocksdb/b"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	disk, err := FromStateDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	compact := map[string]string{"cleanup.policy": "compact"}
	topics, err := FromTopics("app", []TopicFacts{
		{"app-a-changelog", 1, compact}, {"app-cache-changelog", 1, compact},
		{"app-prices-changelog", 1, map[string]string{"cleanup.policy": "compact", "min.compaction.lag.ms": "88200000"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]*Spec{{disk, topics}, {topics, disk}} {
		s, err := Merge(order...)
		if err != nil {
			t.Fatal(err)
		}
		cache, ok := s.Store("cache")
		if src := cache.From[FieldKind]; !ok || cache.Kind != streams.InMemory || src.Certain || !strings.Contains(src.Text, "0_0, 1_0") {
			t.Errorf("cache is %q (%+v), want in-memory, derived from the task directories", cache.Kind, src)
		}
		if m := cache.Missing(); len(m) > 0 {
			t.Errorf("cache lacks %v", m)
		}
		if a, _ := s.Store("a"); a.Kind == streams.InMemory {
			t.Error("a is on disk")
		}
		if p, _ := s.Store("prices"); p.Kind != streams.Versioned {
			t.Errorf("prices is %s: versioned stores are never in memory", p.Kind)
		}
	}
	if s, err := Merge(topics); err != nil {
		t.Fatal(err)
	} else if cache, _ := s.Store("cache"); cache.Kind != "" {
		t.Errorf("without a state directory cache is %s", cache.Kind)
	}
}

func TestMergeConflicts(t *testing.T) {
	base := stated(t, "  - {name: a, kind: session, subtopology: 4}\n")
	for name, c := range map[string]struct{ other, want string }{
		"kind":        {"  - {name: a, kind: window}\n", `store "a": kind is session (mine.yaml line 3), and window (mine.yaml line 3)`},
		"subtopology": {"  - {name: a, subtopology: 5}\n", `store "a": subtopology is 4`},
	} {
		_, err := Merge(base, stated(t, c.other))
		if op.KindOf(err) != op.Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a usage error with %q", name, err, c.want)
		}
	}
	other, err := Parse("x", strings.NewReader("application-id: other\nstores: [{name: a}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(base, other); op.KindOf(err) != op.Usage || !strings.Contains(err.Error(), "application-id is app") {
		t.Errorf("two applications: %v", err)
	}
	if _, err := Merge(); op.KindOf(err) != op.Usage {
		t.Errorf("nothing: %v, want a usage error", err)
	}
}

func TestStateDirErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := FromStateDir(filepath.Join(dir, "nowhere")); op.KindOf(err) != op.NotFound {
		t.Errorf("no directory: %v, want not found", err)
	}
	if _, err := FromStateDir(dir); op.KindOf(err) != op.NotFound {
		t.Errorf("no application: %v, want not found", err)
	}
	for _, app := range []string{"one", "two"} {
		if err := os.MkdirAll(filepath.Join(dir, app, "0_0", "rocksdb", "s"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := FromStateDir(dir); op.KindOf(err) != op.Usage || !strings.Contains(err.Error(), "one, two") {
		t.Errorf("two applications: %v, want a usage error that names them", err)
	}
	one := filepath.Join(dir, "one")
	s, err := FromStateDir(one)
	if err != nil {
		t.Fatal(err)
	}
	if st := s.Stores[0]; st.Kind != "" || len(st.Candidates) < 2 {
		t.Errorf("a store never opened is %q of %v, want no kind", st.Kind, st.Candidates)
	}
	db := filepath.Join(one, "0_0", "rocksdb", "s")
	if err := os.WriteFile(filepath.Join(db, "CURRENT"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := FromStateDir(one); op.KindOf(err) != op.Corrupt {
		t.Errorf("damaged CURRENT: %v, want corrupt", err)
	}
	if err := os.Remove(filepath.Join(db, "CURRENT")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(one, "1_0", "rocksdb", "s"), 0o755); err != nil {
		t.Fatal(err)
	}
	if s, err = FromStateDir(one); err != nil {
		t.Fatal(err)
	}
	if st := s.Stores[0]; st.Subtopology != nil {
		t.Errorf("a store in 0_0 and 1_0 is in sub-topology %d, want it not known", *st.Subtopology)
	}
}
