package lsm

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
)

// Some systems keep RocksDB's files under names of their own: a Flink
// checkpoint has uuids. What a file is follows from its content then, and which
// of the MANIFEST's numbers an SST file had from its properties.

const (
	maxSniff     = 20000 // files looked at
	optionsTitle = "# This is a RocksDB option file."
)

// sniff looks for RocksDB's files by content.
func (l *listing) sniff() {
	names := make([]string, 0, len(l.sizes))
	for name := range l.sizes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxSniff)] {
		path := filepath.Join(l.dir, name)
		switch {
		case endsAsTable(path):
			l.tables = append(l.tables, name)
		case startsAsManifest(path):
			l.manifests = append(l.manifests, name)
		default:
			if b, err := readHead(path, int64(len(optionsTitle))); err == nil && string(b) == optionsTitle {
				l.options = append(l.options, name)
			}
		}
	}
	l.foreign = len(l.tables)+len(l.manifests) > 0
}

// misnamed takes files for SST files that are called so, where nothing else
// tells what they are: empty or damaged ones.
func (l *listing) misnamed() {
	for name := range l.sizes {
		if strings.HasSuffix(name, ".sst") {
			l.tables = append(l.tables, name)
		}
	}
	slices.Sort(l.tables)
	l.foreign = len(l.tables) > 0
}

// endsAsTable says whether a file ends in the magic number of a block-based
// table.
func endsAsTable(path string) bool {
	f, size, err := openFile(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [8]byte
	if size < 48 {
		return false
	}
	if _, err := f.ReadAt(b[:], size-8); err != nil {
		return false
	}
	magic := binary.LittleEndian.Uint64(b[:])
	return magic == magicBlockBased || magic == magicLegacy
}

// startsAsManifest says whether a file's first record is a whole one of a
// MANIFEST.
func startsAsManifest(path string) bool {
	b, err := readHead(path, logBlock)
	if err != nil || len(b) < logHeader || bytes.HasPrefix(b, []byte("#")) {
		return false
	}
	l := logReader{data: b}
	rec, _, ok, err := l.next()
	if err != nil || !ok {
		return false
	}
	e, err := decodeEdit(rec)
	return err == nil && (e.comparator != "" || e.dbID != "" || e.has.nextFile || len(e.added) > 0)
}

// readForeign reads the MANIFEST and OPTIONS that sniff found and gives the
// live files the names they have here.
func (d *DB) readForeign(l *listing) {
	d.Remarks = append(d.Remarks, "the files do not have RocksDB's names; what they are follows from their content")
	if len(l.manifests) == 0 {
		d.report("MANIFEST", "is missing: "+l.unknownLive(), nil, "look for the files beside these: a checkpoint may keep them in another directory")
	}
	if len(l.manifests) > 1 {
		d.report("MANIFEST", "is there more than once: "+l.unknownLive()+"; the files may be of several databases", nil, "give each database a directory of its own")
	}
	if len(l.manifests) == 1 {
		name := l.manifests[0]
		v, err := readManifestFile(filepath.Join(d.Dir, name))
		if err != nil {
			d.report(name, "is damaged: "+l.unknownLive(), err, cureRestore)
		} else {
			d.setVersion(v)
			d.nameTables(l)
		}
	}
	if len(l.options) == 1 {
		if o, err := readOptionsFile(filepath.Join(d.Dir, l.options[0])); err != nil {
			d.report(l.options[0], "is damaged: what the database is configured for is not known", err, cureNone)
		} else {
			d.Options = &o
		}
	}
}

// nameTables finds the files of the live version by the number and size they
// had.
func (d *DB) nameTables(l *listing) {
	type id struct {
		number uint64
		size   int64
	}
	at := map[id]string{}
	for _, name := range l.tables {
		f, size, err := openFile(filepath.Join(d.Dir, name))
		if err != nil {
			continue
		}
		if t, err := openTable(name, f, size, false); err == nil {
			if n, ok := t.props.Uint(propOriginalNumber); ok {
				at[id{n, size}] = name
			}
			t.close()
		}
		_ = f.Close()
	}
	for i := range d.Version.Families {
		fam := &d.Version.Families[i]
		for j := range fam.Files {
			f := &fam.Files[j]
			if name, ok := at[id{f.Number, f.Size}]; ok {
				f.name = name
			}
		}
	}
}

// propOriginalNumber is the number a file had in the database that wrote it.
const propOriginalNumber = "rocksdb.original.file.number"
