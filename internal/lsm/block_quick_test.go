package lsm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
)

// walked is what a walk over a block shows: every entry, and the error.
func walked(b []byte, step func(*entries) bool) (out []string) {
	e := entries{ordered: true}
	if err := e.reset(b); err != nil {
		return []string{err.Error()}
	}
	for step(&e) {
		out = append(out, fmt.Sprintf("%d-%d %x %x", e.start, e.off, e.key, e.value))
	}
	return append(out, fmt.Sprint(e.err))
}

// entry is a block's entry as it is stored.
func entry(shared int, suffix, value string) []byte {
	b := binary.AppendUvarint(nil, uint64(shared))
	b = binary.AppendUvarint(b, uint64(len(suffix)))
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(append(b, suffix...), value...)
}

const noSeq = "\x01\x00\x00\x00\x00\x00\x00\x00" // a put with sequence number 0

// quickBlocks are blocks of two entries and what comes of the second.
func quickBlocks() map[string][]byte {
	block := func(second []byte) []byte {
		b := append(entry(0, "abc"+noSeq, "first value"), second...)
		return append(b, "\x00\x00\x00\x00\x01\x00\x00\x00"...)
	}
	long := func(n int) string { return string(bytes.Repeat([]byte("v"), n)) }
	return map[string][]byte{
		"quick":              block(entry(2, "d"+noSeq, "v")),
		"no value":           block(entry(2, "d"+noSeq, "")),
		"value of 127":       block(entry(2, "d"+noSeq, long(127))),
		"value of 128":       block(entry(2, "d"+noSeq, long(128))),
		"value of 16383":     block(entry(2, "d"+noSeq, long(16383))),
		"value of 16384":     block(entry(2, "d"+noSeq, long(16384))),
		"key of 128":         block(entry(0, "d"+long(119)+noSeq, "v")),
		"not shared":         block(entry(0, "b"+noSeq, "v")),
		"shares too little":  block(entry(1, "bd"+noSeq, "v")),
		"descends":           block(entry(2, "b"+noSeq, "v")),
		"same key":           block(entry(3, noSeq, "v")),
		"shares its seq":     block(entry(7, "\x00\x00\x00\x00", "v")),
		"prefix":             block(entry(1, noSeq, "v")),
		"longer":             block(entry(3, "a"+noSeq, "v")),
		"shares all":         block(entry(11, noSeq, "v")),
		"shares more":        block(entry(12, "d"+noSeq, "v")),
		"no trailer":         block(entry(2, "d", "v")),
		"key cut":            block(entry(2, "d"+noSeq, "")[:7]),
		"value cut":          block(entry(2, "d"+noSeq, "value")[:14]),
		"lengths cut":        block([]byte{2, 9}),
		"value length cut":   block([]byte{2, 9, 0x80}),
		"value length's end": block([]byte{0, 0, 0x80, 0x00}),
	}
}

// FuzzQuick compares the short way over a block with the long one.
func FuzzQuick(f *testing.F) {
	for _, b := range quickBlocks() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		quick, long := walked(b, (*entries).next), walked(b, (*entries).step)
		if fmt.Sprint(quick) != fmt.Sprint(long) {
			t.Errorf("quick:\n%q\nlong:\n%q", quick, long)
		}
	})
}

// TestQuickIsTaken makes sure that there is something to compare.
func TestQuickIsTaken(t *testing.T) {
	taken := map[string]bool{"quick": true, "no value": true, "value of 127": true, "value of 128": true, "value of 16383": true, "not shared": true}
	for name, b := range quickBlocks() {
		e := entries{ordered: true}
		if err := e.reset(b); err != nil || !e.next() {
			t.Fatal(name, err, e.err)
		}
		e.key = append(make([]byte, 0, 100), e.key...)
		if got := e.quick(); got != taken[name] {
			t.Errorf("%s: quick %t, expected %t", name, got, taken[name])
		}
	}
}

// counts is what counting the entries of two blocks comes to: with a function
// that looks at each, or without, which is quicker.
func counts(first, second []byte, fn func(Entry) error) string {
	s := scan{t: &Table{name: "x"}, fn: fn}
	s.info.SmallestSeq = ^uint64(0)
	e := entries{ordered: true, key: make([]byte, 0, quickKey)}
	err := s.block(&e, first, handle{})
	err2 := s.block(&e, second, handle{off: 100})
	return fmt.Sprintf("%+v %x %d %v %v", s.info, e.key, e.off, err, err2)
}

// FuzzTally compares counting entries with looking at each.
func FuzzTally(f *testing.F) {
	for _, b := range quickBlocks() {
		f.Add(b, b)
		f.Add(b[:len(b)-8], quickBlocks()["quick"])
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		quick, long := counts(first, second, nil), counts(first, second, func(Entry) error { return nil })
		if quick != long {
			t.Errorf("quick:\n%s\nlong:\n%s", quick, long)
		}
	})
}

// TestTallyCounts makes sure that there is something to compare: blocks of
// many entries and kinds, restart points and two sizes of values.
func TestTallyCounts(t *testing.T) {
	var b, points []byte
	info := SSTInfo{SmallestSeq: ^uint64(0)}
	last := ""
	for i := range 1000 {
		key := fmt.Sprintf("key-%06d", i*i)
		kind, seq := KindPut, uint64(i%7)
		if i%11 == 0 {
			kind = KindDelete
		}
		internal := binary.LittleEndian.AppendUint64([]byte(key), seq<<8|uint64(kind))
		shared := 0
		for ; i%16 > 0 && key[shared] == last[shared]; shared++ {
		}
		if i%16 == 0 {
			points = binary.LittleEndian.AppendUint32(points, uint32(len(b)))
		}
		value := bytes.Repeat([]byte("v"), i%200+8)
		b = append(b, entry(shared, string(internal[shared:]), string(value))...)
		info.add(kind, 1, len(key), len(value))
		last = key
	}
	info.SmallestKey, info.LargestKey, info.SmallestSeq, info.LargestSeq = []byte("key-000000"), []byte(last), 0, 6
	block := binary.LittleEndian.AppendUint32(append(bytes.Clone(b), points...), uint32(len(points)/4))
	info.BlockBytes = int64(len(block))

	s := scan{t: &Table{name: "x"}}
	s.info.SmallestSeq = ^uint64(0)
	e := entries{ordered: true, key: make([]byte, 0, quickKey)}
	if err := s.block(&e, block, handle{}); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%+v", s.info), fmt.Sprintf("%+v", info); got != want {
		t.Errorf("counted\n%s\nexpected\n%s", got, want)
	}
	if e = (entries{ordered: true, key: make([]byte, 0, quickKey)}); e.reset(block) != nil || !e.next() || !e.tally(&s.info) || e.off != len(b) {
		t.Errorf("the quick way ended at %d of %d bytes", e.off, len(b))
	}
}
