package verify

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"sstool/internal/streams"
)

// mostReplays bounds how many records behind the store's offset a versioned key
// is tried with.
const mostReplays = 256

// versions judges the versions of one key: those that a query can see. History
// rows that have expired may hold a version more or less, as the batches of a
// restore happened to end (streams.VersionedReplay).
func (j *judge) versions() error {
	var rows, records, later []entry
	for _, e := range j.list {
		switch {
		case e.local:
			rows = append(rows, e)
		case e.later:
			later = append(later, e)
		default:
			records = append(records, e)
		}
	}
	horizon := j.u.streamTime - j.u.store.HistoryRetention.Milliseconds()
	have := visible(rows, horizon)
	want, err := j.replay(records, horizon)
	if err != nil {
		return err
	}
	if sameVersions(have, want) {
		switch {
		case len(have) > 0:
			j.Same += int64(len(have))
		case len(records) > 0:
			j.Deleted++
		case len(later) > 0:
			j.LaterKeys++
		default:
			j.Expired += int64(len(rows))
		}
		return nil
	}
	all := slices.Clone(records)
	for i := 0; i < min(len(later), mostReplays); i++ {
		all = append(all, later[i])
		after, err := j.replay(all, horizon)
		if err != nil {
			return err
		}
		if sameVersions(have, after) {
			j.Ahead += int64(max(1, len(have)))
			return nil
		}
	}
	j.versionsDiffer(have, want, records, later)
	return nil
}

// versionsDiffer says what is not as it must be.
func (j *judge) versionsDiffer(have, want, records, later []entry) {
	at := func(list []entry, from int64) *entry {
		for i := range list {
			if list[i].time == from {
				return &list[i]
			}
		}
		return nil
	}
	var last *entry
	if len(later) > 0 {
		last = &later[len(later)-1]
	}
	record := func(from int64) *entry { // the newest record of the version
		for i := range slices.Backward(records) {
			if records[i].time == from {
				return &records[i]
			}
		}
		return nil
	}
	for i := range have {
		v := &have[i]
		f := finding{key: j.key, local: v, record: record(v.time), last: last}
		w := at(want, v.time)
		switch {
		case w != nil && w.value == v.value && w.offset == v.offset:
			j.Same++
		case w != nil && w.value == v.value && (last != nil || v.offset < w.offset):
			j.Unverifiable++ // what ended it is compacted, or later
		case w != nil && w.value == v.value:
			f.what, f.part, f.why = Different, "validity", "a later version ends it, or a deletion"
			j.report(f)
		case w != nil:
			f.what, f.part, f.why = Different, partValue, fmt.Sprintf("the record at offset %d has another value", f.record.offset)
			j.report(f)
		default:
			j.noVersion(f, v, records)
		}
	}
	for i := range want {
		if w := &want[i]; at(have, w.time) == nil {
			if last != nil {
				j.Unverifiable++ // it may have been replaced by then
				continue
			}
			r := record(w.time)
			f := finding{what: Missing, why: "its record has no row", key: j.key, record: r}
			if r != nil {
				f.why = fmt.Sprintf("the record at offset %d has no row", r.offset)
			}
			j.report(f)
		}
	}
}

// noVersion judges a version on disk that the changelog does not make.
func (j *judge) noVersion(f finding, v *entry, records []entry) {
	if v.offset != always && slices.ContainsFunc(records, func(r entry) bool { return !r.null && r.time == v.time && r.value == v.value }) {
		// Its record is there, but was too old when it came, or its end was. A
		// restore, which moves time on batch by batch, may keep it all the same.
		j.Expired++
		return
	}
	for i := range slices.Backward(records) {
		r := &records[i]
		if r.time < v.time || r.time >= v.offset {
			continue
		}
		// A version that begins while this one is valid would have ended it.
		f.record = r
		f.what, f.why = Extra, fmt.Sprintf("replaced by the version at offset %d", r.offset)
		if r.null {
			f.why = fmt.Sprintf("deleted by the tombstone at offset %d", r.offset)
		}
		j.report(f)
		return
	}
	if len(records) > 0 || f.last != nil {
		j.Unverifiable++ // its record is compacted: the key has others
		return
	}
	j.unknown(f)
}

// visible are the versions with a value that are valid after the horizon, by
// their start.
func visible(list []entry, horizon int64) (out []entry) {
	for _, e := range list {
		if !e.null && e.offset > horizon && e.offset > e.time {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b entry) int { return cmp.Compare(a.time, b.time) })
	return out
}

func sameVersions(a, b []entry) bool {
	return slices.EqualFunc(a, b, func(x, y entry) bool { return x.time == y.time && x.offset == y.offset && x.value == y.value })
}

// replay is what records make: the versions that a query sees. Values are
// replaced by their hashes.
func (j *judge) replay(records []entry, horizon int64) ([]entry, error) {
	v := streams.NewVersionedReplay(j.u.store)
	v.Begin()
	end := int64(-1)
	for i := range records {
		e := &records[i]
		r := streams.VersionedRecord{TS: e.time, StreamTime: int64(e.aux), BatchStreamTime: int64(e.aux)}
		if !e.null {
			r.Value = e.value[:]
		}
		if _, err := v.Add(r); err != nil {
			return nil, err
		}
		end = max(end, int64(e.aux))
	}
	var out []entry
	err := v.End(j.key, end, func(segment int64, _, value []byte) error {
		if segment == streams.LatestSegment {
			e := entry{time: int64(binary.BigEndian.Uint64(value)), offset: always}
			copy(e.value[:], value[8:])
			out = append(out, e)
			return nil
		}
		s, err := streams.ParseSegmentValue(value)
		if err != nil {
			return err
		}
		for i, x := range s.Versions {
			e := entry{time: x.ValidFrom, offset: s.Next, null: x.Value == nil}
			if i+1 < len(s.Versions) {
				e.offset = s.Versions[i+1].ValidFrom
			}
			copy(e.value[:], x.Value)
			out = append(out, e)
		}
		return nil
	})
	return visible(out, horizon), err
}
