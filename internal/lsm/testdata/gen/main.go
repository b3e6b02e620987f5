// Command gen writes small RocksDB databases in many table formats, as archives
// for the tests of package lsm:
//
//	eval "$(make env)" && go run ./internal/lsm/testdata/gen internal/lsm/testdata
//
// variants.tar.gz has databases with rows.txt, what RocksDB itself reads from
// them. entries.tar.gz has databases in which snapshots keep every entry, with
// entries.txt, what was written (see entries.go); newer.tar.gz the same in
// forms that RocksDB 11 brought, older.tar.gz in those it writes no more.
//
// It is the only program outside internal/rocks that uses RocksDB; it is not
// part of the module's packages.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"log"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/linxGnu/grocksdb"
)

// variant is a database's options: of its column families, and of their tables.
type variant struct{ name, cf, table string }

func variants() []variant {
	out := []variant{
		{"hash-index", "prefix_extractor=fixed:3", "index_type=kHashSearch"},
		{"two-level", "", "index_type=kTwoLevelIndexSearch;partition_filters=true;metadata_block_size=64;block_size=128;filter_policy=bloomfilter:10:false"},
		{"first-key", "", "index_type=kBinarySearchWithFirstKey"},
		{"first-key-no-delta", "", "index_type=kBinarySearchWithFirstKey;format_version=3"},
		{"restart-16", "", "index_block_restart_interval=16;block_restart_interval=4"},
		{"hash-data", "", "data_block_index_type=kDataBlockBinaryAndHash"},
		{"aligned", "compression=kNoCompression", "block_align=true;block_size=512"},
		{"no-key-delta", "", "use_delta_encoding=false"},
		{"ribbon", "", "filter_policy=ribbonfilter:10:-1"},
		{"bloom-fv4", "", "filter_policy=bloomfilter:10:false;format_version=4"},
		{"bloom-fv5", "", "filter_policy=bloomfilter:12:false;format_version=5"},
		{"prefix-bloom", "prefix_extractor=fixed:3", "filter_policy=bloomfilter:10:false;whole_key_filtering=false"},
		{"two-level-fv2", "", "index_type=kTwoLevelIndexSearch;metadata_block_size=64;block_size=128;format_version=2"},
		{"two-level-fv3", "", "index_type=kTwoLevelIndexSearch;partition_filters=true;metadata_block_size=64;block_size=128;filter_policy=bloomfilter:10:false;format_version=3"},
		{"two-level-restart-16", "", "index_type=kTwoLevelIndexSearch;partition_filters=true;metadata_block_size=64;block_size=128;filter_policy=bloomfilter:10:false;index_block_restart_interval=16;format_version=7"},
		{"no-shortening", "", "index_shortening=kNoShortening"},
		{"all-shortening", "", "index_shortening=kShortenSeparatorsAndSuccessor"},
		{"raw-index", "compression=kZSTD", "enable_index_compression=false"},
		{"one-restart", "", "block_restart_interval=1;index_block_restart_interval=64"},
		{"zstd-trained", "compression=kZSTD;compression_opts={max_dict_bytes=512;zstd_max_train_bytes=8192}", ""},
		{"zstd-raw-dict", "compression=kZSTD;compression_opts={max_dict_bytes=512;zstd_max_train_bytes=0}", ""},
		{"lz4-dict", "compression=kLZ4Compression;compression_opts={max_dict_bytes=512}", ""},
		{"zlib-dict", "compression=kZlibCompression;compression_opts={max_dict_bytes=512}", ""},
		{"zstd-checksum", "compression=kZSTD;compression_opts={checksum=true}", ""},
		{"zstd-fv7", "compression=kZSTD", "format_version=7"},
		{"zstd-fv2", "compression=kZSTD", "format_version=2"},
	}
	for fv := 2; fv <= 7; fv++ {
		out = append(out, variant{fmt.Sprintf("fv%d", fv), "", fmt.Sprintf("format_version=%d", fv)})
	}
	for _, fv := range []int{5, 6} {
		for _, c := range []string{"kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"} {
			out = append(out, variant{fmt.Sprintf("%s-fv%d", c, fv), "", fmt.Sprintf("checksum=%s;format_version=%d", c, fv)})
		}
	}
	for _, c := range []string{"kSnappyCompression", "kZlibCompression", "kBZip2Compression", "kLZ4Compression", "kLZ4HCCompression", "kZSTD"} {
		out = append(out, variant{c, "compression=" + c, ""})
	}
	return out
}

// newer are options of RocksDB 11. An older library does not know them: then
// their archive stays as it is (ROCKSDB_DIR names a newer one).
func newer() []variant {
	const separated = "format_version=7;separate_key_value_in_data_block=true"
	return []variant{
		{"separated", "", separated},
		{"separated-restart-1", "", separated + ";block_restart_interval=1"},
		{"separated-restart-3", "", separated + ";block_restart_interval=3"},
		{"separated-hash", "", separated + ";data_block_index_type=kDataBlockBinaryAndHash"},
		{"separated-no-delta", "", separated + ";use_delta_encoding=false"},
		{"separated-zstd", "compression=kZSTD;compression_opts={max_dict_bytes=512}", separated},
		{"separated-two-level", "", separated + ";index_type=kTwoLevelIndexSearch;partition_filters=true;metadata_block_size=64;block_size=128;filter_policy=bloomfilter:10:false"},
		{"uniform", "", "format_version=7;uniform_cv_threshold=10"},
		{"super-block", "compression=kNoCompression", "format_version=7;super_block_alignment_size=8192;super_block_alignment_space_overhead_ratio=8"},
	}
}

// older are formats that RocksDB wrote until version 10; a newer library refuses
// them, and their archive stays as it is (Debian's librocksdb 7.8 makes it).
func older() []variant {
	var out []variant
	for _, fv := range []string{"0", "1"} {
		out = append(out, variant{"fv" + fv, "", "checksum=kCRC32c;format_version=" + fv})
		for _, c := range []string{"kSnappyCompression", "kZlibCompression", "kBZip2Compression", "kLZ4Compression", "kLZ4HCCompression", "kZSTD"} {
			out = append(out, variant{c + "-fv" + fv, "compression=" + c, "checksum=kCRC32c;filter_policy=bloomfilter:10:false;format_version=" + fv})
		}
	}
	return append(out, variant{"kxxHash-fv1", "", "checksum=kxxHash;format_version=1"},
		variant{"hash-index-fv1", "prefix_extractor=fixed:3", "index_type=kHashSearch;format_version=1"})
}

// opens says whether this library makes databases of a variant.
func opens(v variant) bool {
	o, err := tryOptions(v)
	if err != nil {
		return false
	}
	dir, err := os.MkdirTemp("", "gen")
	check(err)
	defer os.RemoveAll(dir)
	db, err := grocksdb.OpenDb(o, dir)
	if err == nil {
		db.Close()
	}
	return err == nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen DIRECTORY")
	}
	root, err := os.MkdirTemp("", "gen")
	check(err)
	defer os.RemoveAll(root)
	check(os.Mkdir(filepath.Join(root, "variants"), 0o755))
	check(os.Mkdir(filepath.Join(root, "entries"), 0o755))
	old := opens(older()[0])
	for _, v := range variants() {
		if old {
			break // an old library knows some of them only
		}
		write(filepath.Join(root, "variants", v.name), v)
		writeEntries(filepath.Join(root, "entries", v.name), v)
	}
	var archives []string
	if !old {
		writeEntries(filepath.Join(root, "entries", "blobs"), variant{"blobs", "enable_blob_files=true;min_blob_size=16", ""})
		archives = []string{"variants", "entries"}
	}
	for name, list := range map[string][]variant{"older": older(), "newer": newer()} {
		if !opens(list[0]) {
			fmt.Println(name + ": not with this RocksDB")
			continue
		}
		archives = append(archives, name)
		check(os.Mkdir(filepath.Join(root, name), 0o755))
		for _, v := range list {
			writeEntries(filepath.Join(root, name, v.name), v)
		}
	}
	for _, name := range archives {
		archive(filepath.Join(os.Args[1], name+".tar.gz"), filepath.Join(root, name))
	}
}

// options are those of a variant's databases.
func options(v variant) *grocksdb.Options {
	o, err := tryOptions(v)
	if err != nil {
		check(fmt.Errorf("%s: %w", v.name, err))
	}
	return o
}

func tryOptions(v variant) (*grocksdb.Options, error) {
	cf := v.cf
	if cf == "" {
		cf = "compression=kNoCompression"
	}
	table := v.table
	if !strings.Contains(";"+table, ";block_size=") {
		table += ";block_size=1024"
	}
	if !strings.Contains(table, "format_version") {
		table += ";format_version=6"
	}
	o, err := grocksdb.GetOptionsFromString(nil, cf+";disable_auto_compactions=true;block_based_table_factory={"+strings.TrimPrefix(table, ";")+"}")
	if err != nil {
		return nil, err
	}
	o.SetCreateIfMissing(true)
	o.SetCreateIfMissingColumnFamilies(true)
	o.SetAtomicFlush(true)
	o.SetInfoLogLevel(grocksdb.ErrorInfoLogLevel)
	return o, nil
}

func write(dir string, v variant) {
	o := options(v)
	names := []string{"default", "other", "gone"}
	db, cfs, err := grocksdb.OpenDbColumnFamilies(o, dir, names, []*grocksdb.Options{o, o, o})
	check(err)
	w := grocksdb.NewDefaultWriteOptions()
	w.DisableWAL(true)
	fo := grocksdb.NewDefaultFlushOptions()
	rnd := rand.New(rand.NewSource(1))
	key := func(i int) []byte { return []byte(fmt.Sprintf("key%05d", i)) }
	scale := 1
	if v.name == "zstd-trained" {
		scale = 10 // zstd trains nothing from less
	}
	round := func(n int, tag string) {
		n *= scale
		for i := range n {
			k := rnd.Intn(250)
			check(db.PutCF(w, cfs[0], key(k), []byte(fmt.Sprintf("%s value of %d, number %d", tag, k, i))))
			check(db.PutCF(w, cfs[1], key(k)[:3+rnd.Intn(6)], []byte(tag)))
			if i%7 == 0 {
				check(db.DeleteCF(w, cfs[0], key(rnd.Intn(250))))
			}
			if i%50 == 10 {
				from := rnd.Intn(250)
				check(db.DeleteRangeCF(w, cfs[0], key(from), key(from+rnd.Intn(12))))
			}
		}
		check(db.PutCF(w, cfs[0], nil, nil)) // the empty key with the empty value
		check(db.PutCF(w, cfs[2], key(1), nil))
		check(db.FlushCFs(cfs, fo))
	}
	round(90, "first")
	db.CompactRangeCF(cfs[0], grocksdb.Range{})
	round(40, "second")
	check(db.DropColumnFamily(cfs[2]))
	round2 := cfs[:2]
	for i := range 10 {
		check(db.PutCF(w, cfs[0], key(rnd.Intn(250)), []byte(fmt.Sprint("third ", i))))
		check(db.DeleteRangeCF(w, cfs[1], key(i), key(i+1)))
	}
	check(db.FlushCFs(round2, fo))
	ingest(db, cfs[0], o, dir+".sst")
	var rows bytes.Buffer
	for i, name := range names[:2] {
		it := db.NewIteratorCF(grocksdb.NewDefaultReadOptions(), cfs[i])
		for it.SeekToFirst(); it.Valid(); it.Next() {
			fmt.Fprintf(&rows, "%s %x %x\n", name, it.Key().Data(), it.Value().Data())
		}
		check(it.Err())
		it.Close()
	}
	for _, c := range cfs {
		c.Destroy()
	}
	db.Close()
	check(os.WriteFile(filepath.Join(dir, "rows.txt"), rows.Bytes(), 0o644))
}

// ingest adds a file made outside, which lies over rows of the database.
func ingest(db *grocksdb.DB, cf *grocksdb.ColumnFamilyHandle, o *grocksdb.Options, path string) {
	s := grocksdb.NewSSTFileWriter(grocksdb.NewDefaultEnvOptions(), o)
	check(s.Open(path))
	for i := 100; i < 115; i++ {
		check(s.Add([]byte(fmt.Sprintf("key%05d", i)), []byte("ingested")))
	}
	check(s.Finish())
	s.Destroy()
	io := grocksdb.NewDefaultIngestExternalFileOptions()
	io.SetMoveFiles(true)
	check(db.IngestExternalFileCF(cf, []string{path}, io))
}

// archive keeps what lsm reads.
func archive(path, root string) {
	var files []string
	check(filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		n := e.Name()
		keep := strings.HasSuffix(n, ".sst") || strings.HasPrefix(n, "MANIFEST") || n == "CURRENT" || n == "rows.txt" || n == "entries.txt"
		if err == nil && e.Type().IsRegular() && keep {
			files = append(files, p)
		}
		return err
	}))
	sort.Strings(files)
	var out bytes.Buffer
	gz, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	check(err)
	t := tar.NewWriter(gz)
	for _, f := range files {
		b, err := os.ReadFile(f)
		check(err)
		rel, err := filepath.Rel(root, f)
		check(err)
		check(t.WriteHeader(&tar.Header{Name: rel, Size: int64(len(b)), Mode: 0o644}))
		_, err = t.Write(b)
		check(err)
	}
	check(t.Close())
	check(gz.Close())
	check(os.WriteFile(path, out.Bytes(), 0o644))
	fmt.Printf("%s: %d files, %d bytes\n", path, len(files), out.Len())
}

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}
