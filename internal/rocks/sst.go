//go:build cgo

package rocks

// #include <stdint.h>
// #include <stdlib.h>
// #include <stdio.h>
// #include <string.h>
// #include "rocksdb/c.h"
//
// typedef struct { uint32_t key_off, key_len, val_off, val_len, group, order; } sst_ref;
//
// // One call for many rows: crossing from Go to C for each would cost a third
// // of the whole. Rows in key order lie scattered in the arena, so the one
// // eight ahead is asked for while this one is written; the processor follows
// // long values by itself.
// static size_t sst_put_sorted(rocksdb_sstfilewriter_t* w, const char* arena, size_t size,
//                              const sst_ref* r, size_t n, char** err) {
//   for (size_t i = 0; i < n; i++) {
//     if (i + 8 < n) {
//       const sst_ref* a = &r[i + 8];
//       const char* v = arena + a->val_off;
//       const char* end = v + (a->val_len < 256 ? a->val_len : 256);
//       __builtin_prefetch(arena + a->key_off);
//       for (; v < end; v += 64) __builtin_prefetch(v);
//     }
//     if ((size_t)r[i].key_off + r[i].key_len > size || (size_t)r[i].val_off + r[i].val_len > size) {
//       *err = strdup("Invalid argument: row outside its arena");
//       return i;
//     }
//     if (r[i].order & 1)
//       rocksdb_sstfilewriter_delete(w, arena + r[i].key_off, r[i].key_len, err);
//     else
//       rocksdb_sstfilewriter_put(w, arena + r[i].key_off, r[i].key_len, arena + r[i].val_off, r[i].val_len, err);
//     if (*err) return i;
//   }
//   return n;
// }
import "C"

import (
	"bytes"
	"errors"
	"os"
	"unsafe"

	"sstool/internal/op"
)

// The C loop reads Go's Ref as its own struct.
var _ [unsafe.Sizeof(Ref{})]byte = [unsafe.Sizeof(C.sst_ref{})]byte{}

// SSTWriter writes one SST file from rows in ascending key order, with the
// table options of a Kafka Streams store. It belongs to one goroutine and must
// end in Finish or Abandon.
//
// grocksdb keeps the handle of its own SSTFileWriter to itself, so this one is
// made through the C API.
type SSTWriter struct {
	path              string
	w                 *C.rocksdb_sstfilewriter_t // nil when finished or abandoned
	opts              *C.rocksdb_options_t
	env               *C.rocksdb_envoptions_t
	entries           int64
	smallest, largest []byte
}

// NewSSTWriter creates the file with the default options of a store.
func NewSSTWriter(path string) (*SSTWriter, error) { return NewSSTWriterWith(path, Options{}) }

// NewSSTWriterWith creates the file; one that exists is overwritten. Of o only
// what concerns SST files matters.
func NewSSTWriterWith(path string, o Options) (*SSTWriter, error) {
	base := C.rocksdb_options_create()
	defer C.rocksdb_options_destroy(base)
	text := C.CString(optionString(Options{Checksum: o.Checksum, Bulk: true}))
	defer C.free(unsafe.Pointer(text))
	w := &SSTWriter{path: path, opts: C.rocksdb_options_create()}
	var cerr *C.char
	C.rocksdb_get_options_from_string(base, text, w.opts, &cerr)
	if err := fromC(cerr); err != nil {
		C.rocksdb_options_destroy(w.opts)
		return nil, w.wrap(err)
	}
	w.env = C.rocksdb_envoptions_create()
	w.w = C.rocksdb_sstfilewriter_create(w.env, w.opts)
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	C.rocksdb_sstfilewriter_open(w.w, name, &cerr)
	if err := fromC(cerr); err != nil {
		w.free()
		return nil, w.wrap(err)
	}
	return w, nil
}

// PutSorted writes rows of an arena, in ascending key order and after every
// key written before. The arena may be reused when it returns.
func (w *SSTWriter) PutSorted(arena []byte, rows []Ref) error {
	if w.w == nil {
		return w.closed()
	}
	if len(rows) == 0 {
		return nil
	}
	var cerr *C.char
	n := C.sst_put_sorted(w.w, bytesPtr(arena), C.size_t(len(arena)),
		(*C.sst_ref)(unsafe.Pointer(unsafe.SliceData(rows))), C.size_t(len(rows)), &cerr)
	if n > 0 {
		first, last := rows[0], rows[n-1]
		w.note(arena[first.KeyOff:][:first.KeyLen], arena[last.KeyOff:][:last.KeyLen], int64(n))
	}
	return w.wrap(fromC(cerr))
}

// Put writes one row, whose key must come after every key written before.
func (w *SSTWriter) Put(key, value []byte) error {
	if w.w == nil {
		return w.closed()
	}
	var cerr *C.char
	C.rocksdb_sstfilewriter_put(w.w, bytesPtr(key), C.size_t(len(key)), bytesPtr(value), C.size_t(len(value)), &cerr)
	if err := fromC(cerr); err != nil {
		return w.wrap(err)
	}
	w.note(key, key, 1)
	return nil
}

func (w *SSTWriter) note(first, last []byte, n int64) {
	if w.entries == 0 {
		w.smallest = bytes.Clone(first)
	}
	w.largest = append(w.largest[:0], last...)
	w.entries += n
}

// Entries is the number of rows written so far.
func (w *SSTWriter) Entries() int64 { return w.entries }

// Size is about how many bytes the file would have if it was finished now.
func (w *SSTWriter) Size() int64 {
	if w.w == nil {
		return 0
	}
	var n C.uint64_t
	C.rocksdb_sstfilewriter_file_size(w.w, &n)
	return int64(n)
}

// Finish completes and syncs the file. A file without rows is an error to
// RocksDB, so it is removed and the info has no path.
func (w *SSTWriter) Finish() (SSTInfo, error) {
	if w.w == nil {
		return SSTInfo{}, w.closed()
	}
	if w.entries == 0 {
		w.Abandon()
		return SSTInfo{}, nil
	}
	var cerr *C.char
	C.rocksdb_sstfilewriter_finish(w.w, &cerr)
	if err := fromC(cerr); err != nil {
		w.Abandon()
		return SSTInfo{}, w.wrap(err)
	}
	w.free()
	st, err := os.Stat(w.path)
	if err != nil {
		return SSTInfo{}, w.wrap(err)
	}
	return SSTInfo{Path: w.path, Entries: w.entries, Size: st.Size(), Smallest: w.smallest, Largest: w.largest}, nil
}

// Abandon gives the file up and removes it; after Finish it does nothing.
func (w *SSTWriter) Abandon() {
	if w.w != nil {
		w.free()
		os.Remove(w.path)
	}
}

func (w *SSTWriter) free() {
	C.rocksdb_sstfilewriter_destroy(w.w)
	C.rocksdb_envoptions_destroy(w.env)
	C.rocksdb_options_destroy(w.opts)
	w.w, w.env, w.opts = nil, nil, nil
}

func (w *SSTWriter) wrap(err error) error { return wrap(err, "write SST file "+w.path, w.path) }

func (w *SSTWriter) closed() error {
	return &op.Error{Kind: op.Failed, What: "write SST file " + w.path, Err: errors.New("is finished or abandoned")}
}

// fromC takes over an error string of the C API.
func fromC(c *C.char) error {
	if c == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(c))
	return errors.New(C.GoString(c))
}

// bytesPtr is the address of b; RocksDB does not look at it when b is empty.
func bytesPtr(b []byte) *C.char { return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))) }
