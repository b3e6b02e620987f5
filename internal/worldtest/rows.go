package worldtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// Row is one row of a column family.
type Row struct{ Key, Value []byte }

// Rows is what RocksDB holds: database directory (relative) → column family →
// rows in key order. An empty family is there, with no rows.
type Rows map[string]map[string][]Row

// DumpRows reads every database below dir through the rocksdbjni that this
// Kafka Streams version uses. No application may run on it.
func (h *Harness) DumpRows(ctx context.Context, dir string) (Rows, error) {
	out, err := tempFile("rows-*.tsv")
	if err != nil {
		return nil, err
	}
	defer os.Remove(out)
	var reply struct{ Databases, Rows int }
	if err := h.session.do(ctx, &reply, "dump-rows", "--state", dir, "--out", out); err != nil {
		return nil, err
	}
	f, err := os.Open(out)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := parseRows(f)
	if err != nil {
		return nil, fmt.Errorf("rows of %s: %w", dir, err)
	}
	return rows, nil
}

// parseRows reads the lines of world.RowDump.
func parseRows(r io.Reader) (Rows, error) {
	rows := Rows{}
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		fields := bytes.Split(bytes.TrimSuffix(line, []byte("\n")), []byte("\t"))
		if len(fields) < 2 || len(fields) == 3 && string(fields[1]) != "!" || len(fields) > 4 {
			return nil, fmt.Errorf("not a row: %.200q", line)
		}
		db, family := string(fields[0]), string(fields[1])
		if family == "!" {
			return nil, fmt.Errorf("open %s: %s", db, fields[len(fields)-1])
		}
		if rows[db] == nil {
			rows[db] = map[string][]Row{}
		}
		var row Row
		if len(fields) == 2 {
			rows[db][family] = []Row{}
			continue
		}
		if row.Key, err = unhex(fields[2]); err != nil {
			return nil, err
		}
		if row.Value, err = unhex(fields[3]); err != nil {
			return nil, err
		}
		rows[db][family] = append(rows[db][family], row)
	}
}

func unhex(b []byte) ([]byte, error) {
	out := make([]byte, hex.DecodedLen(len(b)))
	_, err := hex.Decode(out, b)
	return out, err
}

// Count is the number of rows, the offsets family aside.
func (r Rows) Count() int {
	n := 0
	for _, families := range r {
		for family, rows := range families {
			if family != OffsetsFamily {
				n += len(rows)
			}
		}
	}
	return n
}

// OffsetsFamily is where Kafka Streams keeps a store's offsets from 4.3 on.
const OffsetsFamily = "offsets"

// Of keeps the databases of the named stores.
func (r Rows) Of(stores ...string) Rows {
	kept := Rows{}
	for db, families := range r {
		for _, part := range strings.Split(db, "/") {
			if slices.Contains(stores, part) {
				kept[db] = families
			}
		}
	}
	return kept
}

// Diff describes how got differs from want, column family by column family,
// at most limit lines; the offsets family is not looked at, and a database
// without any row is as good as none. Empty means equal.
func Diff(want, got Rows, limit int) []string {
	var lines []string
	for _, db := range union(want, got) {
		w, g := data(want[db]), data(got[db])
		switch {
		case w == nil && g == nil:
		case w == nil:
			lines = append(lines, fmt.Sprintf("%s: not wanted, has %d rows", db, count(g)))
		case g == nil:
			lines = append(lines, fmt.Sprintf("%s: missing, %d rows wanted", db, count(w)))
		default:
			for _, family := range union(w, g) {
				lines = append(lines, diffFamily(db+" ["+family+"]", w, g, family)...)
			}
		}
		if len(lines) > limit {
			return append(lines[:limit], "…")
		}
	}
	return lines
}

func diffFamily(name string, want, got map[string][]Row, family string) []string {
	w, inWant := want[family]
	g, inGot := got[family]
	if inWant != inGot {
		return []string{fmt.Sprintf("%s: family wanted %t, got %t", name, inWant, inGot)}
	}
	var lines []string
	for len(w) > 0 || len(g) > 0 {
		switch {
		case len(g) == 0 || len(w) > 0 && bytes.Compare(w[0].Key, g[0].Key) < 0:
			lines = append(lines, fmt.Sprintf("%s: row %x missing", name, w[0].Key))
			w = w[1:]
		case len(w) == 0 || bytes.Compare(w[0].Key, g[0].Key) > 0:
			lines = append(lines, fmt.Sprintf("%s: row %x = %x not wanted", name, g[0].Key, g[0].Value))
			g = g[1:]
		default:
			if !bytes.Equal(w[0].Value, g[0].Value) {
				lines = append(lines, fmt.Sprintf("%s: row %x = %x, wanted %x", name, w[0].Key, g[0].Value, w[0].Value))
			}
			w, g = w[1:], g[1:]
		}
	}
	return lines
}

// data is a database without its offsets; nil when no row is left.
func data(families map[string][]Row) map[string][]Row {
	kept := maps.Clone(families)
	delete(kept, OffsetsFamily)
	if count(kept) == 0 {
		return nil
	}
	return kept
}

func count(families map[string][]Row) int {
	n := 0
	for _, rows := range families {
		n += len(rows)
	}
	return n
}

func union[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
