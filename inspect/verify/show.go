package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"sstool/inspect"
	"sstool/internal/kafka"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

// errCleaned says that a record with which a row was compared is gone: the
// cleaner went over the changelog meanwhile, so newer ones may be gone as well.
var errCleaned = errors.New("cleaned meanwhile")

// differences fetches what the first findings look like. A record that is
// still there proves that nothing newer of its key was compacted away before it
// was read: the cleaner takes the older ones first.
func (u *unit) differences(ctx context.Context, list []finding) ([]Difference, error) {
	var out []Difference
	for i := range list {
		f := &list[i]
		key := u.rowKey(f)
		d := Difference{What: f.what, Part: f.part, Why: f.why, KeyHex: hex.EncodeToString(key)}
		d.key = keyText(u.rows.RowOf(u.task.Task, u.family(), key, nil))
		if f.last != nil {
			d.Later = &f.last.offset
		}
		if f.local != nil {
			row, err := u.localRow(f, key)
			if err != nil {
				return nil, err
			}
			if row != nil {
				d.Local, d.local = row.AppendJSON(nil), valueText(row)
			}
		}
		if f.record != nil {
			d.Partition, d.Offset = &f.record.part, &f.record.offset
			row, err := u.recordRow(ctx, f, key)
			if err != nil {
				return nil, err
			}
			d.Changelog, d.other = row.AppendJSON(nil), valueText(row)
		}
		out = append(out, d)
	}
	return out, nil
}

// family is the one that records become rows of.
func (u *unit) family() string {
	list := u.store.ColumnFamilies()
	return list[len(list)-1]
}

// rowKey is the key of the finding's row.
func (u *unit) rowKey(f *finding) []byte {
	key := f.key[:len(f.key):len(f.key)]
	switch {
	case u.store.Kind == streams.Versioned:
		segment := int64(streams.LatestSegment)
		return append(binary.BigEndian.AppendUint64(nil, uint64(segment)), key...)
	case !numbered(u.store.Kind):
		return key
	case f.local != nil:
		return binary.BigEndian.AppendUint32(key, uint32(f.local.aux))
	case f.record != nil:
		return binary.BigEndian.AppendUint32(key, uint32(f.record.aux))
	}
	return binary.BigEndian.AppendUint32(key, 0)
}

// localRow is the row as it is now; nil when it is gone.
func (u *unit) localRow(f *finding, key []byte) (*inspect.Row, error) {
	if u.store.Kind == streams.Versioned && f.local.offset != always {
		row := u.rows.RowOf(u.task.Task, u.family(), key, nil)
		row.Deleted, row.ValidFrom, row.ValidTo, row.KeysOnly = false, &f.local.time, &f.local.offset, true
		return row, nil
	}
	family, value, ok, err := u.task.Get(key)
	if err != nil || !ok {
		return nil, err
	}
	return u.rows.RowOf(u.task.Task, family, key, value), nil
}

// recordRow is the row that the finding's record makes.
func (u *unit) recordRow(ctx context.Context, f *finding, key []byte) (row *inspect.Row, err error) {
	at := f.record.offset
	o := u.o.readOptions(u.topic, f.record.part, at, at+1, false)
	err = u.c.Peek(ctx, o, 1, func(r *kafka.Record) error {
		if row, err = u.converted(r, key); row != nil {
			row.Offset = &f.record.offset
		}
		return err
	})
	var moved *kafka.LogStartMovedError
	if errors.As(err, &moved) || err == nil && row == nil {
		return nil, errCleaned
	}
	return row, err
}

// converted is the row with the key that a record makes, of its own memory; nil
// when it makes none.
func (u *unit) converted(r *kafka.Record, key []byte) (row *inspect.Row, err error) {
	own := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		return append([]byte{}, b...)
	}
	if u.store.Kind == streams.Versioned {
		if !bytes.Equal(r.Key, key[8:]) {
			return nil, nil
		}
		var value []byte
		if r.Value != nil {
			value = append(binary.BigEndian.AppendUint64(nil, uint64(r.Timestamp)), r.Value...)
		}
		row = u.rows.RowOf(u.task.Task, u.family(), key, value)
		at := r.Timestamp
		row.ValidFrom = &at
		return row, nil
	}
	conv, err := streams.NewConverter(u.store)
	if err != nil {
		return nil, err
	}
	_, err = conv.Rows(r.Key, r.Value, r.Headers, r.Timestamp, func(x *streams.Row) error {
		if !bytes.Equal(u.tableKey(x.Key), u.tableKey(key)) {
			return nil
		}
		value := own(x.Value)
		if x.Delete {
			value = nil
		} else if value == nil {
			value = []byte{}
		}
		row = u.rows.RowOf(u.task.Task, u.family(), own(x.Key), value)
		if at := r.Timestamp; row.Time == nil && row.HasTime() {
			row.Time = &at
		}
		return nil
	})
	return row, err
}

// keyText is a row's key for people.
func keyText(r *inspect.Row) string {
	b := r.AppendKey(nil)
	switch {
	case r.Kind == streams.FKSubscription:
		b = append(append(r.AppendForeignKey(nil), " / "...), b...)
	case r.End != nil && r.Start != nil:
		b = append(b, " @ "+serde.Time(*r.Start).String()+" to "+serde.Time(*r.End).String()...)
	case r.Start != nil:
		b = append(b, " @ "+serde.Time(*r.Start).String()...)
	case r.Side != "" && r.Time != nil:
		b = append(b, " @ "+serde.Time(*r.Time).String()+" "+r.Side...)
	}
	return string(b)
}

// valueText is a row's value and time for people.
func valueText(r *inspect.Row) string {
	text := ""
	switch {
	case r.Deleted:
		text = "(deleted)"
	case r.KeysOnly:
	default:
		for _, f := range r.Object() {
			if f.Name == "value" || f.Name == "value_hex" && text == "" {
				text = serde.Text(f.Value)
			}
		}
	}
	switch {
	case r.ValidFrom != nil && r.ValidTo != nil:
		text += " [" + serde.Time(*r.ValidFrom).String() + " to " + serde.Time(*r.ValidTo).String() + ")"
	case r.ValidFrom != nil:
		text += " [" + serde.Time(*r.ValidFrom).String() + " to now)"
	case r.Time != nil && r.Side == "":
		text += " @ " + serde.Time(*r.Time).String()
	}
	return text
}

// result puts the task's part of the document together.
func (u *unit) result(ctx context.Context, f *found) (*Task, error) {
	t := &Task{Task: u.task.Task, Dir: u.task.Dir, Counts: f.Counts, Verdict: Same, Local: &u.local}
	var err error
	if t.Differences, err = u.differences(ctx, f.first); err != nil {
		return nil, err
	}
	for _, p := range u.parts {
		t.Partitions = append(t.Partitions, p.Partition)
	}
	t.More = f.Findings() - int64(len(t.Differences))
	if f.Ahead+f.Unverifiable+f.Expired == 0 && u.store.Kind != streams.Versioned {
		t.Changelog = &f.digest
	}
	if f.Findings() > 0 {
		t.Verdict = Differs
	}
	return t, nil
}

// notComparable is the part of a task that nothing can be said of.
func notComparable(t *inspect.RawTask, verdict, why string) *Task {
	return &Task{Task: t.Task, Dir: t.Dir, Verdict: verdict, Why: why}
}
