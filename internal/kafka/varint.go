package kafka

// reader walks the bytes of records. The first malformed length sets bad and
// everything after it is empty.
type reader struct {
	b   []byte
	bad bool
}

// varint reads a zigzag varint (org.apache.kafka.common.utils.ByteUtils).
func (r *reader) varint() int64 {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		v := r.b[0]
		r.b = r.b[1:]
		return int64(v>>1) ^ -int64(v&1)
	}
	return r.varintSlow()
}

func (r *reader) varintSlow() int64 {
	var u uint64
	for i, c := range r.b {
		if i == 9 && c > 1 || i > 9 {
			break
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.b = r.b[i+1:]
			return int64(u>>1) ^ -int64(u&1)
		}
	}
	r.fail()
	return 0
}

func (r *reader) fail() { r.b, r.bad = nil, true }

// take returns the next n bytes.
func (r *reader) take(n int64) []byte {
	if n < 0 || n > int64(len(r.b)) {
		r.fail()
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

// bytes reads a length and that many bytes; length -1 is null.
func (r *reader) bytes() []byte {
	n := r.varint()
	if n < 0 {
		if n != -1 {
			r.fail()
		}
		return nil
	}
	return r.take(n)
}

func (r *reader) skipHeaders(n int64) {
	if n < 0 || n > int64(len(r.b)) {
		r.fail()
		return
	}
	for ; n > 0 && !r.bad; n-- {
		r.take(r.varint())
		r.bytes()
	}
}
