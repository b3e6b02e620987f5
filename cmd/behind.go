package cmd

import "io"

// behind is a buffered writer that writes in the background, so that whoever
// fills the next buffer does not wait for the file or pipe. It belongs to one
// goroutine. What fits one buffer is written by Flush itself.
type behind struct {
	out  io.Writer
	buf  []byte
	full chan []byte // nil: the background has not begun
	free chan []byte
	done chan error
}

const (
	behindBuffer = 256 << 10
	behindFull   = behindBuffer - 16<<10 // what is sent off, so that rows rarely outgrow it
)

// Write implements io.Writer. An error is that of an earlier write.
func (w *behind) Write(b []byte) (int, error) {
	if w.buf == nil {
		w.buf = make([]byte, 0, behindBuffer)
	}
	if w.buf = append(w.buf, b...); len(w.buf) < behindFull {
		return len(b), nil
	}
	if w.full == nil {
		w.begin()
	}
	w.full <- w.buf
	w.buf = <-w.free
	select {
	case err := <-w.done:
		w.done <- err // for Flush
		return 0, err
	default:
		return len(b), nil
	}
}

// begin starts the background; it ends with Flush.
func (w *behind) begin() {
	w.full, w.free, w.done = make(chan []byte, 1), make(chan []byte, 2), make(chan error, 1)
	w.free <- make([]byte, 0, behindBuffer)
	go func() {
		var first error
		for b := range w.full {
			if first == nil {
				if _, first = w.out.Write(b); first != nil {
					w.done <- first
				}
			}
			w.free <- b[:0]
		}
		if first == nil {
			w.done <- nil
		}
	}()
}

// Flush writes what there is, waits for it, and ends the background.
func (w *behind) Flush() error {
	if w.full != nil {
		close(w.full)
		err := <-w.done
		if w.full = nil; err != nil {
			w.buf = w.buf[:0]
			return err
		}
	}
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.out.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// Through writes what there is and then b, for those who have much of it and
// are in the background themselves.
func (w *behind) Through(b []byte) error {
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := w.out.Write(b)
	return err
}
