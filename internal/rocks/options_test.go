//go:build cgo

package rocks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readOptions reads an OPTIONS file into "section/key" → value; the files of
// RocksDB are INI files.
func readOptions(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	out, section := map[string]string{}, ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if s, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSuffix(s, "]")
		} else if k, v, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			out[section+"/"+k] = v
		}
	}
	return out
}

// sameValue compares structures "{a=1;b=2;}" entry by entry: their order varies,
// and newer RocksDBs have entries that older ones lack.
func sameValue(got, want string) bool {
	if !strings.HasPrefix(want, "{") {
		return got == want
	}
	have := map[string]string{}
	for f := range strings.SplitSeq(strings.Trim(got, "{}"), ";") {
		k, v, _ := strings.Cut(f, "=")
		have[k] = v
	}
	for f := range strings.SplitSeq(strings.Trim(want, "{}"), ";") {
		k, v, _ := strings.Cut(f, "=")
		if h, ok := have[k]; ok && h != v {
			return false
		}
	}
	return true
}

// TestOptionsAreThoseOfKafkaStreams compares the OPTIONS file of a store made
// here with one that Kafka Streams 4.0.2 made on two cores, option by option.
func TestOptionsAreThoseOfKafkaStreams(t *testing.T) {
	theirs := readOptions(t, "testdata/OPTIONS-kafka-streams-4.0.2")
	for _, bulk := range []bool{false, true} {
		db := create(t, Options{Bulk: bulk})
		must(t, db.Close())
		files, err := filepath.Glob(filepath.Join(db.Dir(), "OPTIONS-*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("OPTIONS files: %v, %v", files, err)
		}
		ours := readOptions(t, files[len(files)-1])
		differ := map[string]string{ // on purpose
			`TableOptions/BlockBasedTable "default"/format_version`: "5",
			`TableOptions/BlockBasedTable "default"/checksum`:       "kCRC32c",
			"DBOptions/create_missing_column_families":              "true",
		}
		machine := map[string]bool{ // the RocksDB or the machine, not the configuration
			// true by default since RocksDB 10; means nothing while partition_filters is false
			`TableOptions/BlockBasedTable "default"/decouple_partitioned_filters`: true,
			"Version/rocksdb_version":       true,
			"DBOptions/max_background_jobs": true,
		}
		compared := 0
		for key, want := range theirs {
			got, ok := ours[key]
			if w, ok := differ[key]; ok {
				want = w
			}
			if !ok || machine[key] {
				continue // an option that RocksDB has dropped since
			}
			compared++
			if !sameValue(got, want) {
				t.Errorf("bulk=%v: %s = %s, want %s", bulk, key, got, want)
			}
		}
		if compared < 150 {
			t.Errorf("only %d options were compared", compared)
		}
		for key, want := range map[string]string{
			`CFOptions "default"/compression`:                            "kNoCompression",
			`CFOptions "default"/compaction_style`:                       "kCompactionStyleUniversal",
			`TableOptions/BlockBasedTable "default"/filter_policy`:       "bloomfilter:10:false",
			`TableOptions/BlockBasedTable "default"/block_size`:          "4096",
			`CFOptions "default"/write_buffer_size`:                      "16777216",
			`CFOptions "default"/max_write_buffer_number`:                "3",
			`TableOptions/BlockBasedTable "default"/format_version`:      "5",
			`TableOptions/BlockBasedTable "default"/checksum`:            "kCRC32c",
			"DBOptions/info_log_level":                                   "ERROR_LEVEL",
			`CFOptions "default"/optimize_filters_for_hits`:              "false",
			`TableOptions/BlockBasedTable "default"/no_block_cache`:      "false",
			`TableOptions/BlockBasedTable "default"/whole_key_filtering`: "true",
		} {
			if got := ours[key]; got != want {
				t.Errorf("bulk=%v: %s = %q, want %q", bulk, key, got, want)
			}
		}
	}
}
