package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

// ttlModel is an application's store and what it must hold: rows of random
// ages, which the application changes between runs of ttl and after runs that
// died.
type ttlModel struct {
	*ttlWorld
	rnd      *rand.Rand
	parts    int32
	rows     map[string]modelRow
	records  int // of the application, and one for each row that ttl deleted
	requests atomic.Int32
	cut      atomic.Int32 // the produce request at which a run dies; -1: none
	cancel   atomic.Pointer[context.CancelFunc]
}

type modelRow struct {
	value string
	ts    int64
}

// application writes.
func (m *ttlModel) application() {
	m.cut.Store(-1)
	var recs []kafkatest.Record
	for i := range 1 + m.rnd.IntN(400) {
		key := fmt.Sprintf("key-%d", m.rnd.IntN(800))
		row := modelRow{fmt.Sprintf("%d.%d", m.records, i), ttlNow - m.rnd.Int64N(48*hour)}
		r := kafkatest.Record{Partition: serde.Partition([]byte(key), m.parts), Key: []byte(key), Value: []byte(row.value), Timestamp: row.ts}
		m.rows[key] = row
		if m.rnd.IntN(6) == 0 {
			r.Value = nil
			delete(m.rows, key)
		}
		recs = append(recs, r)
	}
	m.produce("st", recs...)
	m.records += len(recs)
}

// old are the rows from before a cutoff, the oldest first as ttl counts them.
func (m *ttlModel) old(cutoff int64) (keys []string) {
	for key, row := range m.rows {
		if row.ts < cutoff {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		p := func(key string) int32 { return serde.Partition([]byte(key), m.parts) }
		return cmp.Or(cmp.Compare(m.rows[a].ts, m.rows[b].ts), cmp.Compare(p(a), p(b)), cmp.Compare(a, b))
	})
	return keys
}

// look compares the log with the model: only old rows may be gone, which the
// model then forgets.
func (m *ttlModel) look(cutoff int64) (deleted int) {
	m.t.Helper()
	live, records, _ := live(m.t, m.client, streams.ChangelogTopic("app", "st"))
	for key, row := range m.rows {
		value, ok := live[key]
		switch {
		case ok && value != row.value:
			m.t.Fatalf("%s is %q, want %q", key, value, row.value)
		case !ok && row.ts >= cutoff:
			m.t.Fatalf("%s is gone, and young", key)
		case !ok:
			delete(m.rows, key)
			deleted++
		}
	}
	if len(live) != len(m.rows) {
		m.t.Fatalf("%d rows, want %d", len(live), len(m.rows))
	}
	if m.records += deleted; records != m.records {
		m.t.Fatalf("%d records, want %d: a tombstone was written twice", records, m.records)
	}
	return deleted
}

// clean runs ttl until it ends without an error.
func (m *ttlModel) clean() (deaths, overtaken int) {
	m.t.Helper()
	o := m.fill(TTLOptions{OlderThan: time.Duration(1+m.rnd.Int64N(47)) * time.Hour})
	if m.rnd.IntN(3) == 0 {
		o.MaxRows = 1 + m.rnd.Int64N(200)
	}
	cutoff := ttlNow - o.OlderThan.Milliseconds()
	do := ledgerIn(m.t)
	do.round = 5 + m.rnd.Int64N(100)
	want := m.old(cutoff)
	if o.MaxRows > 0 {
		want = want[:min(int64(len(want)), o.MaxRows)]
	}
	for {
		d, note, err := ContinueDeletion(m.t.Context(), m.client, do, o.Request())
		if err != nil {
			m.t.Fatal(err)
		}
		if d == nil && note != "" {
			overtaken++
		}
		if d == nil {
			d = m.plan(o).Deletion()
		}
		ctx, stop := context.WithCancel(m.t.Context())
		m.cancel.Store(&stop)
		m.requests.Store(0)
		if m.cut.Store(int32(1 + m.rnd.IntN(8))); deaths > 20 {
			m.cut.Store(-1)
		}
		ledger, _ := os.ReadFile(do.Ledger)
		_, err = d.Apply(ctx, m.client, do, nil)
		stop()
		if err == nil {
			break
		}
		if op.KindOf(err) != op.Declined {
			m.t.Fatal(err)
		}
		deaths++
		m.look(cutoff)
		switch m.rnd.IntN(4) {
		case 0: // the application is started, and stopped again
			m.application()
			if want = m.old(cutoff); o.MaxRows > 0 {
				want = want[:min(int64(len(want)), o.MaxRows)]
			}
		case 1: // the machine went down: the ledger is an older one
			if _, err := os.Stat(do.Ledger); err == nil && len(ledger) > 0 {
				if err := os.WriteFile(do.Ledger, ledger, 0o600); err != nil {
					m.t.Fatal(err)
				}
			}
		}
	}
	m.look(cutoff)
	for _, key := range want {
		if _, ok := m.rows[key]; ok {
			m.t.Fatalf("%s stays, which is among the %d that were to go", key, len(want))
		}
	}
	if left := len(m.old(cutoff)); o.MaxRows == 0 && left > 0 {
		m.t.Fatalf("%d old rows are left", left)
	}
	if left := leftovers(m.t, do); len(left) != 0 {
		m.t.Errorf("left behind: %v", left)
	}
	return deaths, overtaken
}

// Random ages, an application that writes between runs and after those that
// died, and runs that die at any request, with a ledger as old as a crash may
// leave it: only old rows go, all of them in the end, each by one tombstone.
func TestTTLRunsModel(t *testing.T) {
	seeds := 6
	if os.Getenv("SSTOOL_MATRIX") == "full" {
		seeds = 60
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			m := &ttlModel{ttlWorld: newTTLWorld(t), rnd: rand.New(rand.NewPCG(uint64(seed), 7)), rows: map[string]modelRow{}}
			m.parts = int32(1 + m.rnd.IntN(4))
			m.changelog("st", m.parts)
			m.cut.Store(-1)
			m.cluster.AtProduce(func(int32) error {
				if n := m.requests.Add(1); n == m.cut.Load() {
					(*m.cancel.Load())()
					if n%2 == 0 {
						return errors.New("cut off")
					}
				}
				return nil
			})
			deaths, overtaken := 0, 0
			for range 6 {
				m.application()
				d, o := m.clean()
				deaths, overtaken = deaths+d, overtaken+o
			}
			t.Logf("%d records, %d runs died, %d were overtaken", m.records, deaths, overtaken)
		})
	}
}
