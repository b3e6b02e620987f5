package table

import (
	"fmt"
	"testing"
)

// TestShapeFits: whatever the estimates, the parts never add up to more than
// the memory. (Lists of segments do in the end: a byte of memory is enough for
// memory/(1536 × workers) bytes of rows. That is 5 TiB for two workers in 128 MiB.)
func TestShapeFits(t *testing.T) {
	for _, memory := range []int64{1 << 20, 5 << 20, 32 << 20, 100 << 20, 128 << 20, 1 << 30, 20 << 30} {
		for _, workers := range []int{1, 2, 3, 8, 64} {
			if int64(workers)*workerMemory > memory {
				continue
			}
			for estimate := int64(0); estimate < 100<<40; estimate = estimate*3 + 1000 {
				for _, row := range []int64{0, 1, 15, 130, 5000, 10 << 20} {
					o := Options{Memory: memory, Workers: workers, EstimatedBytes: estimate}
					if row > 0 {
						o.EstimatedRows = estimate / row
					}
					s := newShape(o)
					name := fmt.Sprintf("memory %d, %d workers, %d bytes in rows of %d: %+v", memory, workers, estimate, row, s)
					w := int64(workers)
					sum := w*(s.share+int64(s.buckets+s.batch)*int64(s.chunk)+int64(s.slab)) + s.index
					if sum > memory && estimate < memory*memory/(1536*2*w) {
						t.Errorf("%s: takes %d", name, sum)
					}
					if s.buckets < 1 || s.buckets > maxBuckets || s.chunk < minChunk/2 || s.chunk&(s.chunk-1) != 0 || s.slab%s.chunk != 0 || s.batch < 1 {
						t.Errorf("%s: out of range", name)
					}
				}
			}
		}
	}
}

// TestShapeOfTheBenchmark: a gigabyte in 128 MiB on two cores needs no fallback.
func TestShapeOfTheBenchmark(t *testing.T) {
	for _, c := range []struct {
		bytes, rows int64
		memory      int64
		workers     int
	}{
		{1 << 30, 8 << 20, 128 << 20, 2},
		{1 << 30, 8 << 20, 64 << 20, 1},
		{1 << 30, 64 << 20, 128 << 20, 2},
		{5 << 30, 40 << 20, 128 << 20, 2},
		{20 << 30, 160 << 20, 1 << 30, 4},
		{1 << 30, 8 << 20, 128 << 20, 8},
	} {
		s := newShape(Options{Memory: c.memory, Workers: c.workers, EstimatedBytes: c.bytes, EstimatedRows: c.rows})
		bucket, rows := c.bytes/int64(s.buckets), c.rows/int64(s.buckets)
		if need := 19 * (bucket + metaBytes(rows)) / 10; need > s.share {
			t.Errorf("%+v: %+v: a bucket of 1.9 × the planned size takes %d bytes", c, s, need)
		}
	}
}
