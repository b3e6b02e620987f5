package kafka

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sstool/internal/kafkatest"
	"sstool/internal/op"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// seeds are blocks of every codec and kind.
func seeds(f *testing.F) (out [][]byte) {
	for _, codec := range []string{"none", "gzip", "snappy", "xerial", "lz4", "zstd"} {
		recs := numbered(0, 20)
		recs[3].Value, recs[4].Key, recs[5].Headers = nil, nil, []kafkatest.Header{{Key: "h"}, {Key: "", Value: []byte("v")}}
		out = append(out, encode(f, &kafkatest.Batch{Codec: codec}, recs...))
	}
	tx := encode(f, &kafkatest.Batch{Base: 20, ProducerID: 7, Transactional: true}, numbered(0, 2)...)
	tx = append(tx, encode(f, &kafkatest.Batch{Base: 22, ProducerID: 7, Transactional: true, Control: true},
		kafkatest.Record{Key: []byte{0, 0, 0, 0}, Value: []byte{0, 0, 0, 0, 0, 0}})...)
	return append(out, tx, nil, []byte("short"))
}

// sealAll makes the checksums right, so that fuzzing gets behind them.
func sealAll(raw []byte) {
	for {
		n, ok := batchSize(raw)
		if !ok || n < batchHeader || n > int64(len(raw)) {
			return
		}
		reseal(raw[:n])
		raw = raw[n:]
	}
}

// Whatever a broker sends: an error of the kinds for bad input, no panic, no
// memory beyond the limit, and no record outside the range.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s, int64(0), int64(25), false)
		f.Add(s, int64(3), int64(21), true)
	}
	d := Decoder{MaxInflated: 1 << 20}
	f.Fuzz(func(t *testing.T, raw []byte, from, to int64, committed bool) {
		raw = slices.Clone(raw)
		sealAll(raw)
		b := &Block{Topic: "t", First: from, from: from, to: to, ReadCommitted: committed,
			abortedTxns: []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 7, FirstOffset: 20}}}
		n, next, need, err := scan(b, raw, to)
		if err == nil && (n < 0 || n > len(raw) || next < from || n > 0 && need > 0) {
			t.Fatalf("scan: %d bytes, next %d, need %d", n, next, need)
		}
		if err != nil && op.KindOf(err) != op.Corrupt {
			t.Fatal(err)
		}
		b.raw = raw
		var seen int64
		st, err := d.Decode(b, func(r *Record) error {
			if r.Offset < from || r.Offset >= to || len(r.Headers) == 0 {
				t.Fatalf("offset %d, %d header bytes", r.Offset, len(r.Headers))
			}
			seen++
			return nil
		})
		if err != nil && op.KindOf(err) != op.Corrupt && op.KindOf(err) != op.Failed {
			t.Fatal(err)
		}
		if st.Records != seen || cap(d.inf.buf) > 4<<20 {
			t.Fatalf("%d records counted, %d seen; buffer %d", st.Records, seen, cap(d.inf.buf))
		}
	})
}

func FuzzVarint(f *testing.F) {
	f.Add([]byte{0x80, 0x01}, int64(300))
	f.Add(bytes.Repeat([]byte{0xff}, 11), int64(-1))
	f.Fuzz(func(t *testing.T, p []byte, v int64) {
		// Every number comes back, whatever follows it.
		e := append(binary.AppendVarint(nil, v), p...)
		if u, i := uvarint(e, 0); zigzag(u) != v || i != len(e)-len(p) {
			t.Fatalf("%d: %d at %d", v, zigzag(u), i)
		}
		want, n := binary.Uvarint(p)
		u, i := uvarint(p, 0)
		if n <= 0 && i != -1 || n > 0 && (u != want || i != n) {
			t.Fatalf("%x: %d at %d, want %d at %d", p, u, i, want, n)
		}
		r := binary.AppendVarint(binary.AppendVarint([]byte{0}, v), v/7)
		if dt, do, i := deltas(append(r, p...)); zigzag(dt) != v || zigzag(do) != v/7 || i != len(r) {
			t.Fatalf("%d, %d: %d, %d at %d", v, v/7, zigzag(dt), zigzag(do), i)
		}
	})
}

// A section of headers is read, and written by franz-go, as the decoder reads it.
func FuzzRecordHeaders(f *testing.F) {
	f.Add([]byte{4, 2, 'a', 1, 2, 'b', 2, 'x'})
	f.Add([]byte{0})
	f.Add([]byte{2, 0, 0})
	f.Fuzz(func(t *testing.T, section []byte) {
		if checkHeaders(section) != nil {
			return
		}
		hs := recordHeaders(section)
		e := binary.AppendVarint(nil, int64(len(hs)))
		for _, h := range hs {
			e = append(binary.AppendVarint(e, int64(len(h.Key))), h.Key...)
			if h.Value == nil {
				e = binary.AppendVarint(e, -1)
			} else {
				e = append(binary.AppendVarint(e, int64(len(h.Value))), h.Value...)
			}
		}
		if err := checkHeaders(e); err != nil || !reflect.DeepEqual(hs, recordHeaders(e)) || len(e) > max(len(section), 1) {
			t.Fatalf("%x: %v, again %x, %v", section, hs, e, err)
		}
	})
}

func FuzzProperties(f *testing.F) {
	f.Add([]byte("a=b\\\n c\r\n# x\nd:\\u0041\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := parseProperties(raw)
		if err == nil {
			c := Config{Bootstrap: []string{"a:1"}, Properties: p}
			c.options()
		}
	})
}

func FuzzJAAS(f *testing.F) {
	f.Add(`a.PlainLoginModule required username="x" password='y\n\101';`, "secret")
	f.Fuzz(func(t *testing.T, s, pass string) {
		parseJAAS(s)
		// A password comes back as it was, and never in an error.
		q := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(pass)
		e, err := parseJAAS(`m required password="` + q + `";`)
		if err != nil || e.options["password"] != pass {
			t.Fatalf("%q: %q, %v", pass, e.options["password"], err)
		}
	})
}

func FuzzStores(f *testing.F) {
	for _, name := range []string{"trust.jks", "key.jks", "client-all.pem", "trust.p12"} {
		f.Add([]byte(file(f, name)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if storeFormat(raw) == "JKS" {
			jksTrustedUnchecked(raw)
		}
		pemCertificates(raw)
		breakLines(raw)
	})
}
