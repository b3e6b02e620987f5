package lsm

import (
	"strings"
	"testing"

	"sstool/internal/op"
)

func TestDefaultColumn(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"v1":             {"\x01\x02\x00\x03\x01a\x02onetw", "one"},
		"v1 unnamed not": {"\x01\x01\x01a\x02tw", ""},
		"no columns":     {"\x01\x00", ""},
		"v2":             {"\x02\x02\x02\x02\x01" + "\x01\x01" + "\x00\x01" + "\x03\x02" + "a" + "onetw", "one"},
		"v2 unnamed not": {"\x02\x01\x01\x01\x01" + "\x01" + "\x01" + "\x02" + "a" + "tw", ""},
	} {
		if got, err := defaultColumn([]byte(c.in)); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	for name, in := range map[string]string{
		"empty": "", "version": "\x09\x01", "count": "\x01", "name": "\x01\x01\x05a", "size": "\x01\x01\x00", "values": "\x01\x01\x00\x05abc",
		"v2 sections": "\x02\x01\x7f\x01\x00", "v2 value": "\x02\x01\x01\x01\x00" + "\x01" + "\x00" + "\x09" + "abc",
	} {
		if got, err := defaultColumn([]byte(in)); err == nil {
			t.Errorf("%s: %q, want an error", name, got)
		}
	}
}

func TestPlainValue(t *testing.T) {
	if v, err := plainValue(Entry{Kind: KindTimedPut, Value: []byte("value12345678")}, nil); err != nil || string(v) != "value" {
		t.Errorf("timed put: %q, %v", v, err)
	}
	if _, err := plainValue(Entry{Kind: KindTimedPut, Value: []byte("short")}, nil); op.KindOf(err) != op.Corrupt {
		t.Errorf("short timed put: %v, want corruption", err)
	}
	if _, err := plainValue(Entry{Kind: KindMerge}, nil); err == nil || !strings.Contains(err.Error(), "merge operator") {
		t.Errorf("merge operand: %v", err)
	}
	b := &blobFiles{dir: t.TempDir()}
	for _, index := range []string{"", "\x00\x01", "\x01\x01\x02", "\x01\x01\x02\x03\x00\x00"} {
		if _, err := plainValue(Entry{Kind: KindBlobIndex, Value: []byte(index)}, b); err == nil {
			t.Errorf("blob reference %x: no error", index)
		}
	}
}

func FuzzDefaultColumn(f *testing.F) {
	f.Add([]byte("\x01\x02\x00\x03\x01a\x02onetw"))
	f.Add([]byte("\x02\x02\x02\x02\x01\x01\x01\x00\x01\x03\x02aonetw"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := defaultColumn(b); err == nil && len(v) > len(b) {
			t.Errorf("%d bytes of %d", len(v), len(b))
		}
	})
}

// FuzzBlob reads references into a blob file that is any bytes.
func FuzzBlob(f *testing.F) {
	f.Add([]byte("\x01\x01\x23\x03\x00"), []byte("key"), []byte(strings.Repeat("x", 64)))
	f.Fuzz(func(t *testing.T, index, key, file []byte) {
		b := &blobFiles{dir: t.TempDir()}
		defer b.close()
		write(t, b.dir+"/000001.blob", file)
		_, _ = b.value(key, index)
	})
}
