package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

// TestBehind: everything arrives, in order, whatever the sizes.
func TestBehind(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 400_000} {
		var got, want bytes.Buffer
		w := &behind{out: &got}
		for i := range n {
			line := fmt.Sprintf("%d %s\n", i, bytes.Repeat([]byte("x"), i%97))
			if i == 500 {
				line = string(bytes.Repeat([]byte("long"), behindBuffer))
			}
			want.WriteString(line)
			if _, err := w.Write([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%d lines: %d bytes (%v), want %d", n, got.Len(), err, want.Len())
		}
	}
}

type failing struct{ left int }

var errFull = errors.New("no space left")

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestBehindFails: an error in the background comes out of a later Write or of
// Flush, and nothing blocks.
func TestBehindFails(t *testing.T) {
	for _, left := range []int{0, behindBuffer, 3 * behindBuffer, 10*behindBuffer - 1} {
		w := &behind{out: &failing{left}}
		var err error
		for range 10 * behindBuffer / 1000 * 11 / 10 {
			if _, werr := w.Write(make([]byte, 1000)); werr != nil {
				err = werr
			}
		}
		if ferr := w.Flush(); !errors.Is(errors.Join(err, ferr), errFull) || ferr == nil {
			t.Errorf("with room for %d bytes: write %v, flush %v", left, err, ferr)
		}
	}
}
