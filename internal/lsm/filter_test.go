package lsm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sstool/internal/lsm/lsmtest"
)

// checkFilter asks a table's filter for every key it has, which must be there,
// and for as many that it has not, of which few may be.
func checkFilter(t *testing.T, x *Table) (asked int) {
	t.Helper()
	kind, prefixes := x.Filter().Kind, x.Filter().Prefixes
	seen, wrong := 0, 0
	_, errs := x.Scan(ScanOptions{}, func(e Entry) error {
		if !x.MayContain(e.Key) {
			t.Errorf("%s: the %s filter denies key %x", x.name, kind, e.Key)
		}
		seen++
		if x.MayContain(append(bytes.Clone(e.Key), "…not a key"...)) {
			wrong++
		}
		return nil
	})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if (kind == "bloom" || kind == "legacy bloom") && !prefixes {
		if wrong > seen/10+3 {
			t.Errorf("%s: %s filter finds %d of %d keys that are not there", x.name, kind, wrong, seen)
		}
		return seen
	}
	if seen > 0 && kind != "empty" && wrong != seen {
		t.Errorf("%s: %s filter denies keys, but cannot be asked", x.name, kind)
	}
	return 0
}

func TestFilters(t *testing.T) {
	_, files := tables(t)
	kinds := map[string]int{}
	for _, path := range files {
		x := openFor(t, path)
		n := checkFilter(t, x)
		f := x.Filter()
		kinds[fmt.Sprintf("%s %v", f.Kind, f.Partitioned)] += n
		if info := x.Info(); (info.FilterSize > 0) != (info.FilterKind != "") {
			t.Errorf("%s: filter of %d bytes, kind %q", path, info.FilterSize, info.FilterKind)
		}
	}
	t.Log(kinds)
	if kinds["bloom true"] < 100 {
		t.Errorf("partitioned filters were asked for %d keys, want some", kinds["bloom true"])
	}
}

// TestKafkaFilters asks the filters of real Kafka Streams stores.
func TestKafkaFilters(t *testing.T) {
	for _, name := range lsmtest.Names(t) {
		_, app := lsmtest.Unpack(t, name)
		asked := 0
		err := filepath.WalkDir(app, func(path string, e os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".sst") {
				return err
			}
			x := openFor(t, path)
			if f := x.Filter(); f.Kind != "bloom" && f.Kind != "" || f.Partitioned {
				t.Errorf("%s: filter %+v, want what Kafka Streams writes", path, f)
			}
			asked += checkFilter(t, x)
			return nil
		})
		if err != nil || asked == 0 {
			t.Errorf("%s: %d keys asked, %v", name, asked, err)
		}
	}
}
