package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sstool/internal/lsm/lsmtest"
	"sstool/internal/op"
	"sstool/internal/serde"
	"sstool/internal/streams"
)

// jsonLines writes rows as lines of JSON, until it has no room.
type jsonLines struct {
	bytes.Buffer
	room int64 // rows; 0: any number
	rows int64
}

var errNoRoom = errors.New("no room")

func (w *jsonLines) AppendRow(dst []byte, row *Row) []byte {
	if row.Queried {
		return append(serde.AppendJSON(dst, row.Result), '\n')
	}
	return append(row.AppendJSON(dst), '\n')
}

func (w *jsonLines) WriteRows(b []byte, rows int64) error {
	if w.room > 0 && w.rows+rows > w.room {
		return errNoRoom
	}
	w.rows += rows
	w.Write(b)
	return nil
}

// scanBoth scans row by row and through a pipe of small batches, and expects
// the same of both.
func scanBoth(t *testing.T, what string, open func() *Rows, o RowsScan) (rows int64, err error) {
	t.Helper()
	var want, got jsonLines
	wantRes, wantErr := open().Scan(t.Context(), o, func(row *Row) error { return want.WriteRows(want.AppendRow(nil, row), 1) })
	r := open()
	if err := r.prepare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	p := &pass{r: r, res: r.result()}
	pipe := newRowsPipe(t.Context(), r, o, &got, p.res)
	pipe.batch = 100
	gotRes, gotErr := p.finish(pipe.run())
	wantDoc, _ := json.Marshal(wantRes)
	gotDoc, _ := json.Marshal(gotRes)
	switch {
	case !bytes.Equal(want.Bytes(), got.Bytes()):
		t.Errorf("%s: %d rows in %d bytes, one by one %d in %d", what, got.rows, got.Len(), want.rows, want.Len())
	case op.KindOf(wantErr) != op.KindOf(gotErr) || wantErr != nil && gotErr.Error() != wantErr.Error():
		t.Errorf("%s: %v, one by one %v", what, gotErr, wantErr)
	case !bytes.Equal(wantDoc, gotDoc) || got.rows != gotRes.Count:
		t.Errorf("%s: %s\none by one: %s", what, gotDoc, wantDoc)
	}
	return want.rows, wantErr
}

// TestScanTo: whatever the store and the options, the pipe writes what row by
// row is written.
func TestScanTo(t *testing.T) {
	long, _ := serde.Parse("long")
	query := func(expr string) *serde.Query {
		q, err := serde.ParseQuery(expr)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	scans := map[string]RowsScan{
		"all": {}, "reverse": {Reverse: true}, "fails": {Query: query("if .key_hex | endswith(\"1\") then error(\"one\") else .key end")},
		"some": {KeysOnly: true, Query: query("select(.key_hex | test(\"[02468]$\")) | .key, .timestamp_ms")},
	}
	failed := 0
	for _, name := range lsmtest.Names(t) {
		_, app := lsmtest.Unpack(t, name)
		tree, err := Find(t.Context(), app)
		if err != nil {
			t.Fatal(err)
		}
		for _, store := range tree.names(func(s *Store) string { return s.Name }) {
			o := RowsOptions{Path: app, Store: store}
			open := func() *Rows { return openRows(t, o) }
			for what, scan := range scans {
				if _, err := scanBoth(t, store+" "+what, open, scan); err != nil {
					failed++
				}
			}
			if open().kind == streams.Versioned {
				scanBoth(t, store+" history", open, RowsScan{History: true})
			}
			o.Key, o.Value = long, long
			scanBoth(t, store+" as long", open, RowsScan{})
		}
	}
	if failed == 0 {
		t.Error("no query failed")
	}
}

// TestScanToDamaged: rows before a corrupt file are written, and its error
// comes out.
func TestScanToDamaged(t *testing.T) {
	for _, name := range lsmtest.Names(t) {
		_, app := lsmtest.Unpack(t, name)
		tree, err := Find(t.Context(), app)
		if err != nil {
			t.Fatal(err)
		}
		for _, store := range tree.names(func(s *Store) string { return s.Name }) {
			o := RowsOptions{Path: app, Store: store}
			r := openRows(t, o)
			if len(r.parts) < 2 || r.kind != streams.TimestampedKV {
				continue
			}
			o.Kind = r.kind
			files, _ := filepath.Glob(filepath.Join(r.parts[len(r.parts)-1].dbs[0].dir, "*.sst"))
			if len(files) == 0 {
				continue
			}
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				b[0] ^= 1
				if err := os.WriteFile(f, b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			hex := serde.Hex()
			o.Key, o.Value = hex, hex
			rows, err := scanBoth(t, store, func() *Rows { return openRows(t, o) }, RowsScan{})
			if op.KindOf(err) == op.Corrupt && rows > 0 {
				return
			}
		}
	}
	t.Error("no store was damaged behind its first rows")
}

// TestScanToEnds: a writer without room and an interrupt end the pipe, with
// what was written until then.
func TestScanToEnds(t *testing.T) {
	_, app := lsmtest.Unpack(t, lsmtest.Names(t)[0])
	tree, err := Find(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	store := tree.Stores()[0].Name
	r := openRows(t, RowsOptions{Path: app, Store: store})
	var all jsonLines
	if _, err := r.ScanTo(t.Context(), RowsScan{}, &all); err != nil || all.rows < 3 {
		t.Fatalf("%s: %d rows, %v", store, all.rows, err)
	}
	for room := int64(1); room < all.rows; room++ {
		full := jsonLines{room: room}
		res := r.result()
		pipe := newRowsPipe(t.Context(), r, RowsScan{}, &full, res)
		pipe.batch = 1
		if err := pipe.run(); !errors.Is(err, errNoRoom) || full.rows != room || res.Count != room || !bytes.HasPrefix(all.Bytes(), full.Bytes()) {
			t.Errorf("room for %d rows: %d written, %d counted, %v", room, full.rows, res.Count, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var none jsonLines
	if res, err := r.ScanTo(ctx, RowsScan{}, &none); !errors.Is(err, context.Canceled) || res != nil && res.Complete {
		t.Errorf("cancelled: %v", err)
	}
	var some jsonLines
	if res, err := r.ScanTo(t.Context(), RowsScan{Limit: 2}, &some); err != nil || some.rows != 2 || !res.Limited || !bytes.HasPrefix(all.Bytes(), some.Bytes()) {
		t.Errorf("limit 2: %d rows, %v", some.rows, err)
	}
}
