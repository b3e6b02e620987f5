package streams

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSplitRowKey has keys as the real classes write them.
func TestSplitRowKey(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		key  string
		want RowKey
	}{
		{TimestampedKV, "6162", RowKey{Key: []byte("ab")}},
		{Window, "6162 00000000000003e8 00000007", RowKey{Key: []byte("ab"), Start: 1000, Seq: 7}},
		{Session, "6162 00000000000007d0 00000000000003e8", RowKey{Key: []byte("ab"), Start: 1000, End: 2000}},
		{TimeOrderedWindow, "00 00000000000003e8 6162 00000007", RowKey{Key: []byte("ab"), Start: 1000, Seq: 7}},
		{TimeOrderedWindow, "01 6162 00000000000003e8 00000007", RowKey{Key: []byte("ab"), Start: 1000, Seq: 7, Index: true}},
		{TimeOrderedSession, "00 00000000000007d0 00000000000003e8 6162", RowKey{Key: []byte("ab"), Start: 1000, End: 2000}},
		{TimeOrderedSession, "01 6162 00000000000007d0 00000000000003e8", RowKey{Key: []byte("ab"), Start: 1000, End: 2000, Index: true}},
		{Versioned, "ffffffffffffffff 6162", RowKey{Key: []byte("ab"), Segment: LatestSegment}},
		{List, "00000000000003e8 01 6162", RowKey{Key: []byte("ab"), Time: 1000, Left: true}},
		{FKSubscription, "00000001 46 70", RowKey{Key: []byte("p"), ForeignKey: []byte("F")}},
		{GraceBuffer, "00 00000000000003e8 6162 00000007", RowKey{Key: []byte("ab"), Time: 1000, Seq: 7}},
	} {
		got, err := SplitRowKey(c.kind, fromHex(t, c.key))
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s %s: %+v (%v), want %+v", c.kind, c.key, got, err, c.want)
		}
	}
	for _, c := range []struct {
		kind Kind
		key  string
	}{{Window, "00"}, {Session, "6162 00000000000003e8"}, {TimeOrderedWindow, "02 00000000000003e8 00000007"}, {TimeOrderedSession, "00"},
		{Versioned, "00"}, {List, "00000000000003e8 02"}, {List, ""}, {FKSubscription, "00000002 46"}, {GraceBuffer, "01 00000000000003e8 00000007"}} {
		if got, err := SplitRowKey(c.kind, fromHex(t, c.key)); err == nil {
			t.Errorf("%s %s: %+v, want an error", c.kind, c.key, got)
		}
	}
}

func TestSplitRowValue(t *testing.T) {
	for _, c := range []struct {
		kind          Kind
		family, value string
		want          RowValue
	}{
		{KV, DefaultFamily, "56", RowValue{Value: []byte("V")}},
		{TimestampedKV, TimestampFamily, "00000000000003e8 56", RowValue{Value: []byte("V"), Time: 1000, HasTime: true}},
		{TimestampedKV, TimestampFamily, "ffffffffffffffff 56", RowValue{Value: []byte("V"), Time: -1}},
		{TimestampedKV, DefaultFamily, "56", RowValue{Value: []byte("V")}}, // from before an upgrade
		{TimestampedWindow, TimestampHeadersFamily, "00 00000000000003e8 56", RowValue{Value: []byte("V"), Time: 1000, HasTime: true}},
		{TimeOrderedWindow, DefaultFamily, "00000000000003e8 56", RowValue{Value: []byte("V"), Time: 1000, HasTime: true}},
		{Session, SessionHeadersFamily, "08 02 02 61 01 56", RowValue{Value: []byte("V"), Headers: []byte{2, 2, 0x61, 1}}},
		{TimeOrderedSession, SessionHeadersFamily, "56", RowValue{Value: []byte("V")}},
	} {
		got, err := SplitRowValue(c.kind, c.family, fromHex(t, c.value))
		if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s %s %s: %+v (%v), want %+v", c.kind, c.family, c.value, got, err, c.want)
		}
	}
	if _, err := SplitRowValue(TimestampedKV, TimestampFamily, []byte("short")); err == nil {
		t.Error("a value without a timestamp is taken")
	}
}

func TestParseListValue(t *testing.T) {
	got, err := ParseListValue(fromHex(t, "01 00000003 00000002 0141 00000002 0042 ffffffff"))
	if err != nil || len(got) != 3 || !got[0].Left || got[1].Left || string(got[0].Value)+string(got[1].Value) != "AB" || got[2].Value != nil {
		t.Errorf("%+v %v", got, err)
	}
	for _, bad := range []string{"", "00 00000000", "01 00000001", "01 00000001 00000001 02", "01 00000001 00000000", "01 00000000 00", "01 ffffffff 00000000"} {
		if got, err := ParseListValue(fromHex(t, bad)); err == nil {
			t.Errorf("%s: %+v, want an error", bad, got)
		}
	}
}

func TestParseSubscription(t *testing.T) {
	hash := "00112233445566778899aabbccddeeff"
	s, err := ParseSubscription(fromHex(t, "01 02 "+hash+" 70 00000003"))
	if err != nil || s.Version != 1 || s.InstructionName() != "PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE" || hex.EncodeToString(s.Hash) != hash || string(s.PrimaryKey) != "p" || s.Partition != 3 {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := ParseSubscription(fromHex(t, "80 03 70")); err != nil || s.Hash != nil || s.Partition != -1 || string(s.PrimaryKey) != "p" {
		t.Errorf("without a hash: %+v %v", s, err)
	}
	for _, bad := range []string{"", "01", "02 00", "00 04", "00 00 11", "81 00 00"} {
		if s, err := ParseSubscription(fromHex(t, bad)); err == nil {
			t.Errorf("%s: %+v, want an error", bad, s)
		}
	}
}

func TestParseBuffered(t *testing.T) {
	ctx := "00000000000003e8 0000000000000005 00000002 696e 00000002 00000001 00000001 68 00000001 76"
	for _, tail := range []string{"", "0000000000000000"} {
		b, err := ParseBuffered(fromHex(t, ctx+"ffffffff ffffffff 00000001 4e"+tail))
		if err != nil || b.Time != 1000 || b.Offset != 5 || b.Topic != "in" || b.Partition != 2 || string(b.Value) != "N" {
			t.Errorf("%+v %v", b, err)
		}
	}
	for _, bad := range []string{"", ctx, ctx + "ffffffff ffffffff 00000002 4e", ctx + "ffffffff ffffffff ffffffff 00"} {
		if b, err := ParseBuffered(fromHex(t, bad)); err == nil {
			t.Errorf("%s: %+v, want an error", bad, b)
		}
	}
}

// FuzzSplitRow: any bytes as any kind's row are an error or parts that belong
// to them.
func FuzzSplitRow(f *testing.F) {
	f.Add([]byte("ab\x00\x00\x00\x00\x00\x00\x03\xe8\x00\x00\x00\x07"), []byte("\x00\x00\x00\x00\x00\x00\x03\xe8V"))
	f.Add([]byte("\x00\x00\x00\x01Fp"), []byte("\x01\x02hash567890123456p\x00\x00\x00\x03"))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		for _, k := range Kinds() {
			for _, split := range []func(Kind, []byte) (RowKey, error){SplitRowKey, SplitRecordKey} {
				if r, err := split(k, key); err == nil && (!bytes.Contains(key, r.Key) || !bytes.Contains(key, r.ForeignKey)) {
					t.Errorf("%s %x: %+v", k, key, r)
				}
			}
			for _, family := range []string{DefaultFamily, TimestampFamily, TimestampHeadersFamily, WindowHeadersFamily, SessionHeadersFamily} {
				if v, err := SplitRowValue(k, family, value); err == nil && !bytes.HasSuffix(value, v.Value) {
					t.Errorf("%s %s %x: %+v", k, family, value, v)
				}
			}
		}
		if s, err := ParseSubscription(value); err == nil {
			_ = s.InstructionName()
		}
		_, _ = ParseListValue(value)
		_, _ = ParseBuffered(value)
	})
}
