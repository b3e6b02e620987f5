package lsm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sstool/internal/op"
)

// Live is what a copy of a database takes.
type Live struct {
	Version Version
	Files   []LiveFile // by name
}

// LiveFile is a file that a copy needs.
type LiveFile struct {
	Name      string
	Size      int64
	Modified  time.Time
	Immutable bool // an SST or blob file: never changed once written
	Level     int  // of an SST file; 0 of others
	Flushed   bool // written from a memtable since the database was opened
}

// FlushedAfter says whether a memtable was written to a file after t, since the
// database was opened.
func (l *Live) FlushedAfter(t time.Time) bool {
	flushed := func(f LiveFile) bool { return f.Flushed && f.Modified.After(t) }
	return l.Version.Flushed.Unix() > t.Unix() || slices.ContainsFunc(l.Files, flushed)
}

// LiveFiles lists the files of the database in dir that a copy takes: what the
// MANIFEST names, and the small files around it. A live file that is missing or
// has another size than the MANIFEST says is op.Corrupt. Nobody may write there.
func LiveFiles(dir string) (*Live, error) {
	v, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	type want struct {
		size    int64 // -1: not known
		level   int
		flushed bool
	}
	left := map[string]want{}
	for i := range v.Families {
		for _, f := range v.Families[i].Files {
			if f.PathID != 0 {
				return nil, op.Errorf(op.Failed, "%s has files in other directories (cf_paths), which are not followed", dir)
			}
			left[f.Name()] = want{f.Size, f.Level, f.Flushed}
		}
		for _, f := range v.Families[i].Blobs {
			left[f.Name()] = want{size: -1}
		}
	}
	es, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := &Live{Version: v}
	for _, e := range es {
		name := e.Name()
		w, live := left[name]
		if !live && !around(name, v.Manifest) {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, name)) // through links, as RocksDB
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, op.Errorf(op.Corrupt, "%s: %w", filepath.Join(dir, name), op.ErrNotRegular)
		}
		if live && w.size >= 0 && w.size != info.Size() {
			return nil, op.Errorf(op.Corrupt, "%s has %d bytes, its MANIFEST says %d", filepath.Join(dir, name), info.Size(), w.size)
		}
		delete(left, name)
		out.Files = append(out.Files, LiveFile{name, info.Size(), info.ModTime(), live, w.level, w.flushed})
	}
	if len(left) > 0 {
		var names []string
		for name := range left {
			names = append(names, name)
		}
		return nil, op.Errorf(op.Corrupt, "%s is missing, which its MANIFEST names", filepath.Join(dir, slices.Min(names)))
	}
	return out, nil
}

// around says of a file that is no SST file that a copy takes it. LOCK and LOG
// are of each opening.
func around(name, manifest string) bool {
	return name == manifest || name == "CURRENT" || name == "IDENTITY" || strings.HasSuffix(name, ".log") ||
		strings.HasPrefix(name, "OPTIONS-") && !strings.HasSuffix(name, ".dbtmp")
}
