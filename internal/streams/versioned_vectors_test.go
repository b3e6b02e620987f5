package streams

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"testing"
	"time"
)

// TestVersionedVectors compares with rows written by the real
// RocksDBVersionedStore.restoreBatch of Kafka Streams 4.0.2; the program that
// made them is testdata/VersionedVectors.java.
func TestVersionedVectors(t *testing.T) {
	path := "testdata/versioned-vectors.jsonl"
	if p := os.Getenv("SSTOOL_VERSIONED_VECTORS"); p != "" {
		path = p
	}
	n := 0
	eachLine(t, path, func(line []byte) {
		var c struct {
			History, Interval int64
			Records           [][3]any
			Ends              []int
			Rows              map[string]string
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&c); err != nil {
			t.Fatal(err)
		}
		s := Store{Name: "s", Kind: Versioned, HistoryRetention: time.Duration(c.History) * time.Millisecond,
			SegmentInterval: time.Duration(c.Interval) * time.Millisecond}
		var recs []versionedInput
		for _, r := range c.Records {
			in := versionedInput{key: hx(r[0].(string))}
			fmt.Sscan(r[1].(json.Number).String(), &in.ts)
			if v, ok := r[2].(string); ok {
				in.value = hx(v)
			}
			recs = append(recs, in)
		}
		want := mapBackend{}
		for k, v := range c.Rows {
			want[string(hx(k))] = hx(v)
		}
		byBatch, _ := replayBatches(t, s, recs, c.Ends)
		byKey, _ := replayKeys(t, s, recs, c.Ends)
		for name, got := range map[string]mapBackend{"by batch": byBatch, "by key": byKey} {
			if !maps.EqualFunc(want, got, bytes.Equal) {
				t.Errorf("case %d %s:\nwant\n%sgot\n%s", n, name, dump(want), dump(got))
			}
		}
		n++
	})
	if n < 100 {
		t.Errorf("only %d cases", n)
	}
}
