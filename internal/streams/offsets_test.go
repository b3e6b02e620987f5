package streams

import (
	"encoding/hex"
	"maps"
	"strings"
	"testing"
)

func TestOffsets(t *testing.T) {
	for _, c := range []struct {
		topic string
		part  int32
		key   string
	}{{"app-s-changelog", 0, "app-s-changelog-0"}, {"status", 12, "status-12"}} {
		key := OffsetsKey(c.topic, c.part)
		if string(key) != c.key {
			t.Errorf("key %q, want %q", key, c.key)
		}
		if tp, ok := ParseOffsetsKey(key); !ok || tp != (TopicPartition{c.topic, c.part}) {
			t.Errorf("parsed %v, %v", tp, ok)
		}
	}
	for _, k := range []string{StatusKey, PositionKey, "a-", "-1", "a-+1", "a-99999999999", ""} {
		if tp, ok := ParseOffsetsKey([]byte(k)); ok {
			t.Errorf("%q parsed as %v", k, tp)
		}
	}
	if h := hex.EncodeToString(EncodeOffset(OffsetUnknown)); h != "fffffffffffffffc" {
		t.Errorf("-4 is %s", h)
	}
	if n, err := DecodeOffset(EncodeOffset(621)); err != nil || n != 621 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := DecodeOffset([]byte{1}); err == nil {
		t.Error("one byte is no offset")
	}
}

func TestPosition(t *testing.T) {
	// [VECTOR] of PositionSerde: one topic "t", partition 3 at 77, 201 bytes.
	want := "00000000010000000174000000010000000300000000" + "0000004d"
	b := EncodePosition(Position{{"t", 3}: 77})
	if len(b) != 201 || !strings.HasPrefix(hex.EncodeToString(b), want) || strings.Trim(hex.EncodeToString(b)[len(want):], "0") != "" {
		t.Errorf("%d bytes: %x", len(b), b)
	}
	if b := EncodePosition(nil); len(b) != 40 || strings.Trim(hex.EncodeToString(b), "0") != "" {
		t.Errorf("empty position: %x", b)
	}
	p := Position{{"a", 0}: 1, {"a", 7}: 1 << 40, {"topic-b", 2}: 0}
	got, err := DecodePosition(EncodePosition(p))
	if err != nil || !maps.Equal(got, p) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "00", "0100000000", "0000000001", "00ffffffff00000000", "00000000010000000174ffffffff", "0000000001ffffffff74"} {
		b, _ := hex.DecodeString(bad)
		if p, err := DecodePosition(b); err == nil {
			t.Errorf("%s decoded as %v", bad, p)
		}
	}
}

func FuzzDecodePosition(f *testing.F) {
	f.Add(EncodePosition(Position{{"a", 0}: 1, {"topic-b", 2}: 0}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePosition(b)
		if err != nil {
			return
		}
		again, err := DecodePosition(EncodePosition(p))
		if err != nil || !maps.Equal(p, again) {
			t.Fatalf("%v became %v, %v", p, again, err)
		}
	})
}

func FuzzOffsets(f *testing.F) {
	f.Add([]byte("app-s-changelog-0"), EncodeOffset(7))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if tp, ok := ParseOffsetsKey(key); ok {
			if again, ok := ParseOffsetsKey(OffsetsKey(tp.Topic, tp.Partition)); !ok || again != tp {
				t.Fatalf("%v became %v", tp, again)
			}
		}
		if n, err := DecodeOffset(value); err == nil && string(EncodeOffset(n)) != string(value) {
			t.Fatalf("%x became %d", value, n)
		}
	})
}
