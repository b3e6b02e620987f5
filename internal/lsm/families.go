package lsm

import "bytes"

// Range is from <= key < to; nil is open.
type Range struct{ From, To []byte }

// familyRows is one family of those that EachRow goes through.
type familyRows struct {
	*Iter
	name string
}

// EachRow calls fn with the rows of a range of several families as one, in key
// order or against it; of families that have the same key the first wins. Key
// and value are valid during the call. retried is how often the live files
// changed meanwhile.
func (d *DB) EachRow(families []string, rg Range, reverse bool, fn func(family string, key, value []byte) error) (retried int, err error) {
	var its []familyRows
	defer func() {
		for _, it := range its {
			retried += it.Retried
			it.Close()
		}
	}()
	for _, name := range families {
		it, err := d.Iter(name, IterOptions{})
		if err != nil {
			return 0, err
		}
		its = append(its, familyRows{it, name})
		it.start(rg, reverse)
	}
	rows, err := withRows(its)
	for err == nil && len(rows) > 1 {
		best := 0
		key, value := rows[0].Row()
		for i := 1; i < len(rows); i++ {
			if k, v := rows[i].Row(); before(k, key, reverse) {
				best, key, value = i, k, v
			}
		}
		if rg.passed(key, reverse) {
			return 0, nil
		}
		if err := fn(rows[best].name, key, value); err != nil {
			return 0, err
		}
		ended := false
		for i := range rows {
			if i == best {
				continue
			}
			if k, _ := rows[i].Row(); bytes.Equal(k, key) {
				ended = !rows[i].step(reverse) || ended
			}
		}
		if !rows[best].step(reverse) || ended {
			rows, err = withRows(rows)
		}
	}
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	// What is usual: one family has rows, or the others' are passed.
	last := rows[0]
	for ok := true; ok; ok = last.step(reverse) {
		key, value := last.Row()
		if rg.passed(key, reverse) {
			return 0, nil
		}
		if err := fn(last.name, key, value); err != nil {
			return 0, err
		}
	}
	return 0, last.Err()
}

// withRows leaves out the families that are at their end, and says why when
// that is an error.
func withRows(its []familyRows) (rows []familyRows, err error) {
	for _, it := range its {
		if it.Valid() {
			rows = append(rows, it)
		} else if err == nil {
			err = it.Err()
		}
	}
	return rows, err
}

// passed says whether a key lies behind the range.
func (rg Range) passed(key []byte, reverse bool) bool {
	if reverse {
		return rg.From != nil && bytes.Compare(key, rg.From) < 0
	}
	return rg.To != nil && bytes.Compare(key, rg.To) >= 0
}

func before(a, b []byte, reverse bool) bool {
	if reverse {
		return bytes.Compare(a, b) > 0
	}
	return bytes.Compare(a, b) < 0
}

// start goes to the range's first row, or in reverse to its last.
func (it *Iter) start(rg Range, reverse bool) {
	switch {
	case !reverse && rg.From != nil:
		it.SeekGE(rg.From)
	case !reverse:
		it.First()
	case rg.To != nil:
		it.SeekLT(rg.To)
	default:
		it.Last()
	}
}

func (it *Iter) step(reverse bool) bool {
	if reverse {
		return it.Prev()
	}
	return it.Next()
}

// Having are those of the families that the database has, in their order.
func (d *DB) Having(families []string) []string {
	if d.Version == nil {
		return nil
	}
	var out []string
	for _, name := range families {
		if _, ok := d.Version.Family(name); ok {
			out = append(out, name)
		}
	}
	return out
}
