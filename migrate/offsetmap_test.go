package migrate

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
)

// The map against a plain list of all offsets: exact as long as there are few
// runs, and exact near the end always; elsewhere it may only be too low.
func TestOffsetMapModel(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		start := r.Int64N(1000)
		m := NewOffsetMap(start)
		gaps := 1 + r.IntN(100)
		old, n := start, int64(0)
		var olds []int64 // by new offset
		for range 20_000 {
			if r.IntN(100) < gaps {
				old += 1 + r.Int64N(5)
			}
			m.Add(old, n)
			olds = append(olds, old)
			old++
			n++
		}
		m.Skip(old+3, n)
		if len(m.runs) > maxRuns {
			t.Fatalf("%d runs", len(m.runs))
		}
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back OffsetMap
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(&back, m) {
			t.Fatalf("%s: %v", data, err)
		}
		oldEnd, newEnd := back.End()
		if oldEnd != old+3 || newEnd != n || back.Start() != start {
			t.Fatalf("from %d, ends %d %d", back.Start(), oldEnd, newEnd)
		}
		// want is the true place of the last record at or before x.
		want, i := int64(-1), 0
		for x := start - 2; x < old+5; x++ {
			for i < len(olds) && olds[i] <= x {
				want = int64(i)
				i++
			}
			got, ok := back.Map(x)
			if !ok {
				got = -1
			}
			near := i > len(olds)-500
			if got > want || got < -1 || (!m.sampled || near) && got != want {
				t.Fatalf("seed %d: %d is mapped to %d, is at %d", seed, x, got, want)
			}
			if back.Exact(x) && got != want {
				t.Fatalf("seed %d: %d is said to be exact: %d, is at %d", seed, x, got, want)
			}
			if p := back.Position(x + 1); p > want+1 && x+1 < oldEnd || (!m.sampled || near) && p != want+1 && x+1 < oldEnd {
				t.Fatalf("seed %d: position %d is mapped to %d, is %d", seed, x+1, p, want+1)
			}
		}
		if back.Position(oldEnd) != newEnd || back.Position(oldEnd+7) != newEnd {
			t.Fatal("the end is not mapped to the end")
		}
	}
}

func FuzzOffsetMap(f *testing.F) {
	f.Add([]byte(`{"old_start":3,"old_end":20,"new_end":7,"sampled":false,"runs":[3,0,5,10,5,2]}`))
	f.Add([]byte(`{"old_end":9223372036854775807,"new_end":9223372036854775807,"runs":[1,1,9223372036854775806]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m OffsetMap
		if json.Unmarshal(data, &m) != nil {
			return
		}
		oldEnd, newEnd := m.End()
		last := int64(-1)
		for _, r := range m.runs {
			for _, x := range []int64{r.old, r.old + r.n - 1, r.old + r.n} {
				n, ok := m.Map(x)
				if !ok || n < last || n >= newEnd || m.Position(x) > newEnd {
					t.Fatalf("%s: %d is mapped to %d %t after %d", data, x, n, ok, last)
				}
				last = n
			}
		}
		if m.Position(oldEnd) != newEnd {
			t.Fatal("the end is not mapped to the end")
		}
		again, err := json.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		var back OffsetMap
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("%s is not read back: %v", again, err)
		}
	})
}

func FuzzMigration(f *testing.F) {
	f.Add([]byte(`{"format":1,"migration":"rename","id":"rename-app-1","old_application_id":"app","new_application_id":"app",
"moves":[{"old_application_id":"app","new_application_id":"app","old_store":"a","new_store":"b","old_topic":"app-a-changelog","new_topic":"app-b-changelog"}],
"topics":[{"old":"app-a-changelog","new":"app-b-changelog","why":"changelog","partitions":[{"partition":0,"end":3,"offset_map":{"old_end":3,"new_end":3,"runs":[0,0,3]},"digest":"3-00000000000000010000000000000002"}]}],
"done":{"create:x":"2026-01-01T00:00:00Z"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseMigration(data)
		if err != nil {
			return
		}
		m.Maps()
		again, err := json.Marshal(m)
		if err != nil {
			return // years beyond what JSON has
		}
		if _, err := ParseMigration(again); err != nil {
			t.Fatalf("%s is not read back: %v", again, err)
		}
	})
}
