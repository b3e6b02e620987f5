package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"sstool/internal/kafkatest"
	"sstool/internal/op"

	"github.com/pierrec/lz4/v4"
)

// lz4Frame makes a frame of blocks; a negative size marks a stored block.
func lz4Frame(flg byte, extra int, blocks ...[]byte) []byte {
	f := append([]byte{0x04, 0x22, 0x4D, 0x18, 0x40 | flg, 0x40}, make([]byte, extra+1)...) // + header checksum
	for i, b := range blocks {
		n := uint32(len(b))
		if i == len(blocks)-1 {
			n |= 1 << 31 // stored
		}
		f = append(binary.LittleEndian.AppendUint32(f, n), b...)
		if flg&0x10 != 0 {
			f = append(f, 1, 2, 3, 4)
		}
	}
	return binary.LittleEndian.AppendUint32(f, 0)
}

func TestLZ4Frames(t *testing.T) {
	// Two blocks by hand: eight literals; then a match of eight bytes that
	// reaches back into the first, and five literals.
	one := append([]byte{0x80}, "abcdefgh"...)
	two := append([]byte{0x04, 8, 0, 0x50}, "12345"...)
	const want = "abcdefghabcdefgh12345stored"
	for _, x := range []struct {
		name  string
		flg   byte
		extra int
	}{
		{"linked blocks", 0, 0}, {"with block checksums", 0x10, 0}, {"with the content's size", 0x08, 8}, {"with a content checksum", 0x04, 0},
	} {
		f := inflater{max: 1 << 20}
		got, err := f.inflate(3, lz4Frame(x.flg, x.extra, one, two, []byte("stored")))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", x.name, got, err)
		}
	}
	// Independent blocks cannot reach back.
	f := inflater{max: 1 << 20}
	if got, err := f.inflate(3, lz4Frame(0x20, 0, one, two, []byte("x"))); err == nil {
		t.Errorf("independent: %q", got)
	}
	for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb} {
		var w bytes.Buffer
		z := lz4.NewWriter(&w)
		z.Apply(lz4.BlockSizeOption(size), lz4.BlockChecksumOption(true))
		text := strings.Repeat("some text that repeats ", 100_000)
		z.Write([]byte(text))
		z.Close()
		f := inflater{max: 8 << 20}
		if got, err := f.inflate(3, w.Bytes()); err != nil || string(got) != text {
			t.Errorf("block size %v: %d bytes, %v", size, len(got), err)
		}
	}
}

// A batch that inflates beyond the limit is refused without the memory.
func TestDecompressionBombs(t *testing.T) {
	for _, codec := range []string{"gzip", "snappy", "xerial", "lz4", "zstd"} {
		raw := encode(t, &kafkatest.Batch{Codec: codec}, kafkatest.Record{Key: []byte("k"), Value: make([]byte, 64<<20)})
		blk := &Block{Topic: "t", raw: raw, to: 1}
		d := Decoder{MaxInflated: 1 << 20}
		_, err := d.Decode(blk, func(*Record) error { return nil })
		if !errors.Is(err, errInflates) || op.KindOf(err) != op.Corrupt {
			t.Errorf("%s: %v", codec, err)
		}
		if cap(d.inf.buf) > 2<<20 {
			t.Errorf("%s: a buffer of %d bytes", codec, cap(d.inf.buf))
		}
		d = Decoder{}
		if st, err := d.Decode(blk, func(*Record) error { return nil }); err != nil || st.Records != 1 || st.Bytes != 64<<20+1 {
			t.Errorf("%s: %+v, %v", codec, st, err)
		}
	}
}

// Decoding does not allocate per record or per batch.
func TestDecodeDoesNotAllocate(t *testing.T) {
	for _, codec := range []string{"none", "snappy", "lz4"} {
		blk := blockOf(t, 20_000, 1000, codec)
		var d Decoder
		n := math.Inf(1)
		for range 3 { // what others allocate meanwhile counts too
			n = min(n, testing.AllocsPerRun(5, func() {
				if _, err := d.Decode(blk, func(*Record) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}))
		}
		if n > 5 {
			t.Errorf("%s: %v allocations for 20 batches", codec, n)
		}
	}
}

func TestTimestamps(t *testing.T) {
	recs := numbered(0, 3)
	recs[1].Timestamp = 5 // before the first one
	for _, x := range []struct {
		b    kafkatest.Batch
		want []int64
	}{
		{kafkatest.Batch{}, []int64{1000, 5, 1002}},
		{kafkatest.Batch{LogAppendTime: 777}, []int64{777, 777, 777}},
	} {
		raw := encode(t, &x.b, recs...)
		var got []int64
		var d Decoder
		_, err := d.Decode(&Block{Topic: "t", raw: raw, to: 3}, func(r *Record) error { got = append(got, r.Timestamp); return nil })
		if err != nil || len(got) != 3 || got[0] != x.want[0] || got[1] != x.want[1] || got[2] != x.want[2] {
			t.Error(got, err)
		}
	}
}
