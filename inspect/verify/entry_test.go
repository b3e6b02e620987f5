package verify

import (
	"bytes"
	"testing"
)

func FuzzEntry(f *testing.F) {
	for _, e := range []entry{{}, {local: true, timed: true, time: 5, value: [16]byte{1}}, {later: true, null: true, offset: 1 << 40, part: 3},
		{headed: true, headers: 7, aux: 9, time: -1, timed: true, offset: -4}} {
		f.Add(e.append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again entry
		if e.parse(b) != nil {
			return
		}
		p := e.append(nil)
		if err := again.parse(p); err != nil || again != e {
			t.Fatalf("%x: %+v became %x: %+v (%v)", b, e, p, again, err)
		}
		if !bytes.Equal(p, again.append(nil)) {
			t.Fatal("not the same twice")
		}
	})
}
