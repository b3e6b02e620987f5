package streams

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"testing"

	"sstool/internal/op"
)

func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		name, wire, prefix string
		headers            []Header
	}{
		{"none", "00", "00", nil},
		{"nil", "-", "00", nil},
		// [VECTOR] out of a real store of 4.4: three headers, the last null.
		{"three", "06 0a7472616365 0a7432333235 046832 06 0001ff 066e756c 01", "32 06 0a7472616365 0a7432333235 046832 06 0001ff 066e756c 01",
			[]Header{{"trace", []byte("t2325")}, {"h2", []byte{0, 1, 255}}, {"nul", nil}}},
		{"empty key and value", "02 00 00", "06 02 00 00", []Header{{"", []byte{}}}},
		{"long varints are shortened", "8200 8200 68 8100", "08 02 02 68 01", []Header{{"h", nil}}},
		{"any negative value length is null", "02 02 68 05", "08 02 02 68 01", []Header{{"h", nil}}},
		{"a long zero", "8000", "00", nil},
	} {
		got, err := AppendHeadersPrefix([]byte("x"), hx(c.wire))
		if err != nil || !bytes.Equal(got, append([]byte("x"), hx(c.prefix)...)) {
			t.Errorf("%s: %x, %v", c.name, got, err)
			continue
		}
		section, rest, err := SplitHeadersPrefix(append(got[1:], "rest"...))
		if err != nil || string(rest) != "rest" {
			t.Errorf("%s: rest %q, %v", c.name, rest, err)
		}
		for _, s := range [][]byte{section, hx(c.wire)} {
			if h, err := ParseHeaders(s); err != nil || !reflect.DeepEqual(h, c.headers) {
				t.Errorf("%s: %q, %v", c.name, h, err)
			}
		}
	}
	for _, bad := range []string{"01", "02", "02 02", "02 02 68", "02 02 68 04 76", "02 01 00", "00 00", "ff", "8080808080808080808080", "fe", "02 02 68 02 76 00"} {
		if b, err := AppendHeadersPrefix(nil, hx(bad)); op.KindOf(err) != op.Corrupt {
			t.Errorf("%s: %x, %v", bad, b, err)
		}
	}
	for _, bad := range []string{"", "01", "04 00", "04 02 68", "80"} {
		if s, _, err := SplitHeadersPrefix(hx(bad)); op.KindOf(err) != op.Corrupt {
			t.Errorf("%s: %x, %v", bad, s, err)
		}
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add(hx("06 0a7472616365 0a7432333235 046832 06 0001ff 066e756c 01"))
	f.Add(hx("8200 8200 68 8100"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		prefix, err := AppendHeadersPrefix(nil, wire)
		if err != nil {
			if _, err := ParseHeaders(wire); err == nil {
				t.Fatal("only one of them takes it")
			}
			return
		}
		section, rest, err := SplitHeadersPrefix(prefix)
		if err != nil || len(rest) != 0 {
			t.Fatalf("%x: %x, %v", prefix, rest, err)
		}
		a, err := ParseHeaders(wire)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseHeaders(section)
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("%q became %q, %v", a, b, err)
		}
	})
}

func FuzzSplitHeadersPrefix(f *testing.F) {
	f.Add(hx("0a0202680276 0000000000000005 56"))
	f.Fuzz(func(t *testing.T, value []byte) {
		section, rest, err := SplitHeadersPrefix(value)
		if err == nil && len(section)+len(rest) > len(value) {
			t.Fatalf("%s: %x and %x", hex.EncodeToString(value), section, rest)
		}
	})
}
