package lsm

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"sstool/internal/lsm/lsmtest"
)

// expectation is one database family of a rows.jsonl: what rocksdbjni showed.
type expectation map[string]map[string][][2]string // db, family, rows in key order

func loadRows(t testing.TB, path string) expectation {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := expectation{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var row struct {
			DB    string  `json:"db"`
			CF    string  `json:"cf"`
			Key   *string `json:"key"`
			Value string  `json:"value"`
		}
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if out[row.DB] == nil {
			out[row.DB] = map[string][][2]string{}
		}
		if row.Key == nil {
			out[row.DB][row.CF] = [][2]string{}
			continue
		}
		out[row.DB][row.CF] = append(out[row.DB][row.CF], [2]string{*row.Key, row.Value})
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// checkState compares every database under app with the expectation: families,
// rows, and that the whole of it verifies.
func checkState(t *testing.T, app string, want expectation) {
	t.Helper()
	for db, families := range want {
		dir := filepath.Join(app, db)
		v, err := ReadManifest(dir)
		if err != nil {
			t.Errorf("%s: %v", db, err)
			continue
		}
		if len(v.Families) != len(families) {
			t.Errorf("%s: %d families, want %d", db, len(v.Families), len(families))
		}
		if _, err := VerifyDB(dir, 1); err != nil {
			t.Errorf("verify %s: %v", db, err)
		}
		if _, err := ReadOptions(dir); err != nil {
			t.Errorf("options %s: %v", db, err)
		}
		for family, rows := range families {
			i := 0
			err := Rows(dir, family, func(key, value []byte) error {
				if i < len(rows) && (hex.EncodeToString(key) != rows[i][0] || hex.EncodeToString(value) != rows[i][1]) {
					t.Errorf("%s %s row %d: %x = %x, want %v", db, family, i, key, value, rows[i])
				}
				i++
				return nil
			})
			if err != nil || i != len(rows) {
				t.Errorf("%s %s: %d rows, %v; want %d", db, family, i, err, len(rows))
			}
		}
	}
}

// TestSelection reads every database of the archived selection.
func TestSelection(t *testing.T) {
	for _, name := range lsmtest.Names(t) {
		t.Run(name, func(t *testing.T) {
			dir, app := lsmtest.Unpack(t, name)
			rows := filepath.Join(dir, "rows.jsonl")
			if _, err := os.Stat(rows); err != nil {
				checkDatabases(t, app)
				return
			}
			want := loadRows(t, rows)
			if n := len(databases(t, app)); n != len(want) {
				t.Errorf("%d databases, want %d", n, len(want))
			}
			checkState(t, app, want)
		})
	}
}

// databases are the directories with a CURRENT file.
func databases(t *testing.T, app string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(app, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "CURRENT" {
			out = append(out, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkDatabases verifies databases without knowing their rows: as many as
// their files hold, for no fixture has superseded rows in several files.
func checkDatabases(t *testing.T, app string) {
	t.Helper()
	for _, dir := range databases(t, app) {
		info, err := VerifyDB(dir, 2)
		if err != nil {
			t.Error(err)
		}
		for _, f := range info.Families {
			var n int64
			if err := Rows(dir, f.Name, func(_, _ []byte) error { n++; return nil }); err != nil {
				t.Error(err)
			}
			if n > f.Entries || n == 0 && f.Entries > f.Deletes {
				t.Errorf("%s %s: %d rows of %d entries, %d of them deletes", dir, f.Name, n, f.Entries, f.Deletes)
			}
		}
	}
}

// TestAllFixtures reads every database of the whole set of fixtures when
// SSTOOL_FIXTURES names it; the selection in testdata is always read.
func TestAllFixtures(t *testing.T) {
	root := os.Getenv("SSTOOL_FIXTURES")
	if root == "" {
		t.Skip("SSTOOL_FIXTURES is not set: only the selection in testdata is read (TestSelection)")
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "rows.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no rows.jsonl under %s: %v", root, err)
	}
	for _, f := range files {
		rel, _ := filepath.Rel(root, filepath.Dir(f))
		t.Run(rel, func(t *testing.T) {
			apps, _ := filepath.Glob(filepath.Join(filepath.Dir(f), "state", "*"))
			if len(apps) != 1 {
				t.Fatalf("applications %v, want one", apps)
			}
			checkState(t, apps[0], loadRows(t, f))
		})
	}
}
