package lsm

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sstool/internal/op"
)

// takeManifest takes the live version that was read through CURRENT or, when
// that led nowhere, reads the newest MANIFEST that can be read.
func (d *DB) takeManifest(l *listing, v Version, err error) {
	if err == nil {
		d.setVersion(v)
		return
	}
	tried := ""
	if name, cerr := readCurrent(d.Dir); cerr == nil && (l.has(name) || l.irregular[name]) {
		tried = name
		d.report(name, state(l, name, err)+", and CURRENT names it: "+l.unknownLive(), err, cureRestore)
	} else {
		d.report("CURRENT", currentState(l, cerr), err, cureRestore)
		if len(l.manifests) == 0 && len(l.irregular) == 0 {
			d.report("MANIFEST", "is missing: "+l.unknownLive(), nil, cureRestore)
		}
	}
	v, ok := d.otherManifest(l, tried)
	if !ok {
		return
	}
	cure := cureRestore
	if errors.Is(err, fs.ErrPermission) {
		cure = op.TryRights
	}
	d.report(v.Manifest, "is taken instead, the newest that can be read: the live set may be an older one", nil, cure)
	d.setVersion(v)
}

// state is what is wrong with a file that could not be read.
func state(l *listing, name string, err error) string {
	switch {
	case l.irregular[name]:
		return "is not a regular file"
	case errors.Is(err, fs.ErrPermission):
		return "cannot be read"
	case l.sizes[name] == 0:
		return "is empty"
	}
	return "is damaged"
}

// unknownLive is what follows when no MANIFEST can be read.
func (l *listing) unknownLive() string {
	s := "which SST files are live, and on which level, is not known"
	if len(l.tables) > 0 {
		s += "; the files themselves can be read"
	}
	return s
}

func currentState(l *listing, err error) string {
	switch size, ok := l.sizes["CURRENT"]; {
	case l.irregular["CURRENT"]:
		return "is not a regular file"
	case !ok:
		return "is missing"
	case size == 0:
		return "is empty"
	case errors.Is(err, fs.ErrPermission):
		return "cannot be read"
	case err == nil:
		return "names a MANIFEST that does not exist"
	}
	return "does not name a MANIFEST"
}

// otherManifest is the newest MANIFEST but one that can be read, preferably to
// its end.
func (d *DB) otherManifest(l *listing, but string) (best Version, ok bool) {
	for _, name := range l.manifests {
		if name == but {
			continue
		}
		v, err := readManifestFile(filepath.Join(d.Dir, name))
		if err != nil {
			d.report(name, "cannot be read", err, cureRestore)
			continue
		}
		if !v.Torn {
			return v, true
		}
		if !ok {
			best, ok = v, true
		}
	}
	return best, ok
}

func (d *DB) setVersion(v Version) {
	d.Version = &v
	d.Identity = v.DBID
	if v.Torn {
		d.Remarks = append(d.Remarks, v.Manifest+tornManifest)
	}
}

// tornManifest is what a MANIFEST is whose last record is not whole. RocksDB
// takes that for a write that was cut off, and opens the state before it.
const tornManifest = " ends inside a record: an application is writing it, or was stopped while it did; the state before that record is shown"

// checkTorn reports SST files that the lost end of the MANIFEST may have named.
func (d *DB) checkTorn() {
	if !d.Version.Torn || len(d.Orphans) == 0 {
		return
	}
	d.Remarks = slices.DeleteFunc(d.Remarks, func(s string) bool { return s == d.Version.Manifest+tornManifest })
	d.report(d.Version.Manifest, fmt.Sprintf("ends inside a record and does not name %d of the SST files here: rows may be lost, the state before that record is shown", len(d.Orphans)), nil, cureRestore)
}

// checkEnd reports a MANIFEST that lost whole records at its end: OPTIONS has
// column families it does not know, which RocksDB writes after them, and there
// are SST files of later on.
func (d *DB) checkEnd() {
	if d.Version.Torn || d.Options == nil || len(d.Newer) == 0 {
		return
	}
	for _, f := range d.Options.Families {
		if _, ok := d.Version.Family(f.Name); !ok {
			d.report(d.Version.Manifest, fmt.Sprintf("does not know column family %q of OPTIONS, nor %d of the SST files here: its end is lost, and rows with it; the state before that is shown", f.Name, len(d.Newer)), nil, cureRestore)
			return
		}
	}
}

// readOptions reads the newest OPTIONS file that can be read.
func (d *DB) readOptions(l *listing) {
	for _, name := range l.options {
		o, err := readOptionsFile(filepath.Join(d.Dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // replaced meanwhile
		}
		if err != nil {
			d.report(name, state(l, name, err)+": what the database is configured for is not known from it", err, "Kafka Streams does not read it and writes a new one when it opens the store")
			continue
		}
		d.Options = &o
		d.compareFamilies(name)
		return
	}
	if len(l.options) == 0 {
		d.report("OPTIONS", "is missing: what the database is configured for is not known", nil, "Kafka Streams does not read it and writes a new one when it opens the store")
	}
}

// compareFamilies reports an OPTIONS file whose column families are not the
// database's.
func (d *DB) compareFamilies(name string) {
	if d.Version == nil {
		return
	}
	has := d.Version.names()
	var said []string
	for _, f := range d.Options.Families {
		said = append(said, f.Name)
	}
	slices.Sort(has)
	slices.Sort(said)
	if d.differ = !slices.Equal(has, said); d.differ {
		d.report(name, fmt.Sprintf("configures the column families %q, the MANIFEST has %q: it is older, or of another database", said, has), nil,
			"Kafka Streams does not read it and writes a new one when it opens the store")
	}
}

// maxIdentity is far above the 36 bytes of an id.
const maxIdentity = 1 << 10

// readIdentity reads IDENTITY, which may be missing: since RocksDB 9.7 the
// MANIFEST has the id too, and RocksDB goes by that.
func (d *DB) readIdentity(l *listing) {
	const name = "IDENTITY"
	if !l.has(name) {
		return
	}
	b, err := readHead(filepath.Join(d.Dir, name), maxIdentity)
	id := strings.TrimSpace(string(b))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		d.report(name, "cannot be read", ioError("read IDENTITY", err), cureNone)
	case id == "":
		d.report(name, "is empty", nil, cureNone)
	case len(b) == maxIdentity || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }):
		d.report(name, "does not hold the id of a database", corrupt(filepath.Join(d.Dir, name), 0, "%d bytes %.40q, expected one line of printable text", len(b), b), cureNone)
	case d.Identity == "":
		d.Identity = id
	case d.Identity != id:
		d.report(name, fmt.Sprintf("says %s, the MANIFEST %s: copied from another database; RocksDB goes by the MANIFEST", id, d.Identity), nil, cureNone)
	}
}

// readHead reads at most limit bytes of a file's beginning.
func readHead(path string, limit int64) ([]byte, error) {
	f, size, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, min(size, limit))
	n, err := f.ReadAt(b, 0)
	if n == len(b) {
		err = nil
	}
	return b[:n], err
}
