package serde

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// FuzzAppendHex: whatever the length, the place and the room, the digits are
// those of encoding/hex, and nothing else is written.
func FuzzAppendHex(f *testing.F) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	f.Add(all, 3, 700)
	for n := range 40 {
		f.Add(all[n:2*n], n%5, 2*n)
	}
	f.Fuzz(func(t *testing.T, b []byte, before, room int) {
		before, room = before&63, room&4095
		dst := bytes.Repeat([]byte("#"), before+room)
		got := AppendHex(dst[:before], b)
		want := bytes.Repeat([]byte("#"), before)
		if want = append(want, hex.EncodeToString(b)...); !bytes.Equal(got, want) {
			t.Errorf("%x: %q, expected %q", b, got, want)
		}
		for i := min(len(dst), before+2*len(b)); i < len(dst); i++ {
			if dst[i] != '#' {
				t.Fatalf("%d bytes: wrote behind the digits", len(b))
			}
		}
	})
}

func BenchmarkAppendHex(b *testing.B) {
	src, dst := make([]byte, 100), make([]byte, 0, 200)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		dst = AppendHex(dst[:0], src)
	}
}
