package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

var errInflates = errors.New("inflates beyond the limit")

// inflater decompresses batches into one reused buffer.
type inflater struct {
	max int // no batch may inflate beyond
	buf []byte
	src bytes.Reader
	gz  *gzip.Reader
	zs  *zstd.Decoder
}

func (f *inflater) inflate(codec uint16, src []byte) (out []byte, err error) {
	switch codec {
	case 1:
		out, err = f.gzip(src)
	case 2:
		out, err = f.snappy(src)
	case 3:
		out, err = f.lz4(src)
	case 4:
		out, err = f.zstd(src)
	default:
		return nil, fmt.Errorf("unknown compression codec %d", codec)
	}
	if cap(out) > cap(f.buf) {
		f.buf = out[:0]
	}
	return out, err
}

// room returns b with space for n more bytes, or an error beyond the limit.
func (f *inflater) room(b []byte, n int) ([]byte, error) {
	if n > f.max-len(b) {
		return b, errInflates
	}
	if cap(b)-len(b) >= n {
		return b, nil
	}
	nb := make([]byte, len(b), max(len(b)+n, 2*cap(b)))
	copy(nb, b)
	return nb, nil
}

func (f *inflater) gzip(src []byte) ([]byte, error) {
	f.src.Reset(src)
	if f.gz == nil {
		f.gz = new(gzip.Reader)
	}
	if err := f.gz.Reset(&f.src); err != nil {
		return nil, err
	}
	out := f.buf[:0]
	for {
		if len(out) == cap(out) {
			n := min(max(4096, 4*len(src), len(out)), f.max-len(out))
			if n <= 0 {
				return out, errInflates
			}
			out, _ = f.room(out, n)
		}
		n, err := f.gz.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}

// xerialMagic begins the framing that Java's snappy library writes: the magic,
// two version numbers, then blocks with an int32 length each.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

func (f *inflater) snappy(src []byte) ([]byte, error) {
	if !bytes.HasPrefix(src, xerialMagic) {
		return f.snappyBlock(f.buf[:0], src)
	}
	if len(src) < 16 {
		return nil, io.ErrUnexpectedEOF
	}
	src = src[16:]
	out := f.buf[:0]
	for len(src) > 0 {
		if len(src) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		n := int64(binary.BigEndian.Uint32(src))
		if src = src[4:]; n > int64(len(src)) {
			return nil, io.ErrUnexpectedEOF
		}
		var err error
		if out, err = f.snappyBlock(out, src[:n]); err != nil {
			return nil, err
		}
		src = src[n:]
	}
	return out, nil
}

func (f *inflater) snappyBlock(out, src []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return out, err
	}
	if out, err = f.room(out, n); err != nil {
		return out, err
	}
	// Decode writes into the given slice when it is large enough.
	if _, err := snappy.Decode(out[len(out):len(out)+n], src); err != nil {
		return out, err
	}
	return out[:len(out)+n], nil
}

// lz4 reads an LZ4 frame (lz4 Frame Format 1.6) block by block. Its own
// checksums are skipped: the batch's CRC covers every byte of the frame.
func (f *inflater) lz4(src []byte) ([]byte, error) {
	if len(src) < 7 || binary.LittleEndian.Uint32(src) != 0x184D2204 {
		return nil, errors.New("not an lz4 frame")
	}
	flg, bd := src[4], src[5]
	if flg>>6 != 1 {
		return nil, errors.New("unknown lz4 frame version")
	}
	blockMax := 0
	switch bd >> 4 & 7 {
	case 4, 5, 6, 7:
		blockMax = 1 << (8 + 2*int(bd>>4&7))
	default:
		return nil, errors.New("bad lz4 block size")
	}
	at := 7
	if flg&0x08 != 0 { // content size
		at += 8
	}
	if flg&0x01 != 0 { // dictionary id
		return nil, errors.New("lz4 frame with a dictionary")
	}
	independent, blockSums := flg&0x20 != 0, flg&0x10 != 0
	out := f.buf[:0]
	for {
		if len(src)-at < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		n := binary.LittleEndian.Uint32(src[at:])
		at += 4
		if n == 0 {
			return out, nil
		}
		stored := n&(1<<31) != 0
		n &^= 1 << 31
		if uint64(n) > uint64(len(src)-at) {
			return nil, io.ErrUnexpectedEOF
		}
		b := src[at : at+int(n)]
		at += int(n)
		if blockSums {
			at += 4
		}
		var err error
		if stored {
			if out, err = f.room(out, len(b)); err != nil {
				return out, err
			}
			out = append(out, b...)
			continue
		}
		// A block may be the last and short: only as much as the limit allows.
		want := min(blockMax, f.max-len(out))
		if out, err = f.room(out, want); err != nil {
			return out, err
		}
		dst := out[len(out) : len(out)+want]
		var m int
		if independent {
			m, err = lz4.UncompressBlock(b, dst)
		} else {
			m, err = lz4.UncompressBlockWithDict(b, dst, out[max(0, len(out)-1<<16):])
		}
		if err != nil {
			if want < blockMax {
				return out, errInflates
			}
			return out, err
		}
		out = out[:len(out)+m]
	}
}

func (f *inflater) zstd(src []byte) ([]byte, error) {
	if f.zs == nil {
		zs, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(f.max)), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		f.zs = zs
	}
	out, err := f.zs.DecodeAll(src, f.buf[:0])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = errInflates
	}
	return out, err
}
