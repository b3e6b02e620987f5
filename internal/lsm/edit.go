package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// Tags of a VersionEdit (db/version_edit.h).
const (
	tagComparator     = 1
	tagLogNumber      = 2
	tagNextFile       = 3
	tagLastSequence   = 4
	tagCompactCursor  = 5
	tagDeletedFile    = 6
	tagNewFile        = 7
	tagPrevLog        = 9
	tagMinLogToKeep   = 10
	tagNewFile2       = 100
	tagNewFile3       = 102
	tagNewFile4       = 103
	tagFamily         = 200
	tagFamilyAdd      = 201
	tagFamilyDrop     = 202
	tagMaxFamily      = 203
	tagAtomicGroup    = 300
	tagBlobAdd        = 400
	tagBlobGarbage    = 401
	tagSafeIgnore     = 1 << 13 // unknown tags with this bit hold a length and may be skipped
	tagDBID           = 8193
	tagBlobAddOld     = 8194
	tagBlobGarbageOld = 8195
	tagWalAdd         = 8196
	tagWalDelete      = 8197

	fileEnd      = 1 // custom fields of new file 4
	fileMinLog   = 3
	fileOldest   = 5 // seconds: when the oldest of its rows was written
	fileCreated  = 6 // seconds
	fileEpoch    = 13
	filePathID   = 65
	fileMustKnow = 1 << 6
	blobMustKnow = 1 << 6
	maxLevel     = 1 << 10 // far above any; levels index nothing here
	walAddSize   = 2
	walAddEnd    = 1
)

// edit is one record of a MANIFEST.
type edit struct {
	family     uint32
	comparator string
	add        string // name of a family added
	isAdd      bool
	drop       bool
	dbID       string
	lastSeq    uint64
	logNumber  uint64
	nextFile   uint64
	minLog     uint64
	has        struct{ lastSeq, logNumber, nextFile, minLog, group bool }
	groupLeft  uint32 // edits of the atomic group after this one
	deleted    []levelFile
	added      []File
	blobs      []BlobFile // new ones
	garbage    []BlobFile // what of older ones nobody refers to any more
}

// isFlush tells the edit that FlushJob makes: it adds a memtable's file, drops
// none, and moves the log number on (db/flush_job.cc). The edits that tell the
// files there were at the opening have no next file number
// (VersionSet::WriteCurrentStateToManifest).
func (e *edit) isFlush() bool {
	return len(e.added) > 0 && len(e.deleted) == 0 && e.has.logNumber && e.has.nextFile
}

type levelFile struct {
	level  int
	number uint64
}

// fields are taken from the front of a record and remembers the first
// failure.
type fields struct {
	b   []byte
	err error
}

func (c *fields) fail(what string) {
	if c.err == nil {
		c.err = fmt.Errorf("malformed %s", what)
	}
	c.b = nil
}

func (c *fields) u64(what string) uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail(what)
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *fields) u32(what string) uint32 {
	v := c.u64(what)
	if v > math.MaxUint32 {
		c.fail(what)
		return 0
	}
	return uint32(v)
}

func (c *fields) level() int {
	v := c.u32("level")
	if v > maxLevel {
		c.fail("level")
		return 0
	}
	return int(v)
}

func (c *fields) bytes(what string) []byte {
	n := uint64(c.u32(what))
	if n > uint64(len(c.b)) {
		c.fail(what)
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

// internal takes an internal key and returns a copy of its user key and the
// trailer.
func (c *fields) internal(what string) ([]byte, uint64) {
	b := c.bytes(what)
	if c.err == nil && len(b) < 8 {
		c.fail(what)
	}
	if c.err != nil {
		return nil, 0
	}
	return append([]byte{}, userKey(b)...), binary.LittleEndian.Uint64(b[len(b)-8:])
}

// decodeEdit reads a VersionEdit (db/version_edit.cc:VersionEdit::DecodeFrom).
func decodeEdit(b []byte) (edit, error) {
	var e edit
	c := fields{b: b}
	for len(c.b) > 0 && c.err == nil {
		tag := c.u32("tag")
		switch tag {
		case tagComparator:
			e.comparator = string(c.bytes("comparator"))
		case tagLogNumber:
			e.logNumber, e.has.logNumber = c.u64("log number"), true
		case tagPrevLog:
			c.u64("previous log number")
		case tagNextFile:
			e.nextFile, e.has.nextFile = c.u64("next file number"), true
		case tagLastSequence:
			e.lastSeq, e.has.lastSeq = c.u64("last sequence"), true
		case tagMinLogToKeep:
			e.minLog, e.has.minLog = c.u64("log number to keep"), true
		case tagCompactCursor:
			c.level()
			c.bytes("compaction cursor")
		case tagDeletedFile:
			e.deleted = append(e.deleted, levelFile{c.level(), c.u64("deleted file")})
		case tagNewFile, tagNewFile2, tagNewFile3, tagNewFile4:
			e.added = append(e.added, c.newFile(tag, &e))
		case tagFamily:
			e.family = c.u32("column family")
		case tagFamilyAdd:
			e.add, e.isAdd = string(c.bytes("column family name")), true
		case tagFamilyDrop:
			e.drop = true
		case tagMaxFamily:
			c.u32("largest column family")
		case tagAtomicGroup:
			e.groupLeft, e.has.group = c.u32("atomic group"), true
		case tagDBID:
			e.dbID = string(c.bytes("database id"))
		case tagBlobAdd, tagBlobAddOld:
			e.blobs = append(e.blobs, c.blob(2))
		case tagBlobGarbage, tagBlobGarbageOld:
			e.garbage = append(e.garbage, c.blob(0))
		case tagWalAdd:
			c.u64("log number")
			for c.err == nil {
				if t := c.u32("log field"); t == walAddEnd {
					break
				} else if t != walAddSize {
					c.fail("log field")
				}
				c.u64("log size")
			}
		case tagWalDelete:
			c.u64("log number")
		default:
			if c.err == nil && tag&tagSafeIgnore == 0 {
				return e, fmt.Errorf("unknown tag %d, expected one that may be skipped", tag)
			}
			c.bytes(fmt.Sprintf("field %d", tag))
		}
	}
	return e, c.err
}

// newFile reads the body of the new-file tags.
func (c *fields) newFile(tag uint32, e *edit) File {
	f := File{Level: c.level(), Number: c.u64("file number")}
	if tag == tagNewFile3 {
		f.PathID = c.u32("path id")
	}
	f.Size = int64(c.u64("file size"))
	if f.Size < 0 {
		c.fail("file size")
	}
	var trailer uint64
	f.Smallest, _ = c.internal("smallest key")
	f.Largest, trailer = c.internal("largest key")
	f.LargestExclusive = trailer == maxSeq<<8|uint64(KindRangeDelete)
	if tag == tagNewFile {
		return f
	}
	f.SmallestSeq = c.u64("smallest sequence")
	f.LargestSeq = c.u64("largest sequence")
	if tag != tagNewFile4 {
		return f
	}
	for c.err == nil {
		field := c.u32("file field")
		if field == fileEnd || c.err != nil {
			break
		}
		b := c.bytes("file field")
		switch {
		case field == filePathID:
			if len(b) != 1 {
				c.fail("path id")
				break
			}
			f.PathID = uint32(b[0])
		case field == fileMinLog:
			if len(b) != 8 {
				c.fail("log number to keep")
				break
			}
			e.minLog, e.has.minLog = binary.LittleEndian.Uint64(b), true
		case field == fileOldest:
			f.Oldest = seconds(b)
		case field == fileCreated:
			f.Created = seconds(b)
		case field == fileEpoch:
			f.Epoch, _ = binary.Uvarint(b)
		case field&fileMustKnow != 0:
			c.err = fmt.Errorf("unknown file field %d, expected one that may be skipped", field)
		}
	}
	return f
}

// seconds reads a time stored as a varint of seconds; 0 is unknown.
func seconds(b []byte) time.Time {
	if v, n := binary.Uvarint(b); n > 0 && v > 0 && v < 1<<40 {
		return time.Unix(int64(v), 0).UTC()
	}
	return time.Time{}
}

// blob reads the addition of a blob file, whose record has a checksum in two
// strings, or of garbage in one (db/blob/blob_file_addition.cc,
// blob_file_garbage.cc).
func (c *fields) blob(strings int) BlobFile {
	b := BlobFile{Number: c.u64("blob file"), Count: c.u64("blob count"), Bytes: c.u64("blob bytes")}
	for range strings {
		c.bytes("blob checksum")
	}
	for c.err == nil {
		field := c.u32("blob field")
		if field == 0 || c.err != nil {
			break
		}
		if field&blobMustKnow != 0 {
			c.err = errors.New("unknown blob field, expected one that may be skipped")
		}
		c.bytes("blob field")
	}
	return b
}
