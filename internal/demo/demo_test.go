package demo

import (
	"context"
	"strings"
	"testing"
	"time"

	"sstool/internal/kafkatest"
	"sstool/internal/op"
	"sstool/internal/spec"
	"sstool/internal/streams"
)

func TestSpecIsComplete(t *testing.T) {
	s, err := spec.Parse("demo.yaml", strings.NewReader(Spec()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Stores {
		if missing := s.Stores[i].Missing(); len(missing) > 0 {
			t.Errorf("store %s lacks %v", s.Stores[i].Name, missing)
		}
		if err := s.Stores[i].Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestRecordsFitTheirStores reads every record as a restore would.
func TestRecordsFitTheirStores(t *testing.T) {
	s, err := spec.Parse("demo.yaml", strings.NewReader(Spec()))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, st := range stores() {
		known, _ := s.Store(st.name)
		var conv *streams.Converter
		if known.Kind != streams.Versioned {
			if conv, err = streams.NewConverter(known.Store); err != nil {
				t.Fatal(err)
			}
		}
		var n, nulls int64
		for r := range st.make(1000, now) {
			n++
			if r.Value == nil {
				nulls++
			}
			if r.Partition < 0 || r.Partition >= st.partitions || len(r.Key) == 0 || r.Timestamp > now.UnixMilli() {
				t.Fatalf("%s: record %d: %+v", st.name, n, r)
			}
			if conv == nil {
				continue
			}
			segTime, err := conv.Rows(r.Key, r.Value, nil, r.Timestamp, func(*streams.Row) error { return nil })
			if err != nil || known.Kind.Segmented() && (segTime > r.Timestamp || segTime < r.Timestamp-time.Hour.Milliseconds()) {
				t.Fatalf("%s: record %d: segment time %d of %d, %v", st.name, n, segTime, r.Timestamp, err)
			}
		}
		if n < 500 || n > 1000 {
			t.Errorf("%s: %d records of 1000", st.name, n)
		}
		if hasNulls := nulls > 0; hasNulls != (st.name == MainStore || st.name == "prices" || st.name == "customer-sessions") {
			t.Errorf("%s: %d null values", st.name, nulls)
		}
	}
}

func TestSameSeedSameRecords(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, st := range stores() {
		list := func() (out []kafkatest.Record) {
			for r := range st.make(50, now) {
				c := *r
				c.Key, c.Value = []byte(string(r.Key)), []byte(string(r.Value))
				out = append(out, c)
			}
			return out
		}
		a, b := list(), list()
		for i := range a {
			if string(a[i].Key) != string(b[i].Key) || string(a[i].Value) != string(b[i].Value) {
				t.Fatalf("%s: record %d differs between two runs", st.name, i)
			}
		}
	}
}

func TestInterruptedWhileFilling(t *testing.T) {
	for _, at := range []op.EventType{op.Phase, op.Progress} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := Start(ctx, Options{Records: 1_000_000, Now: time.Now()}, func(e op.Event) {
			if e.Type == at {
				cancel()
			}
		})
		if op.KindOf(err) != op.Declined {
			t.Errorf("cancelled at the first %s: %v is %v, want declined", at, err, op.KindOf(err))
		}
	}
}
