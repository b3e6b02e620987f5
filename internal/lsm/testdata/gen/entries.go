package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"

	"github.com/linxGnu/grocksdb"
)

// writeEntries writes a database in which a snapshot before every entry keeps
// RocksDB from dropping any (a compaction would renumber them), and entries.txt with a line for
// each: key, sequence number, kind, value ("*" when RocksDB replaces it).
// Keys have all lengths up to a few hundred bytes, so that every branch of the
// filters' hash is met.
func writeEntries(dir string, v variant) {
	o := options(v)
	o.SetUint64AddMergeOperator()
	db, err := grocksdb.OpenDb(o, dir)
	check(err)
	w := grocksdb.NewDefaultWriteOptions()
	w.DisableWAL(true)
	fo := grocksdb.NewDefaultFlushOptions()
	rnd := rand.New(rand.NewSource(2))
	n := 150
	if v.name == "ribbon" {
		n = 4500 // a Bloom filter is made for less
	}
	var list bytes.Buffer
	var held []*grocksdb.Snapshot
	seq := 0
	note := func(key []byte, kind, value string, err error) {
		check(err)
		seq++
		if got := db.GetLatestSequenceNumber(); got != uint64(seq) {
			check(fmt.Errorf("%s: sequence number %d, want %d", v.name, got, seq))
		}
		fmt.Fprintf(&list, "%x %d %s %s\n", key, seq, kind, value)
	}
	for i := range n {
		held = append(held, db.NewSnapshot())
		key := []byte(fmt.Sprintf("key%03d%s", rnd.Intn(n*2), strings.Repeat("long", rnd.Intn(4)*rnd.Intn(25))))
		key = key[:min(len(key), 3+rnd.Intn(300))]
		val := []byte(strings.Repeat("value ", rnd.Intn(8)) + fmt.Sprint(i))
		stored := fmt.Sprintf("%x", val)
		switch i % 12 {
		case 3:
			note(key, "delete", "", db.Delete(w, key))
		case 5:
			note(key, "single delete", "", db.SingleDelete(w, key))
		case 7:
			note(key, "merge", fmt.Sprintf("%x", []byte("12345678")), db.Merge(w, key, []byte("12345678")))
		case 9:
			end := append(bytes.Clone(key), 'z')
			note(key, "range delete", fmt.Sprintf("%x", end), deleteRange(db, w, key, end))
		default:
			kind := "put"
			if v.name == "blobs" && len(val) >= 16 {
				kind, stored = "blob index", "*"
			}
			note(key, kind, stored, db.Put(w, key, val))
		}
		if i == n/3 {
			check(db.Flush(fo))
		}
	}
	check(db.Flush(fo))
	for _, s := range held {
		s.Destroy()
	}
	db.Close()
	check(os.WriteFile(filepath.Join(dir, "entries.txt"), list.Bytes(), 0o644))
}

func deleteRange(db *grocksdb.DB, w *grocksdb.WriteOptions, from, to []byte) error {
	b := grocksdb.NewWriteBatch()
	defer b.Destroy()
	b.DeleteRange(from, to)
	return db.Write(w, b)
}
