package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sstool/inspect"
	"sstool/internal/human"
)

// taskSum adds up stores.
type taskSum struct {
	keys, entries, deletes, lag, replay int64
	keysUnknown, keysGuessed, lagKnown  bool
	latest                              time.Time
	size                                int64
	tasks                               int
}

func (t *taskSum) add(s *inspect.MapStore) {
	t.entries += s.Entries
	t.deletes += s.Deletes + s.RangeDels
	if s.Keys.Count == nil {
		t.keysUnknown = true
	} else {
		t.keys += *s.Keys.Count
		t.keysGuessed = t.keysGuessed || !s.Keys.Exact
	}
	if c := s.Cluster; c != nil && c.Lag != nil {
		t.lagKnown = true
		t.lag += *c.Lag
		if c.Replay != nil {
			t.replay += *c.Replay
		}
	}
	if s.Newest != nil && s.Newest.After(t.latest) {
		t.latest = *s.Newest
	}
}

func (t *taskSum) newest() *time.Time {
	if t.latest.IsZero() {
		return nil
	}
	return &t.latest
}

// storesScreen lists stores: of a task, of an application, or all.
type storesScreen struct {
	app, task string // "": all
	t         *table
}

func newStoresScreen(app, task string) *storesScreen {
	cols := []col{
		{name: "STORE", flex: 18}, {name: "KIND", prio: 3}, {name: "KEYS", right: true, prio: 2}, {name: "TOMBSTONES", right: true, prio: 3},
		{name: "SIZE", right: true}, {name: "FILES", right: true, prio: 6}, {name: "LEVELS", prio: 9}, {name: "SEGMENTS", right: true, prio: 8}, {name: "OFFSET", right: true, prio: 5},
		{name: "LAG", right: true}, {name: "TREND", prio: 10}, {name: "REMARKS", right: true, prio: 1}, {name: "NEWEST FILE", right: true, prio: 11},
	}
	if task == "" {
		cols = append([]col{{name: "TASK"}}, cols...)
	}
	if app == "" {
		cols = append([]col{{name: "APPLICATION", flex: 8, prio: 1}}, cols...)
	}
	return &storesScreen{app, task, newTable(cols, "No stores.")}
}

func (s *storesScreen) crumb() string {
	switch {
	case s.task != "":
		return s.task
	case s.app != "":
		return s.app + " stores"
	}
	return "stores"
}
func (s *storesScreen) body() component { return s.t }

func (s *storesScreen) summary(m *Model, _ *frame) line {
	var sum taskSum
	size := int64(0)
	for i := range s.t.rows {
		st := s.t.rows[i].data.(*inspect.MapStore)
		sum.add(st)
		size += st.Size
	}
	l := toned(dim, fmt.Sprintf("%s, %s", plural(len(s.t.rows), "store"), human.Bytes(size)))
	if sum.lagKnown {
		c := lagCell(true, sum.lag)
		l = l.add(dim, ", lag ").add(c.tone, c.text)
	}
	return l
}

func (s *storesScreen) build(m *Model, _ *frame) {
	s.t.empty, s.t.wrong = m.nothingYet()
	s.t.hide(m.context().Connect == nil, "LAG", "REPLAY", "TREND")
	var rows []row
	remarkable := false
	for _, a := range m.apps(s.app) {
		for i := range a.Stores {
			st := &a.Stores[i]
			if s.task != "" && st.Task != s.task {
				continue
			}
			r := storeRow(m, st)
			remarkable = remarkable || remarksCell(st.Remarks).num > 0
			if s.task == "" {
				r.cells = append([]cell{str(st.Task)}, r.cells...)
			}
			if s.app == "" {
				r.cells = append([]cell{str(a.ID)}, r.cells...)
			}
			rows = append(rows, r)
		}
	}
	// What is the same everywhere takes no room on a narrow screen.
	s.t.hide(s.app == "" && len(m.apps("")) < 2, "APPLICATION")
	s.t.hide(m.w < sideFrom && !remarkable, "REMARKS")
	s.t.set(rows)
}

func storeRow(m *Model, s *inspect.MapStore) row {
	lag, known := int64(0), false
	if s.Cluster != nil && s.Cluster.Lag != nil {
		lag, known = *s.Cluster.Lag, true
	}
	keys := int64(0)
	if s.Keys.Count != nil {
		keys = *s.Keys.Count
	}
	behind := lagCell(known, lag)
	if known && slices.ContainsFunc(s.Remarks, func(r inspect.Remark) bool { return r.Level == inspect.Problem }) {
		behind = behind.in(bad) // none behind, but beyond the end: not good at all
	}
	segments := missing()
	if s.Segmented {
		segments = count(int64(len(s.Segments)))
	}
	offset := missing()
	for _, o := range s.Offsets.List {
		if o.Topic == s.Offsets.Topic && o.Offset != nil {
			offset = count(*o.Offset)
		}
	}
	if len(s.Offsets.List) > 1 {
		offset = str(plural(len(s.Offsets.List), "partition"))
	}
	return row{id: storeID(s), data: s, cells: []cell{
		str(s.Name), kindCell(s), keysCell(s.Keys.Count != nil, keys, s.Keys.Exact), shareCell(s.Deletes+s.RangeDels, s.Entries),
		bytesCell(s.Size), count(int64(s.Files)), str(s.LevelFiles()), segments, offset,
		behind, str(m.theme.sparkline(m.history.lags(storeID(s)), 12)), remarksCell(s.Remarks), agoCell(m, s.Newest),
	}}
}

func agoCell(m *Model, t *time.Time) cell {
	if t == nil {
		return missing()
	}
	return num(float64(t.Unix()), ago(m.now, t))
}

func kindCell(s *inspect.MapStore) cell {
	if s.Kind.Kind == nil {
		return tonedCell(warn, "unknown")
	}
	name := *s.Kind.Kind
	if s.Kind.Headers {
		name += " +h"
	}
	if s.Kind.Certainty != inspect.Certain {
		name += "?"
	}
	return str(name)
}

func (s *storesScreen) open(m *Model) *level {
	if r := s.t.current(); r != nil {
		return newStoreLevel(m, r.data.(*inspect.MapStore))
	}
	return nil
}

func (s *storesScreen) describe(m *Model) (string, []line) {
	r := s.t.current()
	if r == nil {
		return "", nil
	}
	st := r.data.(*inspect.MapStore)
	return safe(st.Name), storeText(m, st)
}

func (s *storesScreen) command(m *Model) []string {
	if r := s.t.current(); r != nil {
		return m.storeCommand(r.data.(*inspect.MapStore), "inspect")
	}
	return m.inspectCommand()
}

func (s *storesScreen) document(m *Model) any {
	if r := s.t.current(); r != nil {
		return r.data
	}
	return nil
}

// storeText is everything the map knows of a store.
func storeText(m *Model, s *inspect.MapStore) []line {
	kind := kindCell(s)
	keys := "unmeasured" + why(s.Keys.Why)
	if s.Keys.Count != nil {
		keys = human.Count(*s.Keys.Count)
		if !s.Keys.Exact {
			keys = "about " + keys
			if s.Keys.AtMost != nil {
				keys += ", at most " + human.Count(*s.Keys.AtMost)
			}
		}
	}
	out := []line{
		field("store", s.Name), field("application", s.App), field("task", s.Task), field("directory", s.Dir),
		fieldIn("kind", kind.tone, kind.text+why(s.Kind.Why)),
		field("live keys", keys),
		field("entries", human.Count(s.Entries)),
		field("tombstones", fmt.Sprintf("%s deletes, %s range deletes (%s)", human.Count(s.Deletes), human.Count(s.RangeDels), human.Share(float64(s.Deletes+s.RangeDels), float64(s.Entries)))),
		field("size", human.Bytes(s.Size)+" in all, "+human.Bytes(s.DataSize)+" in "+plural(s.Files, "SST file")),
		field("levels", s.LevelFiles()),
	}
	if s.Segmented {
		iv := s.IntervalW
		if s.Interval != nil {
			iv = human.Duration(time.Duration(*s.Interval) * time.Millisecond)
		}
		out = append(out, field("segments", fmt.Sprintf("%d, interval %s", len(s.Segments), iv)))
	}
	for _, f := range s.Families {
		out = append(out, field("column family", fmt.Sprintf("%s: %s entries, %s", f.Name, human.Count(f.Entries), human.Bytes(f.Size))))
	}
	out = append(out, field("format", fmt.Sprintf("%v, checksums %s", s.Formats, strings.Join(s.Checksums, " "))),
		field("written by", "RocksDB "+strings.Join(s.WrittenBy, ", ")),
		field("opens from", "Kafka Streams "+textOr(s.Oldest, "?")+why(s.OldestWhy)),
		field("status", textOr(s.Status, "not kept")+why(s.StatusWhy)),
		field("changelog", s.Offsets.Topic), field("offset kept in", s.Offsets.KeptIn+why(s.Offsets.Why)))
	for _, o := range s.Offsets.List {
		out = append(out, field(fmt.Sprintf("partition %d", o.Partition), "offset "+offsetText(o.Offset)))
	}
	if c := s.Cluster; c != nil {
		switch {
		case c.Lag != nil:
			k := lagCell(true, *c.Lag)
			out = append(out, fieldIn("lag", k.tone, human.Count(*c.Lag)+" records"))
		default:
			out = append(out, fieldIn("lag", warn, "unmeasured"+why(c.Why)))
		}
		if c.Replay != nil && c.Full != nil {
			out = append(out, field("next start reads", fmt.Sprintf("%s of %s offsets", human.Count(*c.Replay), human.Count(*c.Full))))
		}
	}
	for _, o := range s.Position {
		out = append(out, field("position", fmt.Sprintf("%s-%d at %s", o.Topic, o.Partition, offsetText(o.Offset))))
	}
	if s.Newest != nil {
		out = append(out, field("newest file", ago(m.now, s.Newest)+" ago, "+s.Newest.UTC().Format("2006-01-02 15:04:05Z")))
	}
	return append(out, remarkLines(s.Remarks)...)
}

// storeCommand is a command on one store.
func (m *Model) storeCommand(s *inspect.MapStore, words ...string) []string {
	out := append([]string{"sstool"}, words...)
	out = append(out, s.Dir)
	if len(words) == 1 && words[0] == "inspect" {
		out = append(out, m.context().Flags...)
	}
	return out
}
