package migrate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"sstool/internal/op"
	"sstool/internal/serde"
)

// maxKeyLine bounds a line of a file of keys.
const maxKeyLine = 1 << 20

// eachKeyLine calls fn with the keys of a file: one a line, as the decoder of
// keys reads what a person writes (nil: the bytes of the line). Empty lines are
// passed over.
func eachKeyLine(r io.Reader, s serde.Serde, fn func(key []byte) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxKeyLine)
	n := 0
	for in.Scan() {
		n++
		text := strings.TrimSuffix(in.Text(), "\r")
		if text == "" {
			continue
		}
		key := []byte(text)
		if s != nil {
			var err error
			if key, err = s.Encode(text); err != nil {
				return op.Errorf(op.Usage, "line %d: %w", n, err)
			}
		}
		if err := fn(key); err != nil {
			return err
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return op.Errorf(op.Usage, "line %d is longer than %d bytes", n+1, maxKeyLine)
	}
	if in.Err() != nil {
		return fmt.Errorf("line %d: %w", n+1, in.Err())
	}
	return nil
}
