package verify

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"sstool/internal/op"
)

// entry is a row, or a record, as the table keeps it beside the key of the row.
type entry struct {
	local   bool // a row
	later   bool // a record behind the store's offset
	null    bool // it deletes
	timed   bool // the row says the time
	headed  bool // headers are known
	part    int32
	offset  int64 // of a record; of a version on disk the end of its validity
	time    int64 // of the record; of a version the start of its validity
	aux     uint64
	value   [16]byte // hash
	headers uint64   // hash
}

// How an entry is packed: flags, then what of it is there.
const (
	isLocal uint16 = 1 << iota
	isLater
	isNull
	isTimed
	hasTime
	hasHeaders
	hasAux
	hasPart
	hasOffset
)

func (e *entry) append(dst []byte) []byte {
	var flags uint16
	set := func(on bool, bit uint16) {
		if on {
			flags |= bit
		}
	}
	set(e.local, isLocal)
	set(e.later, isLater)
	set(e.null, isNull)
	set(e.timed, isTimed)
	set(e.headed, hasHeaders)
	set(e.time != 0, hasTime)
	set(e.aux != 0, hasAux)
	set(e.part != 0, hasPart)
	set(e.offset != 0, hasOffset)
	dst = binary.BigEndian.AppendUint16(dst, flags)
	if e.time != 0 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.time))
	}
	if e.headed {
		dst = binary.BigEndian.AppendUint64(dst, e.headers)
	}
	if e.aux != 0 {
		dst = binary.BigEndian.AppendUint64(dst, e.aux)
	}
	if e.offset != 0 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.offset))
	}
	if e.part != 0 {
		dst = binary.BigEndian.AppendUint32(dst, uint32(e.part))
	}
	if !e.null {
		dst = append(dst, e.value[:]...)
	}
	return dst
}

func (e *entry) parse(b []byte) error {
	var flags uint16
	if len(b) >= 2 {
		flags = binary.BigEndian.Uint16(b)
	}
	n := 2
	for _, bit := range []uint16{hasTime, hasHeaders, hasAux, hasOffset} {
		if flags&bit != 0 {
			n += 8
		}
	}
	if flags&hasPart != 0 {
		n += 4
	}
	if flags&isNull == 0 {
		n += 16
	}
	if len(b) != n {
		return op.Errorf(op.Failed, "an entry of %d bytes is not as it was written", len(b))
	}
	b = b[2:]
	next := func(bit uint16) uint64 {
		if flags&bit == 0 {
			return 0
		}
		v := binary.BigEndian.Uint64(b)
		b = b[8:]
		return v
	}
	is := func(bit uint16) bool { return flags&bit != 0 }
	*e = entry{local: is(isLocal), later: is(isLater), null: is(isNull), timed: is(isTimed), headed: is(hasHeaders)}
	e.time = int64(next(hasTime))
	e.headers = next(hasHeaders)
	e.aux = next(hasAux)
	e.offset = int64(next(hasOffset))
	if is(hasPart) {
		e.part = int32(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	copy(e.value[:], b)
	return nil
}

func hashOf(value []byte) [16]byte { return xxh3.Hash128(value).Bytes() }

// What of a row differs.
const (
	partValue   = "value"
	partTime    = "timestamp"
	partHeaders = "headers"
)

// differs says which part of a row is not the record's; "" when they agree. What
// a row of an older form does not say is not compared.
func (e *entry) differs(record *entry, times bool) string {
	switch {
	case e.value != record.value:
		return partValue
	case times && e.timed && record.timed && e.time != record.time:
		return partTime
	case e.headed && record.headed && e.headers != record.headers:
		return partHeaders
	}
	return ""
}

// rest is what the digest of a row has besides its key.
func (e *entry) rest(dst []byte) []byte {
	dst = append(dst[:0], e.value[:]...)
	if e.timed {
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.time))
	}
	if e.headed {
		dst = binary.BigEndian.AppendUint64(dst, e.headers)
	}
	return dst
}
