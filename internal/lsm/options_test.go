package lsm

import (
	"path/filepath"
	"strings"
	"testing"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
)

// TestReadOptions reads what Kafka Streams 4.4 configures.
func TestReadOptions(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.4.0-opt-alos")
	o, err := ReadOptions(filepath.Join(app, "0_0", "rocksdb", "j"))
	if err != nil {
		t.Fatal(err)
	}
	if o.RocksDBVersion != "10.1.3" || o.DB["atomic_flush"] != "true" {
		t.Errorf("RocksDB %s, atomic_flush=%s; want 10.1.3, true", o.RocksDBVersion, o.DB["atomic_flush"])
	}
	var names []string
	for _, f := range o.Families {
		names = append(names, f.Name)
		if f.FormatVersion != 6 || f.Checksum != "kXXH3" || f.Comparator != comparatorName || f.MergeOperator != "" || f.Compression != "kNoCompression" {
			t.Errorf("%s: %d %s %s %q %s", f.Name, f.FormatVersion, f.Checksum, f.Comparator, f.MergeOperator, f.Compression)
		}
	}
	if s := strings.Join(names, " "); s != "default keyValueWithTimestamp offsets" {
		t.Errorf("families %s", s)
	}
	data, _ := o.Family("keyValueWithTimestamp")
	offsets, _ := o.Family("offsets")
	if data.CompactionStyle != "kCompactionStyleUniversal" || offsets.CompactionStyle != "kCompactionStyleLevel" {
		t.Errorf("compaction %s and %s", data.CompactionStyle, offsets.CompactionStyle)
	}
}

func TestParseOptions(t *testing.T) {
	o, err := parseOptions("x", []byte("# head\n[Version]\n  rocksdb_version=9\n[CFOptions \"a \\\"b\\\"\"]\n  merge_operator={id=m;x=y=z} # why\n  c=a\\#b\\n\n[TableOptions/BlockBasedTable \"a \\\"b\\\"\"]\n  format_version=4\n[Other]\n  q=1\n"))
	if err != nil {
		t.Fatal(err)
	}
	f, ok := o.Family(`a "b"`)
	if !ok || f.MergeOperator != "{id=m;x=y=z}" || f.CF["c"] != "a#b\n" || f.FormatVersion != 4 {
		t.Errorf("%+v", o.Families)
	}
	for name, text := range map[string]string{
		"empty":           "",
		"no families":     "[Version]\nrocksdb_version=9\n",
		"open section":    "[Version\n",
		"no section":      "a=b\n",
		"no value":        "[Version]\nhello\n",
		"unquoted":        "[CFOptions a]\n",
		"twice":           "[CFOptions \"a\"]\n[CFOptions \"a\"]\n",
		"table before cf": "[TableOptions/BlockBasedTable \"a\"]\n",
		"no number":       "[Version]\nrocksdb_version=9\n[CFOptions \"a\"]\n[TableOptions/BlockBasedTable \"a\"]\nformat_version=x\n",
	} {
		if _, err := parseOptions("OPTIONS-1", []byte(text)); op.KindOf(err) != op.Corrupt || !strings.Contains(err.Error(), "OPTIONS-1: offset ") {
			t.Errorf("%s: %v, want a corruption error with file and offset", name, err)
		}
	}
}
