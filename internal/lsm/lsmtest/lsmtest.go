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
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	apps, err := filepath.Glob(filepath.Join(dir, "state", "*"))
	if err != nil || len(apps) != 1 {
		t.Fatalf("%s: applications %v, %v; want one", name, apps, err)
	}
	return dir, apps[0]
}
