package migrate

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zeebo/xxh3"

	"sstool/internal/files"
	"sstool/internal/op"
)

// KeySet is a closed file of keys, in the order in which they are to be
// deleted. A key has its length before it, as an unsigned varint.
type KeySet struct {
	Keys  int64  `json:"keys"`
	Bytes int64  `json:"bytes"` // of the keys
	Sum   string `json:"sum"`   // of the file

	path string
}

// keyBuffer is small: there may be one writer for each partition of several stores.
const keyBuffer = 16 << 10

// keySetWriter fills a KeySet.
type keySetWriter struct {
	f   *os.File
	buf []byte // not written yet
	sum *xxh3.Hasher
	set KeySet
}

// newKeySet begins a file of keys in dir, which exists.
func newKeySet(dir string) (*keySetWriter, error) {
	f, err := os.CreateTemp(dir, "keys-")
	if err != nil {
		return nil, err
	}
	return &keySetWriter{f: f, sum: xxh3.New(), set: KeySet{path: f.Name()}}, nil
}

// Add appends a key, which is not kept.
func (k *keySetWriter) Add(key []byte) error {
	k.buf = append(binary.AppendUvarint(k.buf, uint64(len(key))), key...)
	k.set.Keys++
	k.set.Bytes += int64(len(key))
	if len(k.buf) < keyBuffer {
		return nil
	}
	return k.flush()
}

func (k *keySetWriter) flush() error {
	_, _ = k.sum.Write(k.buf) // never fails
	_, err := k.f.Write(k.buf)
	k.buf = k.buf[:0]
	return err
}

// Close ends the file. It is not durable yet.
func (k *keySetWriter) Close() (*KeySet, error) {
	err := errors.Join(k.flush(), k.f.Close())
	if err != nil {
		_ = os.Remove(k.set.path)
		return nil, err
	}
	k.set.Sum = sumText(k.sum)
	return &k.set, nil
}

// Discard removes what was written.
func (k *keySetWriter) Discard() {
	_ = k.f.Close()
	_ = os.Remove(k.set.path)
}

func sumText(h *xxh3.Hasher) string {
	s := h.Sum128()
	return fmt.Sprintf("%016x%016x", s.Hi, s.Lo)
}

// Remove deletes the file.
func (s *KeySet) Remove() {
	if s != nil {
		_ = os.Remove(s.path)
	}
}

// Each calls fn for every key; the slice is borrowed.
func (s *KeySet) Each(ctx context.Context, fn func(key []byte) error) error {
	r, err := s.open()
	if err != nil {
		return err
	}
	defer r.close()
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		key, err := r.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = fn(key)
		}
		if err != nil {
			return err
		}
	}
}

// moveTo puts the file, whole and durable, at path.
func (s *KeySet) moveTo(path string) error {
	if err := os.Rename(s.path, path); err == nil {
		s.path = path
		return files.SyncDir(path)
	}
	from, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return err
	}
	s.Remove()
	s.path = path
	return nil
}

// check reads the whole file and compares it with what is known of it.
func (s *KeySet) check() error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := xxh3.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := sumText(h); got != s.Sum {
		return op.Errorf(op.Corrupt, "%s has changed since it was written: its checksum is %s, expected %s", s.path, got, s.Sum)
	}
	return nil
}

// keyReader reads a KeySet from its beginning.
type keyReader struct {
	s    *KeySet
	f    *os.File
	r    *bufio.Reader
	size uint64 // of the file: no key is longer
	at   int64  // keys read
	buf  []byte
}

func (s *KeySet) open() (*keyReader, error) {
	f, size, err := op.OpenFile(s.path)
	if err != nil {
		return nil, err
	}
	return &keyReader{s: s, f: f, r: bufio.NewReaderSize(f, 4*keyBuffer), size: uint64(size)}, nil
}

func (r *keyReader) close() {
	if r != nil {
		_ = r.f.Close()
	}
}

// next is the next key, borrowed until the next call; io.EOF behind the last.
func (r *keyReader) next() ([]byte, error) {
	n, err := binary.ReadUvarint(r.r)
	if err == io.EOF && r.at == r.s.Keys {
		return nil, io.EOF
	}
	if err != nil || n > r.size || r.at == r.s.Keys {
		return nil, op.Errorf(op.Corrupt, "%s: malformed at key %d of %d", r.s.path, r.at, r.s.Keys)
	}
	if uint64(cap(r.buf)) < n {
		r.buf = make([]byte, n, max(int(n), 256))
	}
	r.buf = r.buf[:n]
	if _, err := io.ReadFull(r.r, r.buf); err != nil {
		return nil, op.Errorf(op.Corrupt, "%s: cut off at key %d of %d", r.s.path, r.at, r.s.Keys)
	}
	r.at++
	return r.buf, nil
}

// skip passes n keys over.
func (r *keyReader) skip(n int64) error {
	for ; n > 0; n-- {
		if _, err := r.next(); err != nil {
			return err
		}
	}
	return nil
}
