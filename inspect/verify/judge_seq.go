package verify

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// windows judges the rows of one key and time. Where duplicates are kept, their
// numbers are not compared but what they number: each record is a row of its
// own.
func (j *judge) windows() {
	first := j.list[0].aux
	if !slices.ContainsFunc(j.list, func(e entry) bool { return e.aux != first }) {
		var s slot
		for i := range j.list {
			s.add(j.u, &j.list[i])
		}
		j.one(&s)
		return
	}
	var rows, records, later []entry
	newest := map[uint64]int{}
	for _, e := range j.list {
		switch {
		case e.local:
			rows = append(rows, e)
		case e.later && !e.null:
			later = append(later, e)
		case e.later:
		default:
			if i, ok := newest[e.aux]; ok {
				records[i] = e
			} else {
				newest[e.aux] = len(records)
				records = append(records, e)
			}
		}
	}
	records = slices.DeleteFunc(records, func(e entry) bool { return e.null })
	for i := range records {
		j.rest = records[i].rest(j.rest)
		j.digest.Add(0, j.key, j.rest)
	}
	n := len(rows)
	rows, records = j.unmatched(rows, records)
	j.Same += int64(n - len(rows))
	n = len(rows)
	rows, _ = j.unmatched(rows, later)
	j.Ahead += int64(n - len(rows))
	for i := range records {
		j.report(finding{what: Missing, why: fmt.Sprintf("the record at offset %d has no row", records[i].offset), key: j.key, record: &records[i]})
	}
	for i := range rows {
		j.unknown(finding{key: j.key, local: &rows[i]})
	}
}

// unmatched leaves out the rows and records that are each other's.
func (j *judge) unmatched(rows, records []entry) (noRecord, noRow []entry) {
	order := func(a, b entry) int {
		return cmp.Or(bytes.Compare(a.value[:], b.value[:]), cmp.Compare(a.time, b.time))
	}
	timed := len(rows) > 0 && rows[0].timed && j.u.times()
	if !timed {
		order = func(a, b entry) int { return bytes.Compare(a.value[:], b.value[:]) }
	}
	slices.SortFunc(rows, order)
	slices.SortFunc(records, order)
	for len(rows) > 0 && len(records) > 0 {
		switch c := order(rows[0], records[0]); {
		case c < 0:
			noRecord, rows = append(noRecord, rows[0]), rows[1:]
		case c > 0:
			noRow, records = append(noRow, records[0]), records[1:]
		default:
			rows, records = rows[1:], records[1:]
		}
	}
	return append(noRecord, rows...), append(noRow, records...)
}
