// Package lsmtest hands tests real state directories of Kafka Streams: a
// selection of the fixtures that testdata/world makes, as archives. Only tests
// import it.
//
// An archive has the application's directory (the SST, MANIFEST, CURRENT,
// newest OPTIONS and .checkpoint files), what rocksdbjni read from it
// (rows.jsonl), describe.txt and topics.json.
package lsmtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/*.tar.gz
var archives embed.FS

// Names are the archives: "<Kafka version>-<profile>-<guarantee>".
func Names(t testing.TB) []string {
	t.Helper()
	list, err := archives.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimSuffix(e.Name(), ".tar.gz"))
	}
	return out
}

// Close gives the .checkpoint files below dir the time that a clean close gives
// them: it writes them after all memtables.
func Close(dir string) error {
	now := time.Now()
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != ".checkpoint" {
			return err
		}
		return os.Chtimes(path, now, now)
	})
}

// Unpack writes an archive to a temporary directory of the test. app is the
// application's state directory, dir holds the files beside it.
func Unpack(t testing.TB, name string) (dir, app string) {
	t.Helper()
	b, err := archives.ReadFile("testdata/" + name + ".tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	gz, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Close(dir); err != nil {
		t.Fatal(err)
	}
	apps, err := filepath.Glob(filepath.Join(dir, "state", "*"))
	if err != nil || len(apps) != 1 {
		t.Fatalf("%s: applications %v, %v; want one", name, apps, err)
	}
	return dir, apps[0]
}
