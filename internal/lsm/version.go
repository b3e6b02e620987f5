package lsm

import (
	"fmt"
	"path/filepath"
	"time"
)

// Version is the live state of a database as its MANIFEST tells it.
type Version struct {
	Dir            string
	Manifest       string // file name
	DBID           string
	ComparatorName string
	Families       []Family // by id, "default" first
	LastSequence   uint64
	NextFile       uint64
	MinLogToKeep   uint64
	// Torn says that the MANIFEST ends inside a record or an atomic group: an
	// application is writing it, or was stopped while it did.
	Torn bool
	// Flushed is when a memtable was last written to a file since the database
	// was opened, to the second; zero when none was. Compaction may have taken
	// the file.
	Flushed time.Time
}

// Family is one column family.
type Family struct {
	ID             uint32
	Name           string
	ComparatorName string
	LogNumber      uint64 // older write-ahead logs hold nothing of this family
	Files          []File // live SST files, by level and number
	Blobs          []BlobFile
}

// BlobFile is a file of values kept apart from their keys. A file whose bytes
// are garbage altogether is gone from the live version.
type BlobFile struct {
	Number                     uint64
	Count, Bytes               uint64
	GarbageCount, GarbageBytes uint64
}

// Name is the file's name in the database's directory.
func (b BlobFile) Name() string { return fmt.Sprintf("%06d.blob", b.Number) }

// File is one live SST file. Keys are user keys.
type File struct {
	Number                  uint64
	Level                   int
	PathID                  uint32
	Size                    int64
	Smallest, Largest       []byte
	LargestExclusive        bool // Largest is the end of a range tombstone
	SmallestSeq, LargestSeq uint64
	Epoch                   uint64    // orders the files of level 0; 0 when older than RocksDB 7.10
	Oldest, Created         time.Time // oldest row and the file itself; zero when not known
	Flushed                 bool      // written from a memtable since the database was opened

	name string // on disk, when it is not the usual one
}

// Name is the file's name in the database's directory.
func (f File) Name() string {
	if f.name != "" {
		return f.name
	}
	return fmt.Sprintf("%06d.sst", f.Number)
}

// Family finds a column family by name.
func (v *Version) Family(name string) (*Family, bool) {
	for i := range v.Families {
		if v.Families[i].Name == name {
			return &v.Families[i], true
		}
	}
	return nil, false
}

// Path is the file's full path.
func (v *Version) Path(f File) string { return filepath.Join(v.Dir, f.Name()) }
