package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"sstool/internal/kafkatest"
)

// changelog yields n records of about 120 bytes like a compacted topic's:
// keys of 16 to 24 bytes, values of 80 to 120, one tombstone in twenty.
func changelog(n, keys int) iter.Seq[*kafkatest.Record] {
	return func(yield func(*kafkatest.Record) bool) {
		rng := rand.New(rand.NewPCG(1, 2))
		const words = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua enim ad minim veniam quis nostrud exercitation ullamco "
		var key [24]byte
		var val [128]byte
		for i := range n {
			h := uint64(rng.IntN(keys)+1) * 0x9E3779B97F4A7C15
			binary.BigEndian.PutUint64(key[:], h)
			copy(key[8:], fmt.Sprintf("%016x", h))
			r := kafkatest.Record{Timestamp: 1750000000000 + int64(i), Key: key[:16+h>>59%9]}
			if rng.IntN(20) != 0 {
				v := val[:80+rng.IntN(41)]
				binary.BigEndian.PutUint64(v, uint64(i))
				binary.BigEndian.PutUint64(v[8:], rng.Uint64())
				copy(v[16:], words[rng.IntN(20):])
				r.Value = v
			}
			if !yield(&r) {
				return
			}
		}
	}
}

// blockOf encodes n records in batches of perBatch as one block.
func blockOf(t testing.TB, n, perBatch int, codec string) *Block {
	t.Helper()
	var raw []byte
	bt := kafkatest.Batch{Codec: codec}
	flush := func() {
		var err error
		if raw, err = bt.Append(raw); err != nil {
			t.Fatal(err)
		}
		bt.Base += int64(bt.Len())
		bt.Reset()
	}
	for r := range changelog(n, n/4+1) {
		if bt.Add(r); bt.Len() == perBatch {
			flush()
		}
	}
	if bt.Len() > 0 {
		flush()
	}
	return &Block{Topic: "t", Next: int64(n), WireBytes: len(raw), raw: raw, to: int64(n)}
}

// cpu is the process's CPU time: on a shared machine wall time says little.
func cpu() time.Duration {
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

func BenchmarkDecode(b *testing.B) {
	for _, codec := range []string{"none", "lz4", "zstd", "snappy", "gzip"} {
		b.Run(codec, func(b *testing.B) {
			const n = 100_000
			blk := blockOf(b, n, 6000, codec)
			var d Decoder
			b.SetBytes(int64(len(blk.raw)))
			b.ReportAllocs()
			var sum int
			cpu0 := cpu()
			for b.Loop() {
				st, err := d.Decode(blk, func(r *Record) error { sum += len(r.Key) + len(r.Value); return nil })
				if err != nil || st.Records != n {
					b.Fatal(st, err)
				}
			}
			b.ReportMetric(float64((cpu()-cpu0).Nanoseconds())/float64(b.N)/n, "cpu-ns/record")
		})
	}
}

func BenchmarkRawConsume(b *testing.B) {
	k := startCluster(b, kafkatest.Options{})
	c := open(b, k)
	const n = 1_000_000
	if err := k.Topic("t", 1); err != nil {
		b.Fatal(err)
	}
	if err := k.Produce(context.Background(), "t", "none", changelog(n, n/4)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		bytes, recs, err := c.RawConsume(context.Background(), "t")
		if err != nil || recs != n {
			b.Fatal(recs, err)
		}
		b.SetBytes(bytes)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
}
