package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The record log of a MANIFEST (db/log_format.h): blocks of 32 KiB holding
// records of at most one block, which join to logical records.
const (
	logBlock     = 32 << 10
	logHeader    = 7  // checksum, length, type
	logRecycled  = 11 // the same and a log number
	recZero      = 0
	recFull      = 1
	recFirst     = 2
	recMiddle    = 3
	recLast      = 4
	recIgnorable = 128 // unknown types from here on may be skipped
)

// logReader cuts a record log into logical records, with one block in memory
// at a time.
type logReader struct {
	src  io.Reader // of the blocks after data; nil when data is the whole log
	data []byte
	base int64 // where data begins
	off  int   // in data
	rec  []byte
	torn bool // the log ends inside a record: its writer is at it, or was cut off
}

// more reads the next block; false at the end.
func (l *logReader) more() (bool, error) {
	if l.src == nil {
		return false, nil
	}
	l.base += int64(len(l.data))
	if cap(l.data) < logBlock {
		l.data = make([]byte, logBlock)
	}
	n, err := io.ReadFull(l.src, l.data[:logBlock])
	l.data, l.off = l.data[:n], 0
	if err != nil { // a short block is the last one, even if the file grows
		l.src = nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n > 0, err
}

// next returns a logical record and the offset of its first byte. ok is false
// at the end, torn or not. The record is valid until the next call.
func (l *logReader) next() (rec []byte, at int64, ok bool, err error) {
	l.rec = l.rec[:0]
	open := false
	for {
		typ, body, start, more, err := l.physical()
		if err != nil {
			return nil, start, false, err
		}
		if !more {
			l.torn = l.torn || open
			return nil, start, false, nil
		}
		switch typ {
		case recFull:
			if open {
				return nil, start, false, fmt.Errorf("a whole record inside another, expected its last part")
			}
			return body, start, true, nil
		case recFirst:
			if open {
				return nil, start, false, fmt.Errorf("a first part inside a record, expected a middle or last part")
			}
			open, at = true, start
			l.rec = append(l.rec, body...)
		case recMiddle, recLast:
			if !open {
				return nil, start, false, fmt.Errorf("a record part of type %d without its first part", typ)
			}
			l.rec = append(l.rec, body...)
			if typ == recLast {
				return l.rec, at, true, nil
			}
		}
	}
}

// physical returns the next record that fits in one block, and where it is;
// recyclable types are mapped to the plain ones.
func (l *logReader) physical() (typ byte, body []byte, at int64, ok bool, err error) {
	for {
		at = l.base + int64(l.off)
		left := logBlock - l.off%logBlock
		if left < logHeader {
			l.off += left // the tail of a block too short for a header
			continue
		}
		if l.off >= len(l.data) {
			if ok, err := l.more(); !ok || err != nil {
				return 0, nil, at, false, err
			}
			continue
		}
		b := l.data[l.off:min(len(l.data), l.off+left)]
		if len(b) < logHeader {
			l.torn = true
			return 0, nil, at, false, nil
		}
		n := int(binary.LittleEndian.Uint16(b[4:]))
		typ = b[6]
		if typ == recZero && n == 0 {
			if !zeros(b) {
				return 0, nil, at, false, fmt.Errorf("a record of type 0 and length 0, expected only zeros after it")
			}
			l.off += len(b) // space set aside by the file system
			continue
		}
		head := logHeader
		if typ >= 5 && typ <= 8 {
			head = logRecycled
		}
		if head+n > left {
			return 0, nil, at, false, fmt.Errorf("a record of %d bytes, expected at most the %d left in its block", n, left-head)
		}
		if head+n > len(b) {
			l.torn = true
			return 0, nil, at, false, nil
		}
		if sum, stored := maskedCRC(b[6:head+n]), binary.LittleEndian.Uint32(b); sum != stored {
			return 0, nil, at, false, fmt.Errorf("record checksum %#08x, expected %#08x", sum, stored)
		}
		l.off += head + n
		switch {
		case typ >= 1 && typ <= 4:
		case typ >= 5 && typ <= 8:
			typ -= 4
		case typ >= recIgnorable:
			continue
		default:
			return 0, nil, at, false, fmt.Errorf("record type %d, expected 1 to 8", typ)
		}
		return typ, b[head : head+n], at, true, nil
	}
}

func zeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
