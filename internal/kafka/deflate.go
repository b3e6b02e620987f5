package kafka

import (
	"bytes"

	"sstool/internal/op"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// deflater compresses batches; the zero value leaves them as they are. It is
// for one goroutine.
type deflater struct {
	codec uint16 // of the batch's attributes
	zs    *zstd.Encoder
}

func newDeflater(name string) (*deflater, error) {
	codecs := map[string]uint16{"": 0, "none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
	codec, ok := codecs[name]
	if !ok {
		return nil, op.Errorf(op.Usage, "unknown compression %q", name).WithTry("use one of none, gzip, snappy, lz4, zstd")
	}
	d := &deflater{codec: codec}
	if codec == 4 {
		var err error
		if d.zs, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// deflate appends the compressed src to dst.
func (d *deflater) deflate(dst, src []byte) ([]byte, error) {
	switch d.codec {
	case 1:
		w := bytes.NewBuffer(dst)
		z := gzip.NewWriter(w)
		if _, err := z.Write(src); err != nil {
			return dst, err
		}
		err := z.Close()
		return w.Bytes(), err
	case 2:
		n := snappy.MaxEncodedLen(len(src))
		if cap(dst)-len(dst) < n {
			dst = append(make([]byte, 0, len(dst)+n), dst...)
		}
		enc := snappy.Encode(dst[len(dst):len(dst)+n], src)
		return dst[:len(dst)+len(enc)], nil
	case 3:
		w := bytes.NewBuffer(dst)
		z := lz4.NewWriter(w)
		if err := z.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)); err != nil {
			return dst, err
		}
		if _, err := z.Write(src); err != nil {
			return dst, err
		}
		err := z.Close()
		return w.Bytes(), err
	case 4:
		return d.zs.EncodeAll(src, dst), nil
	}
	return append(dst, src...), nil
}
