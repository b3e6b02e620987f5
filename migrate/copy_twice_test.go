package migrate

import (
	"slices"
	"strings"
	"testing"

	"sstool/internal/kafka"
	"sstool/internal/op"
)

// A copy that was interrupted holds some records twice, as a broker leaves it that
// died: the next run takes what is an exact repetition, and nothing else.
func TestCopyTakenTwice(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces [][2]int // of the old records, as the copy holds them; negative: from the end
		ok     bool
	}{
		{"amid", [][2]int{{0, 300}, {200, 300}}, true},
		{"amid, and went on", [][2]int{{0, 300}, {200, 350}}, true},
		{"twice", [][2]int{{0, 100}, {80, 100}, {100, 200}, {150, 200}, {150, 220}}, true},
		{"from the start", [][2]int{{0, 50}, {0, 80}}, true},
		{"at the end", [][2]int{{0, -1}, {100, -1}}, true},
		{"a part of it", [][2]int{{0, 300}, {200, 250}}, false},
		{"a part of it, and went on", [][2]int{{0, 300}, {200, 250}, {300, 350}}, false},
		{"not in order", [][2]int{{0, 100}, {120, 130}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			const old, new = "app-counts-changelog", "app-totals-changelog"
			w.fill(t, old, 1, 1000, 3)
			records, offsets := w.records(t, old)
			dir := t.TempDir()
			w.interrupted(t, dir, new)
			prod, err := w.client.OpenProducer(t.Context(), kafka.ProducerOptions{Topic: new, OnAck: func(int32, int64, int64) {}})
			if err != nil {
				t.Fatal(err)
			}
			for _, piece := range c.pieces {
				if piece[1] < 0 {
					piece[1] = len(records[0])
				}
				for _, r := range records[0][piece[0]:piece[1]] {
					x := kafka.ProduceRecord{Timestamp: r.Timestamp, Key: []byte(r.Key), Headers: []byte(r.Headers)}
					if !r.Null {
						x.Value = []byte(r.Value)
					}
					if err := prod.Send(t.Context(), x); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := prod.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			prod.Close()
			p, err := w.plan(t, dir, MigrationOptions{}, NamePair{"counts", "totals"})
			if err != nil {
				t.Fatal(err)
			}
			res, err := p.Apply(t.Context(), nil)
			if !c.ok {
				if op.KindOf(err) != op.Precondition || !strings.Contains(err.Error(), "twice") {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || !res.Copies[0].Verified {
				t.Fatalf("%+v, %v", res, err)
			}
			got, _ := w.records(t, new)
			om, last := p.m.Maps()[old].Partitions[0], int64(-1)
			for i, o := range offsets[0] {
				n, ok := om.Map(o)
				if i == len(offsets[0])-1 && n != int64(len(got[0]))-1 {
					t.Errorf("the last offset is mapped to %d of %d", n, len(got[0]))
				}
				if !ok || n <= last || got[0][n] != records[0][i] {
					t.Fatalf("offset %d is mapped to %d, after %d: %v, want %v", o, n, last, got[0][n], records[0][i])
				}
				last = n
			}
			if len(got[0]) <= len(records[0]) {
				t.Errorf("%d records, %d in the copy: nothing is there twice", len(records[0]), len(got[0]))
			}
			if f, err := PlanFinish(t.Context(), w.client, EndOptions{File: p.File}); op.KindOf(err) != op.Precondition {
				t.Errorf("the copy is taken to be in use: %+v, %v", f, err)
			}
		})
	}
}

// interrupted begins a migration that ends when its topic is made.
func (w *world) interrupted(t *testing.T, dir, new string) *MigrationPlan {
	t.Helper()
	p, err := w.plan(t, dir, MigrationOptions{}, NamePair{"counts", "totals"})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(p.Steps, func(s Step) bool { return s.ID == "create:"+new })
	p.Steps = p.Steps[:i+1]
	led, _, err := openLedger[Migration](p.File)
	if err != nil {
		t.Fatal(err)
	}
	defer led.close()
	p.run = &running{led: led}
	if err := runSteps(t.Context(), p.m, p.Steps, p.note, nil); err != nil {
		t.Fatal(err)
	}
	return p
}
