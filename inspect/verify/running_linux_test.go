//go:build cgo

package verify

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// running lets the model's directory look like that of an application that runs.
func (m *model) running() {
	f, err := os.Create(filepath.Join(m.state, appID, ".lock"))
	must(m.t, err)
	m.t.Cleanup(func() { f.Close() })
	must(m.t, syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}))
}

// TestInFlight: an application that runs may have rows on disk whose records its
// producer has not sent yet. They are no finding once the records are there;
// those of which none ever comes are.
func TestInFlight(t *testing.T) {
	for _, sample := range []int{0, 1000} {
		k, c := open1(t)
		m := newModel(t, rand.New(rand.NewPCG(9, 9)), streams.Store{Kind: streams.KV}, 90)
		m.produce(k)
		m.apply(89)
		m.dbs[0]["on its way"], m.dbs[0]["lost"] = "v", "v"
		m.write()
		m.running()
		o := m.options()
		o.Sample = sample
		res, err := Changelog(t.Context(), c, o, func(e op.Event) {
			if e.Type == op.Warning {
				must(t, k.ProduceAll(t.Context(), m.topic(), kafkatest.Record{Key: []byte("on its way"), Value: []byte("v")}))
			}
		})
		must(t, err)
		if c := res.Total; !*res.Running || c.Extra != 1 || c.Ahead != 1 || c.Findings() != 1 {
			t.Errorf("%+v", c)
		}
		if key, _, _ := res.Tasks[0].Differences[0].Text(); key != "lost" {
			t.Errorf("found %q", key)
		}
	}
}

// TestAgainstYoung: a standby that has not stored an offset yet lacks nothing of
// which the changelog has a record. When neither runs, nothing explains it.
func TestAgainstYoung(t *testing.T) {
	k, c := open1(t)
	m := newModel(t, rand.New(rand.NewPCG(9, 9)), streams.Store{Kind: streams.KV}, 90)
	m.produce(k)
	m.apply(89)
	standby := m.copyAt(40)
	m.dbs[0]["lost"] = "v"
	m.write()
	standby.write()
	must(t, os.Remove(filepath.Join(streams.TaskDir(standby.state, appID, "", streams.TaskID{}), streams.CheckpointFile)))
	look := func() *Task {
		res, err := Against(t.Context(), c, m.options(), standby.where(), nil)
		must(t, err)
		return &res.Tasks[0]
	}
	if k := look(); k.Findings() < 2 || k.Ahead > 0 || k.Why == "" {
		t.Errorf("stopped: %+v (%s)", k.Counts, k.Why)
	}
	standby.running()
	if k := look(); k.Findings() != 1 || k.Extra != 1 || k.Ahead == 0 || k.Why == "" {
		t.Errorf("running: %+v (%s)", k.Counts, k.Why)
	}
}

// TestIndexSeenLate: the kind of a young store was told before it had a row; the
// index rows that are there when it is read are the records' all the same.
func TestIndexSeenLate(t *testing.T) {
	k, c := open1(t)
	s := streams.Store{Kind: streams.TimeOrderedWindow, WithIndex: true, Retention: 20 * time.Minute, SegmentInterval: 10 * time.Minute}
	m := newModel(t, rand.New(rand.NewPCG(9, 9)), s, 300)
	m.produce(k)
	m.apply(299)
	m.write()
	o := m.options()
	o.setDefaults()
	v, err := open(t.Context(), &o)
	must(t, err)
	units, err := v.units(t.Context(), c, nil)
	must(t, err)
	units[0].store.WithIndex = false
	task, err := units[0].compare(t.Context())
	must(t, err)
	if task.Findings() != 0 || task.Same == 0 {
		t.Errorf("%+v", task.Counts)
	}
}
