package kafka

import (
	"encoding/binary"
	"testing"

	"sstool/internal/kafkatest"
)

// The headers of a block: codecs, gaps within a batch, transactions, and the
// delete horizon that the cleaner puts in place of the base timestamp.
func TestBatches(t *testing.T) {
	gap := kafkatest.Batch{Codec: "lz4"}
	for _, at := range []int64{0, 3, 9} {
		gap.AddAt(at, &kafkatest.Record{Key: []byte("k"), Timestamp: 1000 + at})
	}
	first, err := gap.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	tx := encode(t, &kafkatest.Batch{Base: 12, ProducerID: 7, Transactional: true}, numbered(0, 2)...)
	end := encode(t, &kafkatest.Batch{Base: 14, ProducerID: 7, Transactional: true, Control: true},
		kafkatest.Record{Key: []byte{0, 0, 0, 1}, Value: []byte{0, 0, 0, 0, 0, 0}})
	binary.BigEndian.PutUint16(end[21:], binary.BigEndian.Uint16(end[21:])|attrDeleteHorizon)
	binary.BigEndian.PutUint64(end[27:], 777)
	reseal(end)
	var raw []byte
	for _, b := range [][]byte{first, tx, end} {
		raw = append(raw, b...)
	}
	b := &Block{Topic: "t", to: 100, raw: raw}
	var got []BatchInfo
	b.Batches(func(i BatchInfo) { got = append(got, i) })
	want := []BatchInfo{
		{First: 0, Last: 9, Records: 3, Size: len(first), Codec: "lz4", DeleteHorizon: -1},
		{First: 12, Last: 13, Records: 2, Size: len(tx), Codec: "none", Transactional: true, DeleteHorizon: -1},
		{First: 14, Last: 14, Records: 1, Size: len(end), Codec: "none", Transactional: true, Control: true, DeleteHorizon: 777},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("batch %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	var d Decoder
	if st, err := d.Decode(b, func(*Record) error { return nil }); err != nil || st.Records != 5 || st.Control != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}

// Headers are walked before anything is checked: no input may break that.
func FuzzBatches(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		n := 0
		(&Block{raw: raw}).Batches(func(i BatchInfo) { n += i.Size })
		if n > len(raw) {
			t.Fatalf("%d bytes of batches in %d", n, len(raw))
		}
	})
}
