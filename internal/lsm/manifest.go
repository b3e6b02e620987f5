package lsm

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sstool/internal/op"
)

// manifestTries is how often a MANIFEST may be replaced while we look for it.
const manifestTries = 5

// ReadManifest reads the live state of the database in dir through CURRENT. It
// may be called while an application has the database open: CURRENT is
// followed again when the MANIFEST it names is gone.
func ReadManifest(dir string) (Version, error) {
	for try := 1; ; try++ {
		name, err := readCurrent(dir)
		if err != nil {
			return Version{}, err
		}
		path := filepath.Join(dir, name)
		v, err := readManifestFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			if try < manifestTries {
				continue
			}
			return Version{}, corrupt(filepath.Join(dir, "CURRENT"), 0, "names %s, expected that file to exist", name)
		}
		return v, err
	}
}

// readManifestFile reads a MANIFEST by its path.
func readManifestFile(path string) (Version, error) {
	f, _, err := openFile(path)
	if err != nil {
		return Version{}, ioError("read MANIFEST", err)
	}
	defer f.Close()
	v, err := replay(path, &logReader{src: f})
	v.Dir, v.Manifest = filepath.Split(path)
	v.Dir = filepath.Clean(v.Dir)
	return v, err
}

// readCurrent returns the MANIFEST's name (db/manifest_ops.cc:
// GetCurrentManifestPath: the newline is required).
func readCurrent(dir string) (string, error) {
	path := filepath.Join(dir, "CURRENT")
	f, _, err := openFile(path)
	if err != nil {
		return "", currentMissing(dir, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return "", ioError("read CURRENT", err)
	}
	name, ok := strings.CutSuffix(string(b), "\n")
	num, is := strings.CutPrefix(name, "MANIFEST-")
	if _, err := strconv.ParseUint(num, 10, 64); !ok || !is || err != nil {
		return "", corrupt(path, 0, "holds %q, expected \"MANIFEST-<number>\" and a newline", b)
	}
	return name, nil
}

// currentMissing tells a directory that is no database from one that lost its
// CURRENT file.
func currentMissing(dir string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return ioError("open database", err)
	}
	list, lerr := os.ReadDir(dir)
	if lerr != nil {
		return ioError("open database", lerr)
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "MANIFEST-") || strings.HasSuffix(e.Name(), ".sst") {
			return corrupt(filepath.Join(dir, "CURRENT"), 0, "missing, expected it beside %s", e.Name())
		}
	}
	return &op.Error{Kind: op.NotFound, What: "open database " + dir, Err: errors.New("no RocksDB database here: the directory has no CURRENT file")}
}

// parseManifest replays a MANIFEST held in memory.
func parseManifest(name string, data []byte) (Version, error) {
	return replay(name, &logReader{data: data})
}

// replay replays a MANIFEST (version_set.cc:VersionSet::Recover). Atomic groups
// count only when they are whole (AtomicGroupReadBuffer).
func replay(name string, l *logReader) (Version, error) {
	b := newBuilder()
	var group []edit
	var groupAt int64
	for {
		rec, at, ok, err := l.next()
		var failed *fs.PathError
		if errors.As(err, &failed) {
			return Version{}, ioError("read MANIFEST", err)
		}
		if err != nil {
			return Version{}, corrupt(name, at, "%w", err)
		}
		if !ok {
			break
		}
		e, err := decodeEdit(rec)
		if err != nil {
			return Version{}, corrupt(name, at, "version edit: %w", err)
		}
		if !e.has.group {
			if len(group) > 0 {
				return Version{}, corrupt(name, at, "a plain edit inside an atomic group, expected %d more of its edits", group[len(group)-1].groupLeft)
			}
			if err := b.apply(e); err != nil {
				return Version{}, corrupt(name, at, "version edit: %w", err)
			}
			continue
		}
		if len(group) == 0 {
			groupAt = at
		} else if want := group[len(group)-1].groupLeft; want == 0 || e.groupLeft != want-1 {
			return Version{}, corrupt(name, at, "atomic group with %d edits to come, expected %d", e.groupLeft, int64(want)-1)
		}
		group = append(group, e)
		if e.groupLeft > 0 {
			continue
		}
		for _, g := range group {
			if err := b.apply(g); err != nil {
				return Version{}, corrupt(name, groupAt, "version edit: %w", err)
			}
		}
		group = nil
	}
	v := b.version()
	v.Torn = l.torn || len(group) > 0
	if !b.any {
		return v, corrupt(name, l.base+int64(len(l.data)), "no version edit, expected at least one")
	}
	return v, nil
}

// builder applies edits.
type builder struct {
	v        Version
	families map[uint32]*familyState
	dropped  map[uint32]bool
	any      bool
}

type familyState struct {
	Family
	files   map[uint64]File
	blobs   map[uint64]BlobFile
	flushed map[uint64]bool // what a memtable was written to since the opening
}

func newFamily(id uint32, name string) *familyState {
	return &familyState{Family: Family{ID: id, Name: name}, files: map[uint64]File{}, blobs: map[uint64]BlobFile{}, flushed: map[uint64]bool{}}
}

func newBuilder() *builder {
	b := &builder{families: map[uint32]*familyState{}, dropped: map[uint32]bool{}}
	b.families[0] = newFamily(0, "default")
	return b
}

// apply applies one edit: family changes first, then deletions, then files, so
// that a move between levels is a deletion and an addition.
func (b *builder) apply(e edit) error {
	b.any = true
	if e.dbID != "" {
		b.v.DBID = e.dbID
	}
	if e.has.lastSeq {
		b.v.LastSequence = e.lastSeq
	}
	if e.has.nextFile {
		b.v.NextFile = e.nextFile
	}
	if e.has.minLog {
		b.v.MinLogToKeep = max(b.v.MinLogToKeep, e.minLog)
	}
	if e.isAdd {
		if _, ok := b.families[e.family]; ok && e.family != 0 {
			return fmt.Errorf("column family %d added twice", e.family)
		}
		b.families[e.family] = newFamily(e.family, e.add)
		delete(b.dropped, e.family)
	}
	f, ok := b.families[e.family]
	if !ok {
		if b.dropped[e.family] {
			return nil // an edit that raced with the drop
		}
		return fmt.Errorf("column family %d, expected one that was added", e.family)
	}
	if e.drop {
		delete(b.families, e.family)
		b.dropped[e.family] = true
		return nil
	}
	if e.comparator != "" {
		f.ComparatorName = e.comparator
	}
	if e.has.logNumber {
		f.LogNumber = max(f.LogNumber, e.logNumber)
	}
	for _, d := range e.deleted {
		old, ok := f.files[d.number]
		if !ok || old.Level != d.level {
			return fmt.Errorf("deletes file %06d of level %d, expected it to be live there", d.number, d.level)
		}
		delete(f.files, d.number)
	}
	for _, n := range e.added {
		if _, ok := f.files[n.Number]; ok {
			return fmt.Errorf("adds file %06d, expected it not to be live already", n.Number)
		}
		if e.isFlush() {
			f.flushed[n.Number] = true
			if n.Created.After(b.v.Flushed) {
				b.v.Flushed = n.Created
			}
		}
		n.Flushed = f.flushed[n.Number] // also when a compaction only moves it
		f.files[n.Number] = n
	}
	for _, n := range e.blobs {
		f.blobs[n.Number] = n
	}
	for _, g := range e.garbage {
		n, ok := f.blobs[g.Number]
		if !ok {
			return fmt.Errorf("garbage in blob file %06d, expected it to be live", g.Number)
		}
		n.GarbageCount += g.Count
		n.GarbageBytes += g.Bytes
		f.blobs[g.Number] = n
	}
	return nil
}

func (b *builder) version() Version {
	v := b.v
	for _, s := range b.families {
		f := s.Family
		for _, n := range s.files {
			f.Files = append(f.Files, n)
		}
		for _, n := range s.blobs {
			if n.GarbageCount < n.Count {
				f.Blobs = append(f.Blobs, n)
			}
		}
		slices.SortFunc(f.Blobs, func(x, y BlobFile) int { return cmp.Compare(x.Number, y.Number) })
		slices.SortFunc(f.Files, func(x, y File) int {
			return cmp.Or(cmp.Compare(x.Level, y.Level), cmp.Compare(x.Number, y.Number))
		})
		v.Families = append(v.Families, f)
	}
	slices.SortFunc(v.Families, func(x, y Family) int { return cmp.Compare(x.ID, y.ID) })
	if len(v.Families) > 0 {
		v.ComparatorName = v.Families[0].ComparatorName
	}
	return v
}
