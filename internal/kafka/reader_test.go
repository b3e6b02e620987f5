package kafka

import (
	"fmt"
	"slices"
	"testing"

	"sstool/internal/kafkatest"
)

func TestReadEveryCodec(t *testing.T) {
	t.Parallel()
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	const n = 20000
	for _, codec := range []string{"none", "gzip", "snappy", "xerial", "lz4", "zstd"} {
		t.Run(codec, func(t *testing.T) {
			topic(t, k, "c-"+codec, 1)
			recs := numbered(0, n)
			recs[7].Value = nil
			recs[8].Value = []byte{}
			recs[9].Key = nil
			recs[10].Headers = []kafkatest.Header{{Key: "h", Value: []byte("x")}, {Key: "", Value: nil}}
			err := k.Produce(t.Context(), "c-"+codec, codec, func(yield func(*kafkatest.Record) bool) {
				for i := range recs {
					if !yield(&recs[i]) {
						return
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int32{1, 100 << 10, 0} {
				out, st, _, err := readAll(t, c, ReadOptions{Topic: "c-" + codec, To: n, MaxBytes: size})
				if err != nil {
					t.Fatal(err)
				}
				if len(out) != n || st.Records != n {
					t.Fatalf("%d records, %d counted", len(out), st.Records)
				}
				for i, r := range recs {
					want := got{int64(i), r.Timestamp, str(r.Key), str(r.Value), len(r.Headers)}
					if out[i] != want {
						t.Fatalf("record %d: %+v, want %+v", i, out[i], want)
					}
				}
			}
		})
	}
}

func TestReadRange(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 2)
	produce(t, k, "t", numbered(0, 100)...)
	produce(t, k, "t", numbered(100, 100)...)
	for _, r := range [][2]int64{{0, 200}, {0, 1}, {50, 150}, {99, 101}, {199, 200}, {0, 0}, {200, 200}} {
		t.Run(fmt.Sprint(r), func(t *testing.T) {
			out, _, _, err := readAll(t, c, ReadOptions{Topic: "t", From: r[0], To: r[1]})
			if err != nil {
				t.Fatal(err)
			}
			var offs, want []int64
			for _, g := range out {
				offs = append(offs, g.off)
			}
			for o := r[0]; o < r[1]; o++ {
				want = append(want, o)
			}
			if !slices.Equal(offs, want) {
				t.Fatalf("offsets %v", offs)
			}
		})
	}
}

func TestReadTransactions(t *testing.T) {
	k := startCluster(t, kafkatest.Options{})
	c := open(t, k)
	topic(t, k, "t", 1)
	ctx := t.Context()
	produce(t, k, "t", numbered(0, 3)...)                                     // 0-2
	if err := k.Transaction(ctx, "t", false, numbered(3, 2)...); err != nil { // 3-4, marker 5
		t.Fatal(err)
	}
	if err := k.Transaction(ctx, "t", true, numbered(5, 2)...); err != nil { // 6-7, marker 8
		t.Fatal(err)
	}
	produce(t, k, "t", numbered(7, 1)...)                                     // 9
	if err := k.Transaction(ctx, "t", false, numbered(8, 1)...); err != nil { // 10, marker 11
		t.Fatal(err)
	}
	to := end(t, c, "t")
	if to != 12 {
		t.Fatalf("end %d", to)
	}
	for _, x := range []struct {
		committed bool
		want      []int64
		st        BlockStats
	}{
		{false, []int64{0, 1, 2, 3, 4, 6, 7, 9, 10}, BlockStats{Records: 9, Control: 3}},
		{true, []int64{0, 1, 2, 6, 7, 9}, BlockStats{Records: 6, Control: 3, Aborted: 3}},
	} {
		for _, size := range []int32{1, 0} { // batch by batch: every block stands alone
			out, st, _, err := readAll(t, c, ReadOptions{Topic: "t", To: to, ReadCommitted: x.committed, MaxBytes: size})
			if err != nil {
				t.Fatal(err)
			}
			var offs []int64
			for _, g := range out {
				offs = append(offs, g.off)
			}
			if !slices.Equal(offs, x.want) || st.Records != x.st.Records || st.Control != x.st.Control || st.Aborted != x.st.Aborted {
				t.Fatalf("committed=%v: offsets %v, stats %+v", x.committed, offs, st)
			}
		}
	}
}
