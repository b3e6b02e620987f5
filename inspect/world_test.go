package inspect

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sstool/internal/kafka"
	"sstool/internal/streams"
	"sstool/internal/worldtest"
)

// TestRealApplications is the proof on the real thing: applications with every
// kind of store are looked at while they run under load, their files coming
// and going; and once they are closed, everything that is told of them is held
// against what Kafka Streams' own RocksDB reads, what Kafka Streams answers to
// queries, and what a plain consumer reads of the changelogs.
func TestRealApplications(t *testing.T) {
	worldtest.Require(t)
	b := worldtest.StartBroker(t, worldtest.Options{})
	c, err := kafka.Open(context.Background(), kafka.Config{Bootstrap: []string{b.Bootstrap}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, v := range worldtest.Chosen(worldtest.Oldest, worldtest.Newest) {
		t.Run(v, func(t *testing.T) {
			h := worldtest.Streams(t, v)
			var wg sync.WaitGroup
			defer wg.Wait()
			sem := make(chan struct{}, 4) // applications mostly wait
			for _, w := range worldApps(v) {
				wg.Go(func() {
					sem <- struct{}{}
					defer func() { <-sem }()
					t.Run(w.name(), func(t *testing.T) { w.broker, w.harness, w.client = b, h, c; w.run(t) })
				})
			}
		})
	}
}

// worldApp is one real application.
type worldApp struct {
	profile worldtest.Profile
	eos     bool
	clean   bool // the log cleaner goes over one of its changelogs

	broker  *worldtest.Broker
	harness *worldtest.Harness
	client  *kafka.Client
	app     worldtest.App
	stores  []worldtest.Store
}

func (w *worldApp) name() string {
	return w.profile.Name + map[bool]string{true: "-eos"}[w.eos]
}

// worldApps are the applications of one version: all with both guarantees in
// the full matrix, else each kind of store by the oldest or the newest version.
func worldApps(version string) (out []*worldApp) {
	only := os.Getenv("SSTOOL_PROFILES")
	representative := map[string][]string{
		worldtest.Oldest: {"papi", "win-eos", "tjoin"},
		worldtest.Newest: {"papi-eos", "papi-h-eos", "ssjoin"},
	}
	for _, name := range []string{"papi", "papi-h", "win", "ssjoin", "tjoin"} {
		p := worldtest.ProfileNamed(name)
		for _, eos := range []bool{false, true} {
			w := &worldApp{profile: p, eos: eos, clean: name == "papi"}
			if !p.Supports(version) || only != "" && !slices.Contains(strings.Split(only, ","), w.name()) {
				continue
			}
			if worldtest.Full() || only != "" || slices.Contains(representative[version], w.name()) {
				out = append(out, w)
			}
		}
	}
	return out
}

func (w *worldApp) run(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	id := w.name() + "-look-" + strings.ReplaceAll(w.harness.Version, ".", "")
	w.app = w.profile.App(id, w.broker.Bootstrap, t.TempDir(), w.eos).Busy()
	w.stores = w.profile.Stores(id)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	lap := func(what string) { t.Logf("%s: %.1f s", what, time.Since(begun).Seconds()); begun = time.Now() }
	must(w.harness.Start(ctx, w.app))
	lap("start")
	answers := w.underLoad(ctx, t)
	lap("under load")
	rows, err := w.harness.DumpRows(ctx, w.app.Dir())
	must(err)
	lap("dump of rows")
	before := fileTimes(t, w.app.Dir())
	w.checkMap(ctx, t, rows)
	w.checkRows(ctx, t, rows, answers)
	for _, s := range w.stores {
		if s.Topic != "" && !s.Source {
			w.checkChangelog(ctx, t, s, false)
		}
	}
	if w.clean {
		for _, s := range w.stores {
			if s.Name == "ts-kv" {
				must(w.broker.Compact(ctx, s.Topic))
				if gaps := w.checkChangelog(ctx, t, s, true); gaps == 0 {
					t.Errorf("%s was cleaned and has no gaps", s.Topic)
				}
			}
		}
	}
	if after := fileTimes(t, w.app.Dir()); !maps.Equal(before, after) {
		t.Errorf("the directory is not as it was:\n%v\n%v", before, after)
	}
	lap("checks")
}

// checkMap holds the map against the rows: kinds, live keys, offsets.
func (w *worldApp) checkMap(ctx context.Context, t *testing.T, rows worldtest.Rows) {
	m, err := MapPath(ctx, MapOptions{Path: w.app.Dir(), Client: w.client}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := m.Apps[0]
	found := map[string]int{}
	for _, s := range a.Stores {
		found[s.Name]++
		want := w.store(s.Name)
		if want == nil {
			t.Errorf("a store %s of task %s is told, which does not exist", s.Name, s.Task)
			continue
		}
		w.checkKind(t, want, &s)
		n := int64(0)
		for db, families := range rows.Of(s.Name) {
			if strings.HasPrefix(db, s.Task+"/") {
				for family, list := range families {
					if family != worldtest.OffsetsFamily {
						n += int64(len(list))
					}
				}
			}
		}
		switch k := s.Keys; {
		case k.Count == nil:
			t.Errorf("%s of %s: live keys are not known: %s", s.Name, s.Task, k.Why)
		case k.Exact && *k.Count != n:
			t.Errorf("%s of %s: %d keys, exactly, but there are %d", s.Name, s.Task, *k.Count, n)
		case !k.Exact && *k.AtMost < n:
			t.Errorf("%s of %s: at most %d keys, but there are %d", s.Name, s.Task, *k.AtMost, n)
		}
		for _, r := range s.Remarks {
			if r.Level == Problem {
				t.Errorf("%s of %s: %s", s.Name, s.Task, r.What)
			}
		}
		if want.Topic != "" && (s.Cluster == nil || s.Cluster.Lag == nil) {
			t.Errorf("%s of %s: lag is not measured: %+v", s.Name, s.Task, s.Cluster)
		} else if want.Topic != "" && *s.Cluster.Lag > 2 { // a transaction ends with a marker
			t.Errorf("%s of %s: lag %d of a closed application", s.Name, s.Task, *s.Cluster.Lag)
		}
	}
	for _, s := range w.stores {
		if n := found[s.Name]; s.OnDisk() && n != s.Partitions && !s.Global || s.Global && n != 1 || !s.OnDisk() && n != 0 {
			t.Errorf("%s is told of %d tasks", s.Name, n)
		}
	}
	for _, r := range append(m.Remarks, a.Remarks...) {
		if r.Level == Problem {
			t.Errorf("%s: %s", r.Where, r.What)
		}
	}
	if len(m.Unreadable) > 0 {
		t.Errorf("unreadable: %v", m.Unreadable)
	}
}

func (w *worldApp) store(name string) *worldtest.Store {
	for i := range w.stores {
		if w.stores[i].Name == name {
			return &w.stores[i]
		}
	}
	return nil
}

// checkKind holds a kind against the topology's: what is certain is right, what
// is not says what it may be.
func (w *worldApp) checkKind(t *testing.T, want *worldtest.Store, s *MapStore) {
	switch {
	case s.Kind.Kind != nil && (*s.Kind.Kind != want.Kind || s.Kind.Headers != want.Headers):
		t.Errorf("%s of %s: %s (%s, headers %t: %s), is %s, headers %t", s.Name, s.Task, *s.Kind.Kind, s.Kind.Certainty, s.Kind.Headers, s.Kind.Why, want.Kind, want.Headers)
	case s.Kind.Kind == nil && !slices.Contains(s.Kind.Candidates, want.Kind):
		t.Errorf("%s of %s: one of %v, is %s", s.Name, s.Task, s.Kind.Candidates, want.Kind)
	case s.Kind.Certainty != Certain:
		t.Errorf("%s of %s: %s is %s: %s", s.Name, s.Task, want.Kind, s.Kind.Certainty, s.Kind.Why)
	}
}

// checkRows holds scans and lookups of every store against RocksDB's rows and
// against the answers to queries.
func (w *worldApp) checkRows(ctx context.Context, t *testing.T, rows worldtest.Rows, answers map[string]worldtest.StoreAnswer) {
	truth := map[string]map[string]string{}
	for db, families := range rows {
		truth[db] = map[string]string{}
		for family, list := range families {
			for _, r := range list {
				if family != worldtest.OffsetsFamily {
					truth[db][hex.EncodeToString(r.Key)] = hex.EncodeToString(r.Value)
				}
			}
		}
	}
	for _, s := range w.stores {
		if !s.OnDisk() {
			continue
		}
		r := openRows(t, RowsOptions{Path: w.app.Dir(), Store: s.Name})
		if r.kind != streams.Kind(s.Kind) {
			t.Errorf("%s: rows of kind %q, is %s", s.Name, r.kind, s.Kind)
			continue
		}
		checkRows(t, w.app.Dir(), r, truth)
		checkGets(t, r)
		if !s.Global {
			w.checkAnswers(ctx, t, s, r, answers[s.Name])
		}
	}
}

// checkAnswers holds a scan against what Kafka Streams answers: everything it
// answers is shown; and the other way round, except for windows that it hides
// because they have expired.
func (w *worldApp) checkAnswers(ctx context.Context, t *testing.T, s worldtest.Store, r *Rows, a worldtest.StoreAnswer) {
	shown := map[string][]string{} // what a line begins with → what may follow
	n := 0
	var times []int64
	_, err := r.Scan(ctx, RowsScan{History: r.kind == streams.Versioned}, func(row *Row) error {
		n++
		_, part, _ := strings.Cut(row.Task, "_")
		line := part + " " + string(row.Key.Bytes)
		switch {
		case windows(r.kind):
			line += fmt.Sprintf("@%d..", *row.Start)
		case sessions(r.kind):
			line += fmt.Sprintf("@%d..%d = ", *row.Start, *row.End)
		case r.kind == streams.Versioned:
			line += fmt.Sprintf("@%d..", *row.ValidFrom)
			if row.ValidTo != nil {
				line += strconv.FormatInt(*row.ValidTo, 10)
			}
			line += " = "
		default:
			line += " = "
		}
		value := string(row.Value.Bytes)
		if len(row.Value.Bytes) == 8 { // a count
			row.Decode()
			value = fmt.Sprint(row.Value.Data)
		}
		shown[line] = append(shown[line], value)
		if at := r.timeOf(row); at != nil {
			times = append(times, *at)
		}
		return nil
	})
	if err != nil {
		t.Errorf("scan %s: %v", s.Name, err)
		return
	}
	if a.Type == "unreadable" {
		return // joins' windows and other internal stores cannot be queried
	}
	if r.kind == streams.List || r.kind == streams.FKSubscription || r.kind == streams.GraceBuffer { // answered as objects of Java
		if len(a.Rows) != n {
			t.Errorf("%s: Kafka Streams answers %d rows, a scan shows %d", s.Name, len(a.Rows), n)
		}
		return
	}
	for _, line := range a.Rows {
		end := strings.Index(line, " = ") + len(" = ")
		if windows(r.kind) {
			end = strings.Index(line, "..") + len("..")
		}
		if !slices.ContainsFunc(shown[line[:end]], func(v string) bool { return strings.Contains(line[end:], v) }) {
			t.Errorf("%s: Kafka Streams answers %q, a scan shows %q", s.Name, line, shown[line[:end]])
			return
		}
	}
	expired := 0
	if len(times) > 0 && (r.kind == streams.Versioned || windows(r.kind) || sessions(r.kind)) {
		// Kafka Streams goes by the task's own time, which deletes move on too.
		until := slices.Max(times) - max(s.Retention, s.HistoryRetention).Milliseconds() + (2 * time.Minute).Milliseconds()
		for _, at := range times {
			if at < until {
				expired++
			}
		}
	}
	if len(a.Rows) > n || len(a.Rows) < n-expired {
		t.Errorf("%s: Kafka Streams answers %d rows, a scan shows %d, of which %d may have expired", s.Name, len(a.Rows), n, expired)
	}
}

// fileTime is what must not change of a file.
type fileTime struct {
	mode     os.FileMode
	size     int64
	modified time.Time
}

// fileTimes are all files and directories below dir.
func fileTimes(t *testing.T, dir string) map[string]fileTime {
	t.Helper()
	out := map[string]fileTime{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) {
				return nil // of an application that runs
			}
			return err
		}
		if st, err := d.Info(); err == nil {
			out[path] = fileTime{st.Mode(), st.Size(), st.ModTime()}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
