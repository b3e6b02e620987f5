package migrate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sstool/internal/clienttest"
	"sstool/internal/kafka"
	"sstool/internal/kafkatest"
	"sstool/internal/op"
)

const app = "app"

// world is an embedded cluster with a client.
type world struct {
	*kafkatest.Cluster
	client *kafka.Client
}

func newWorld(t testing.TB) *world {
	t.Helper()
	k, c := clienttest.Start(t, kafkatest.Options{})
	return &world{k, c}
}

// fill makes a topic with all that a changelog may hold: null and empty values,
// headers, committed and aborted transactions.
func (w *world) fill(t testing.TB, topic string, partitions int32, n int, seed uint64) {
	t.Helper()
	if err := w.Topic(topic, partitions, "cleanup.policy", "compact", "segment.bytes", "10485760"); err != nil {
		t.Fatal(err)
	}
	w.more(t, topic, partitions, n, seed)
}

func (w *world) more(t testing.TB, topic string, partitions int32, n int, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	for left := n; left > 0; {
		recs := make([]kafkatest.Record, 0, 50)
		for range min(left, 1+r.IntN(50)) {
			rec := kafkatest.Record{Partition: r.Int32N(partitions), Timestamp: 1_700_000_000_000 + r.Int64N(1<<30), Key: fmt.Appendf(nil, "key-%d", r.IntN(n/2+1))}
			switch r.IntN(8) {
			case 0:
			case 1:
				rec.Value = []byte{}
			default:
				rec.Value = fmt.Appendf(nil, "value-%d", r.Int64())
			}
			for i := range r.IntN(3) {
				rec.Headers = append(rec.Headers, kafkatest.Header{Key: fmt.Sprint("h", i), Value: []byte{byte(i)}})
			}
			recs = append(recs, rec)
		}
		left -= len(recs)
		var err error
		switch r.IntN(4) {
		case 0:
			err = w.Transaction(t.Context(), topic, false, recs...)
		case 1, 2:
			err = w.Transaction(t.Context(), topic, true, recs...)
		default:
			err = w.ProduceAll(t.Context(), topic, recs...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// rec is a record as a test compares it.
type rec struct {
	Key, Value, Headers string
	Null                bool
	Timestamp           int64
}

// records are what read_committed sees of each partition, with the offsets.
func (w *world) records(t testing.TB, topic string) (recs [][]rec, offsets [][]int64) {
	t.Helper()
	ends, err := w.client.Offsets(t.Context(), topic, nil)
	if err != nil {
		t.Fatal(err)
	}
	recs, offsets = make([][]rec, len(ends)), make([][]int64, len(ends))
	for p, e := range ends {
		_, err := readSome(t.Context(), w.client, kafka.ReadOptions{Topic: topic, Partition: p, From: e.Start, To: e.End, ReadCommitted: true}, func(r *kafka.Record) error {
			recs[p] = append(recs[p], rec{string(r.Key), string(r.Value), string(r.Headers), r.Value == nil, r.Timestamp})
			offsets[p] = append(offsets[p], r.Offset)
			return nil
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
	}
	return recs, offsets
}

func (w *world) plan(t testing.TB, dir string, o MigrationOptions, names ...NamePair) (*MigrationPlan, error) {
	t.Helper()
	moves, topics, err := ResolveRename(t.Context(), w.client, RenameOptions{ApplicationID: app, Names: names})
	if err != nil {
		return nil, err
	}
	o.Kind, o.OldApp, o.NewApp, o.Moves, o.Topics, o.LedgerDir = Rename, app, app, moves, topics, dir
	return PlanMigration(t.Context(), w.client, o, nil)
}

// wantCopy compares a topic with its copy, record by record, and the offset map
// with both.
func (w *world) wantCopy(t testing.TB, m *Migration, old, new string) {
	t.Helper()
	want, at := w.records(t, old)
	got, _ := w.records(t, new)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s differs from %s", new, old)
	}
	for p, offsets := range at {
		om := m.Maps()[old].Partitions[p]
		for i, o := range offsets {
			if n, ok := om.Map(o); !ok || n != int64(i) {
				t.Fatalf("partition %d: offset %d is mapped to %d %t, want %d", p, o, n, ok, i)
			}
			if n := om.Position(o); n != int64(i) {
				t.Fatalf("partition %d: position %d is mapped to %d, want %d", p, o, n, i)
			}
		}
	}
}

func TestRename(t *testing.T) {
	w := newWorld(t)
	w.fill(t, "app-counts-changelog", 3, 3000, 1)
	dir := t.TempDir()
	p, err := w.plan(t, dir, MigrationOptions{}, NamePair{"counts", "totals"})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Moves) != 1 || len(p.Topics) != 1 || len(p.Steps) != 4 || p.Resumed {
		t.Fatalf("plan %+v", p)
	}
	if _, err := w.client.Topic(t.Context(), "app-totals-changelog"); op.KindOf(err) != op.NotFound {
		t.Fatalf("the plan made the topic: %v", err)
	}
	res, err := p.Apply(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !res.Completed || len(res.Copies) != 1 || !res.Copies[0].Verified {
		t.Fatalf("result %+v", res)
	}
	m, err := ReadMigration(p.File)
	if err != nil {
		t.Fatal(err)
	}
	w.wantCopy(t, m, "app-counts-changelog", "app-totals-changelog")
	conf, err := w.client.TopicOverrides(t.Context(), "app-totals-changelog")
	if want := map[string]string{"cleanup.policy": "compact", "segment.bytes": "10485760"}; err != nil || !reflect.DeepEqual(conf, want) {
		t.Fatalf("the copy has the settings %v, want %v: %v", conf, want, err)
	}
	// Again: there is nothing left to do.
	p, err = w.plan(t, dir, MigrationOptions{}, NamePair{"counts", "totals"})
	if err != nil || !p.Completed {
		t.Fatalf("again: %+v %v", p, err)
	}
	// Without the file, the new name is taken.
	if _, err = w.plan(t, t.TempDir(), MigrationOptions{}, NamePair{"counts", "totals"}); op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), "exists already") {
		t.Fatalf("without the file: %v", err)
	}
}

var errCrash = errors.New("crash")

// TestRenameCrash stops a rename before, in and behind every step; the next run
// ends in the same state, and the old topic is as it was.
func TestRenameCrash(t *testing.T) {
	w := newWorld(t)
	for step := range 4 {
		for _, when := range []string{"before", "in", "behind"} {
			name := fmt.Sprintf("s%d%s", step, when)
			old, new := "app-"+name+"-changelog", "app-new-"+name+"-changelog"
			w.fill(t, old, 2, 600, uint64(step))
			before, _ := w.records(t, old)
			dir := t.TempDir()
			p, err := w.plan(t, dir, MigrationOptions{}, NamePair{name, "new-" + name})
			if err != nil {
				t.Fatal(err)
			}
			do := p.Steps[step].Do
			p.Steps[step].Do = func(ctx context.Context, m *Migration, sink op.Sink) error {
				switch when {
				case "in":
					c, cancel := context.WithCancel(ctx)
					n := 0
					defer cancel()
					return errors.Join(do(c, m, func(e op.Event) {
						if n++; n > 1 {
							cancel()
						}
					}), errCrash)
				case "behind":
					if err := do(ctx, m, sink); err != nil {
						return err
					}
				}
				return errCrash
			}
			if _, err := p.Apply(t.Context(), nil); !errors.Is(err, errCrash) {
				t.Fatalf("%s: %v", name, err)
			}
			if after, _ := w.records(t, old); !reflect.DeepEqual(after, before) {
				t.Fatalf("%s: the old topic has changed", name)
			}
			p, err = w.plan(t, dir, MigrationOptions{}, NamePair{name, "new-" + name})
			if err != nil || !p.Resumed {
				t.Fatalf("%s: again: %v", name, err)
			}
			if _, err := p.Apply(t.Context(), nil); err != nil {
				t.Fatalf("%s: again: %v", name, err)
			}
			m, err := ReadMigration(filepath.Join(dir, p.ID+".json"))
			if err != nil {
				t.Fatal(err)
			}
			w.wantCopy(t, m, old, new)
		}
	}
}

// TestRenameContinues copies a topic in pieces: each run is stopped after some
// records, some of them unknown to the ledger, and the topic grows in between.
func TestRenameContinues(t *testing.T) {
	w := newWorld(t)
	const old, new = "app-counts-changelog", "app-totals-changelog"
	w.fill(t, old, 2, 500, 3)
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 1))
	unnoted := false
	for run := range 6 {
		p, err := w.plan(t, dir, MigrationOptions{}, NamePair{"counts", "totals"})
		if err != nil {
			t.Fatal(err)
		}
		led, _, err := openLedger[Migration](p.File)
		if err != nil {
			t.Fatal(err)
		}
		p.run = &running{led: led}
		if run == 0 {
			if err := p.note(); err != nil {
				t.Fatal(err)
			}
			if err := p.Steps[0].Do(t.Context(), p.m, nil); err != nil {
				t.Fatal(err)
			}
			p.m.Done["create:"+new] = p.m.Begun
		}
		k := p.copying(p.m.topic(old), nil)
		if !unnoted {
			for i := range k.topic.Partitions {
				p := &k.topic.Partitions[i]
				from, _ := p.Map.End()
				p.End = from + r.Int64N(p.End-from+1)
			}
		}
		if unnoted = run%2 == 1; unnoted {
			k.note = func() error { return nil } // killed before it was noted
		}
		if err := k.copyAll(t.Context()); err != nil {
			t.Fatalf("run %d: %v", run, err)
		}
		led.close()
		w.more(t, old, 2, 200, uint64(100+run))
	}
	p, err := w.plan(t, dir, MigrationOptions{}, NamePair{"counts", "totals"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	w.wantCopy(t, p.m, old, new)
}
