package inspect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

// scanAll are the rows of a scan, as JSON.
func scanAll(t *testing.T, r *Rows, o RowsScan) []string {
	t.Helper()
	var out []string
	res, err := r.Scan(context.Background(), o, func(row *Row) error {
		short := string(row.AppendJSON(nil))
		out = append(out, string(serde.AppendJSON(nil, row.Object())))
		if short != out[len(out)-1] {
			t.Errorf("%s\nthe short way: %s", out[len(out)-1], short)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(out)) != res.Count {
		t.Errorf("%s: %d rows shown, %d counted", r.name, len(out), res.Count)
	}
	return out
}

func openRows(t *testing.T, o RowsOptions) *Rows {
	t.Helper()
	r, err := OpenRows(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// truthRows are what rocksdbjni read of the stores: database → raw rows by key.
func truthRows(t *testing.T, dir string) map[string]map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "rows.jsonl"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var l struct {
			DB, CF     string
			Key, Value *string
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.CF == streams.OffsetsFamily || l.Key == nil {
			continue
		}
		if out[l.DB] == nil {
			out[l.DB] = map[string]string{}
		}
		out[l.DB][*l.Key] = *l.Value
	}
	return out
}

// rawKey is the row's key as it lies on disk.
func rawKey(r *Row) []byte {
	be := binary.BigEndian
	switch r.Kind {
	case streams.Window, streams.TimestampedWindow:
		return be.AppendUint32(be.AppendUint64(bytes.Clone(r.Key.Bytes), uint64(*r.Start)), r.Seq)
	case streams.TimeOrderedWindow:
		return be.AppendUint32(append(be.AppendUint64([]byte{0}, uint64(*r.Start)), r.Key.Bytes...), r.Seq)
	case streams.GraceBuffer:
		return be.AppendUint32(append(be.AppendUint64([]byte{0}, uint64(*r.Time)), r.Key.Bytes...), r.Seq)
	case streams.Session:
		return be.AppendUint64(be.AppendUint64(bytes.Clone(r.Key.Bytes), uint64(*r.End)), uint64(*r.Start))
	case streams.TimeOrderedSession:
		return append(be.AppendUint64(be.AppendUint64([]byte{0}, uint64(*r.End)), uint64(*r.Start)), r.Key.Bytes...)
	case streams.Versioned:
		return append(be.AppendUint64(nil, 1<<64-1), r.Key.Bytes...)
	case streams.List:
		side := byte(0)
		if r.Side == "left" {
			side = 1
		}
		return append(append(be.AppendUint64(nil, uint64(*r.Time)), side), r.Key.Bytes...)
	case streams.FKSubscription:
		return append(append(be.AppendUint32(nil, uint32(len(r.ForeignKey.Bytes))), r.ForeignKey.Bytes...), r.Key.Bytes...)
	}
	return r.Key.Bytes
}

// valueParts says how the value on disk must look: its end, and a timestamp
// before that.
func checkValue(r *Row, raw []byte) error {
	at := r.Time
	if r.Kind == streams.Versioned {
		at = r.ValidFrom
	}
	switch r.Kind {
	case streams.List:
		for _, e := range r.List {
			if !bytes.Contains(raw, e.Bytes) {
				return fmt.Errorf("value %x has no %x", raw, e.Bytes)
			}
		}
		return nil
	case streams.GraceBuffer:
		at = &r.Buffered.Time
		if !bytes.Contains(raw, r.Value.Bytes) || int64(binary.BigEndian.Uint64(raw)) != *at {
			return fmt.Errorf("value %x has no %x", raw, r.Value.Bytes)
		}
		return nil
	}
	if !bytes.HasSuffix(raw, r.Value.Bytes) {
		return fmt.Errorf("value %x, on disk %x", r.Value.Bytes, raw)
	}
	if at == nil {
		return nil
	}
	before := raw[:len(raw)-len(r.Value.Bytes)]
	if len(before) < 8 || int64(binary.BigEndian.Uint64(before[len(before)-8:])) != *at {
		return fmt.Errorf("time %d is not before the value in %x", *at, raw)
	}
	return nil
}

// TestRowsOfRealStores: every row that rocksdbjni reads is shown, taken apart
// into what it was put together from, found again by its key, and the other
// way round in reverse.
func TestRowsOfRealStores(t *testing.T) {
	kinds := map[streams.Kind]int{}
	for _, name := range lsmtest.Names(t) {
		t.Run(name, func(t *testing.T) {
			dir, app := lsmtest.Unpack(t, name)
			truth := truthRows(t, dir)
			tree, err := Find(context.Background(), app)
			if err != nil {
				t.Fatal(err)
			}
			for _, store := range tree.names(func(s *Store) string { return s.Name }) {
				r := openRows(t, RowsOptions{Path: app, Store: store})
				if r.kind == "" {
					t.Errorf("%s: kind not told: %s", store, r.kindWhy)
					continue
				}
				kinds[r.kind]++
				if truth != nil {
					checkRows(t, app, r, truth)
				}
				forward, backward := scanAll(t, r, RowsScan{}), scanAll(t, r, RowsScan{Reverse: true})
				slices.Reverse(backward)
				if !slices.Equal(forward, backward) {
					t.Errorf("%s: %d rows, in reverse %d others", store, len(forward), len(backward))
				}
				checkGets(t, r)
			}
		})
	}
	for _, k := range streams.Kinds() {
		if k.OnDisk() && kinds[k] == 0 {
			t.Errorf("no %s store among the fixtures", k)
		}
	}
}

func checkRows(t *testing.T, app string, r *Rows, truth map[string]map[string]string) {
	t.Helper()
	want := 0
	for _, p := range r.parts {
		for _, db := range p.dbs {
			rel, err := filepath.Rel(app, db.dir)
			if err != nil {
				t.Fatal(err)
			}
			for key := range truth[rel] {
				b, _ := hex.DecodeString(key)
				k, err := streams.SplitRowKey(r.kind, b)
				if err == nil && !k.Index && (r.kind != streams.Versioned || k.Segment == streams.LatestSegment) {
					want++
				}
			}
		}
	}
	got := 0
	_, err := r.Scan(context.Background(), RowsScan{}, func(row *Row) error {
		got++
		key := hex.EncodeToString(rawKey(row))
		for _, p := range r.parts {
			for _, db := range p.dbs {
				rel, _ := filepath.Rel(app, db.dir)
				raw, ok := truth[rel][key]
				if !ok || p.task != row.Task {
					continue
				}
				b, _ := hex.DecodeString(raw)
				return checkValue(row, b)
			}
		}
		return fmt.Errorf("key %s is not on disk", key)
	})
	if err != nil || got != want {
		t.Errorf("%s (%s): %d rows, want %d: %v", r.name, r.kind, got, want, err)
	}
}

// checkGets looks every key up: what comes is what a scan shows of it.
func checkGets(t *testing.T, r *Rows) {
	t.Helper()
	want := map[string][]string{}
	_, err := r.Scan(context.Background(), RowsScan{}, func(row *Row) error {
		b := row.Key.Bytes
		if r.kind == streams.FKSubscription {
			b = row.ForeignKey.Bytes
		}
		want[string(b)] = append(want[string(b)], string(serde.AppendJSON(nil, row.Object())))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for key, rows := range want {
		if n++; n > 40 {
			break
		}
		text, ok := key, true
		if c := r.keyColumn(); c.serde != nil {
			v, err := c.serde.Decode([]byte(key))
			text, ok = serde.Text(v), err == nil
		}
		if !ok {
			continue
		}
		var got []string
		_, err := r.Get(context.Background(), RowsGet{Key: text}, func(row *Row) error {
			got = append(got, string(serde.AppendJSON(nil, row.Object())))
			return nil
		})
		if err != nil || !slices.Equal(got, rows) {
			t.Errorf("%s (%s): get %q gives %d rows (%v), a scan %d", r.name, r.kind, text, len(got), err, len(rows))
		}
	}
}

// TestScanBounds: what bounds select by seeking is what they select of all
// rows.
func TestScanBounds(t *testing.T) {
	for _, c := range []struct{ archive, store string }{
		{"4.0.2-papi-alos", "ts-kv"}, {"4.0.2-papi-alos", "ts-win"}, {"4.0.2-papi-alos", "session"}, {"4.0.2-papi-alos", "versioned"},
		{"4.0.2-win-alos", "slide-emit"}, {"4.0.2-win-alos", "sess-emit"}, {"4.0.2-ssjoin-alos", "KSTREAM-OUTERSHARED-0000000022-store"},
	} {
		_, app := lsmtest.Unpack(t, c.archive)
		r := openRows(t, RowsOptions{Path: app, Store: c.store})
		type keyAt struct {
			key []byte
			at  *int64
		}
		var all []keyAt
		if _, err := r.Scan(context.Background(), RowsScan{}, func(row *Row) error {
			x := keyAt{key: bytes.Clone(row.Key.Bytes)}
			if at := r.timeOf(row); at != nil {
				x.at = pointer(*at)
			}
			all = append(all, x)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		from, to := int64(1795939300000), int64(1795939500000)
		for _, o := range []RowsScan{
			{From: []byte("k02")}, {To: []byte("k02")}, {From: []byte("k01"), To: []byte("k025")}, {Prefix: []byte("k01")},
			{Prefix: []byte("k01"), From: []byte("k015")}, {Prefix: []byte("k01"), To: []byte("k012")}, {From: []byte("zz")}, {To: []byte{0}},
			{Times: TimeRange{From: &from}}, {Times: TimeRange{To: &to}}, {Times: TimeRange{From: &from, To: &to}, Prefix: []byte("k0")},
		} {
			f := filter{r: r, o: o}
			want := 0
			for _, x := range all {
				if f.keyOK(x.key) && (!o.Times.isSet() || x.at != nil && o.Times.has(*x.at)) {
					want++
				}
			}
			if got := scanAll(t, r, o); len(got) != want {
				t.Errorf("%s from %q to %q prefix %q times %v: %d rows, want %d", c.store, o.From, o.To, o.Prefix, o.Times.isSet(), len(got), want)
			}
		}
	}
}

// TestVersions: history and as-of agree with each other and with the latest row.
func TestVersions(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	r := openRows(t, RowsOptions{Path: app, Store: "versioned"})
	ctx := context.Background()
	get := func(o RowsGet) (out []Row) {
		t.Helper()
		_, err := r.Get(ctx, o, func(row *Row) error { row.Decode(); out = append(out, *row); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	deleted, past := 0, 0
	for i := range 130 {
		key := fmt.Sprintf("k%03d", i)
		history := get(RowsGet{Key: key, History: true})
		for j, v := range history {
			if v.Deleted {
				deleted++
			}
			if j+1 < len(history) && (v.ValidTo == nil || *v.ValidTo > *history[j+1].ValidFrom) {
				t.Errorf("%s: version %d overlaps the next", key, j)
			}
			for _, at := range []int64{*v.ValidFrom, *v.ValidFrom + 1} {
				if v.ValidTo != nil && at >= *v.ValidTo {
					continue
				}
				got := get(RowsGet{Key: key, AsOf: &at})
				if v.Deleted != (len(got) == 0) || len(got) == 1 && got[0].Value.Data != v.Value.Data {
					t.Errorf("%s as of %d: %+v, history says %+v", key, at, got, v)
				}
				past++
			}
		}
		latest := get(RowsGet{Key: key})
		if n := len(history); n > 0 && !history[n-1].Deleted && (len(latest) != 1 || latest[0].Value.Data != history[n-1].Value.Data) {
			t.Errorf("%s: latest %+v, history ends with %+v", key, latest, history[n-1])
		}
		if before := int64(1000); len(get(RowsGet{Key: key, AsOf: &before})) != 0 {
			t.Errorf("%s is there in 1970", key)
		}
	}
	if past < 300 {
		t.Errorf("only %d versions looked at", past)
	}
	if n := len(scanAll(t, r, RowsScan{History: true})); n < past/2 {
		t.Errorf("a scan shows %d versions", n)
	}
}

func TestRowsRefused(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	ctx := context.Background()
	at := int64(1)
	for name, c := range map[string]struct {
		open RowsOptions
		do   func(r *Rows) error
		kind op.Kind
		says string
	}{
		"several stores":    {open: RowsOptions{Path: app}, kind: op.Usage, says: "stores"},
		"no such store":     {open: RowsOptions{Path: app, Store: "x"}, kind: op.NotFound, says: `"x"`},
		"no such task":      {open: RowsOptions{Path: app, Store: "ts-kv", Tasks: []string{"7_7"}}, kind: op.NotFound, says: "7_7"},
		"no such partition": {open: RowsOptions{Path: app, Store: "ts-kv", Partitions: []int32{9}}, kind: op.NotFound, says: "0_0"},
		"no such path":      {open: RowsOptions{Path: filepath.Join(app, "none")}, kind: op.NotFound, says: "none"},
		"wrong kind":        {open: RowsOptions{Path: app, Store: "ts-kv", Kind: streams.Session}, kind: op.Usage, says: "not a session store"},
		"in-memory":         {open: RowsOptions{Path: app, Store: "ts-kv", Kind: streams.InMemory}, kind: op.Usage, says: "no rows on disk"},
		"as-of": {open: RowsOptions{Path: app, Store: "ts-kv"}, kind: op.Usage, says: "not versioned",
			do: func(r *Rows) error { _, err := r.Get(ctx, RowsGet{Key: "a", AsOf: &at}, nil); return err }},
		"history": {open: RowsOptions{Path: app, Store: "ts-kv"}, kind: op.Usage, says: "not versioned",
			do: func(r *Rows) error { _, err := r.Scan(ctx, RowsScan{History: true}, nil); return err }},
		"times": {open: RowsOptions{Path: app, Store: "plain-kv"}, kind: op.Usage, says: "no time",
			do: func(r *Rows) error { _, err := r.Scan(ctx, RowsScan{Times: TimeRange{From: &at}}, nil); return err }},
		"key": {open: RowsOptions{Path: app, Store: "ts-kv", Key: mustParse(t, "long")}, kind: op.Usage, says: "whole number",
			do: func(r *Rows) error { _, err := r.Get(ctx, RowsGet{Key: "a"}, nil); return err }},
	} {
		r, err := OpenRows(ctx, c.open)
		if err == nil && c.do != nil {
			err = c.do(r)
		}
		if op.KindOf(err) != c.kind || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s that says %q", name, err, c.kind, c.says)
		}
	}
}

func mustParse(t *testing.T, name string) serde.Serde {
	t.Helper()
	s, err := serde.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPartitionOfKey: the task that murmur2 names has the key.
func TestPartitionOfKey(t *testing.T) {
	_, app := lsmtest.Unpack(t, "4.0.2-papi-alos")
	for _, row := range scanAll(t, openRows(t, RowsOptions{Path: app, Store: "ts-kv"}), RowsScan{}) {
		var want struct{ Task, Key string }
		if err := json.Unmarshal([]byte(row), &want); err != nil {
			t.Fatal(err)
		}
		r := openRows(t, RowsOptions{Path: app, Store: "ts-kv"})
		res, err := r.Get(context.Background(), RowsGet{Key: want.Key, Partitions: 2}, func(*Row) error { return nil })
		if err != nil || res.Count != 1 || len(res.Sources) != 1 || res.Sources[0].Task != want.Task {
			t.Fatalf("%s: %+v %v, want it in %s", want.Key, res, err, want.Task)
		}
	}
}

// FuzzBounds: seeking never passes over a row that the bounds select.
func FuzzBounds(f *testing.F) {
	f.Add([]byte("a"), []byte("a\x00b"), int64(1000), []byte("a"), false)
	f.Add([]byte{0xff}, []byte{0xff}, int64(1000), []byte("0"), false) // nothing is behind it
	f.Add([]byte{0, 0, 0, 1}, []byte{0, 0, 0, 2}, int64(-1), []byte{0}, true)
	f.Fuzz(func(t *testing.T, key, bound []byte, start int64, prefix []byte, session bool) {
		r := &Rows{kind: streams.Window}
		row := binary.BigEndian.AppendUint64(bytes.Clone(key), uint64(start))
		row = append(row, 0, 0, 0, 0)
		if session {
			r.kind = streams.Session
			row = append(row, 0, 0, 0, 0)
		}
		if start < 0 || start > 1<<55 {
			return // times of the year 1143 million
		}
		for _, o := range []RowsScan{{To: bound}, {From: bound}, {Prefix: prefix}, {From: prefix, To: bound}, {Prefix: prefix, To: bound}} {
			if len(o.To) == 0 && o.To != nil || !(&filter{o: o}).keyOK(key) {
				continue
			}
			rg := r.bounds(o)
			if rg.From != nil && bytes.Compare(row, rg.From) < 0 || rg.To != nil && bytes.Compare(row, rg.To) >= 0 {
				t.Errorf("key %x start %d lies outside of %x to %x for %+v", key, start, rg.From, rg.To, o)
			}
		}
	})
}
