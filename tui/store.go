package tui

import (
	"context"
	"fmt"
	"time"

	"sstool/inspect"
	"sstool/internal/human"
)

// newStoreLevel is everything of one store, a tab each.
func newStoreLevel(m *Model, s *inspect.MapStore) *level {
	p := place{app: s.App, id: storeID(s), name: s.Name, task: s.Task, dir: s.Dir}
	tabs := []screen{newOverviewScreen(p), newLevelsScreen(p), newFilesScreen(p), newTombstonesScreen(p), newRowsScreen(p), newOffsetsScreen(p)}
	if m.context().Connect != nil {
		tabs = append(tabs, newChangelogScreen(p))
	}
	l := tabbed(append(tabs, newHistoryScreen(p))...)
	l.name = s.Name
	return l
}

// place is which store a screen is about; what it is like now is in the
// snapshot.
type place struct{ app, id, name, task, dir string }

// store is the store as the snapshot has it; nil when it is gone.
func (p *place) store(m *Model) *inspect.MapStore {
	if m.snap.disk == nil {
		return nil
	}
	for i := range m.snap.disk.Apps {
		a := &m.snap.disk.Apps[i]
		for j := range a.Stores {
			if storeID(&a.Stores[j]) == p.id {
				return &a.Stores[j]
			}
		}
	}
	return nil
}

// filesMark changes when the store's files do.
func (p *place) filesMark(m *Model) string {
	s := p.store(m)
	if s == nil {
		return "gone"
	}
	at := int64(0)
	if s.Newest != nil {
		at = s.Newest.UnixNano()
	}
	return fmt.Sprint(s.Files, s.Size, at)
}

func (p *place) selection(m *Model) inspect.Selection {
	return inspect.Selection{Path: m.real(p.dir)}
}

// gone is what a screen says of a store that is not there any more.
func gone() []line { return []line{nil, toned(warn, "  The store is not there any more.")} }

// storeLine sums a store up above every tab.
func (p *place) storeLine(m *Model) line {
	s := p.store(m)
	if s == nil {
		return toned(warn, "gone")
	}
	k := kindCell(s)
	l := line{{text: safe(k.text), tone: k.tone}, {text: ", task " + safe(s.Task) + ", " + human.Bytes(s.Size), tone: dim}}
	if s.Cluster != nil && s.Cluster.Lag != nil {
		c := lagCell(true, *s.Cluster.Lag)
		l = l.add(dim, ", lag ").add(c.tone, c.text)
	}
	if held := m.held(s); held != "" {
		l = l.add(dim, ", "+held)
	}
	return l
}

// held says that the application has the store open: memory is not seen.
func (m *Model) held(s *inspect.MapStore) string {
	for _, a := range m.apps(s.App) {
		if a.Lock.Held != nil && *a.Lock.Held {
			return "running: its memory is not seen"
		}
	}
	return ""
}

// overviewScreen is what the map knows of the store.
type overviewScreen struct {
	place
	text *textBody
}

func newOverviewScreen(p place) *overviewScreen {
	t := newText(nil)
	t.wrap = true
	return &overviewScreen{p, t}
}

func (s *overviewScreen) crumb() string                   { return "overview" }
func (s *overviewScreen) body() component                 { return s.text }
func (s *overviewScreen) summary(m *Model, _ *frame) line { return s.storeLine(m) }
func (s *overviewScreen) build(m *Model, _ *frame) {
	st := s.store(m)
	if st == nil {
		s.text.set(gone())
		return
	}
	lines := storeText(m, st)
	if len(st.Segments) > 0 {
		lines = append(lines, nil, title("Segments"))
		for _, g := range st.Segments {
			keys := "?"
			if g.Keys.Count != nil {
				keys = human.Count(*g.Keys.Count)
			}
			lines = append(lines, text(fmt.Sprintf("  %s  %12s keys  %10s  %s", g.Start.Format("2006-01-02 15:04:05Z"), keys, human.Bytes(g.Size), plural(g.Files, "file"))))
		}
	}
	s.text.set(lines)
}
func (s *overviewScreen) command(m *Model) []string {
	if st := s.store(m); st != nil {
		return m.storeCommand(st, "inspect")
	}
	return nil
}
func (s *overviewScreen) document(m *Model) any {
	if st := s.store(m); st != nil {
		return st
	}
	return nil
}

// levelsScreen draws the LSM trees.
type levelsScreen struct {
	place
	text *textBody
}

func newLevelsScreen(p place) *levelsScreen {
	t := newText(nil)
	t.wrap = true
	return &levelsScreen{p, t}
}

func (s *levelsScreen) crumb() string                   { return "levels" }
func (s *levelsScreen) body() component                 { return s.text }
func (s *levelsScreen) summary(m *Model, _ *frame) line { return s.storeLine(m) }
func (s *levelsScreen) mark(m *Model) string            { return s.filesMark(m) }
func (s *levelsScreen) fetch(m *Model) func(context.Context) (any, error) {
	sel := s.selection(m)
	return func(ctx context.Context) (any, error) {
		return orNil(inspect.InspectLevels(ctx, inspect.LevelsOptions{Select: sel}, nil))
	}
}
func (s *levelsScreen) command(*Model) []string {
	return []string{"sstool", "inspect", "levels", s.dir}
}
func (s *levelsScreen) document(m *Model) any { return m.top().data }

// orNil is a result as any, nil when there is none.
func orNil[T any](v *T, err error) (any, error) {
	if v == nil {
		return nil, err
	}
	return v, err
}

func (s *levelsScreen) build(m *Model, f *frame) {
	res, ok := f.data.(*inspect.Levels)
	if !ok {
		s.text.set(loading(f, "reading the MANIFEST and every file's properties"))
		return
	}
	var out []line
	for i := range res.Families {
		if i > 0 {
			out = append(out, nil)
		}
		out = append(out, levelsPicture(m, &res.Families[i])...)
	}
	if len(res.Families) == 0 {
		out = append(out, nil, toned(dim, "  No column family has a file: everything is in the application's memory, or there is nothing."))
	}
	if res.Empty > 0 {
		out = append(out, nil, toned(dim, "  "+plural(res.Empty, "column family")+" without a file"))
	}
	s.text.set(append(out, problemLines(res.Problems)...))
}

// levelsPicture draws the sorted runs of a column family, newest first, as bars:
// how large, how old, how much of it tombstones, and what is compacted next.
func levelsPicture(m *Model, f *inspect.FamilyShape) []line {
	style := f.Style
	if style == "" {
		style = "compaction style unknown"
	}
	head := safe(f.Family)
	if f.Segment != nil {
		head += ", segment " + f.Segment.UTC().Format("2006-01-02 15:04:05Z")
	}
	out := []line{{{text: " " + head, tone: header}, {text: "  " + style, tone: dim}}}
	largest := int64(0)
	for _, r := range f.Runs {
		largest = max(largest, r.Size)
	}
	room := max(10, min(70, m.w-52))
	for i, r := range f.Runs {
		mark := "  "
		if n := f.Next; n != nil && i >= n.From && i < n.From+n.Runs {
			mark = " +"
		}
		what := plural(r.Files, "file")
		if r.File != "" {
			what = safe(r.File)
		}
		share := 0.0
		if r.Entries > 0 {
			share = float64(r.Tombstones) / float64(r.Entries)
		}
		l := line{{text: mark, tone: warn}, {text: fmt.Sprintf(" L%d ", r.Level), tone: accent}, {text: padRight(what, 11, m.theme.glyphs.ellipsis) + " " + padLeft(human.Bytes(r.Size), 10, "") + "  "}}
		bar := human.Bar(float64(r.Size), float64(largest), room, !m.theme.ascii)
		l = append(l, span{text: padRight(bar, room, ""), tone: barTone(share)})
		if r.Tombstones > 0 {
			l = l.add(barTone(share), "  "+human.Share(float64(r.Tombstones), float64(r.Entries))+" tombstones")
		}
		if r.Created != nil && m.w >= 100 {
			l = l.add(dim, "  "+ago(m.now, r.Created)+" old")
		}
		out = append(out, l)
	}
	out = append(out, toned(dim, fmt.Sprintf("   %s in %s; a read merges %s, a key may be in %d", human.Bytes(f.Size), plural(f.Files, "file"), plural(f.ReadRuns, "sorted run"), f.OverlapRuns)))
	space := fmt.Sprintf("   space: %.2f times the last run", f.SpaceAmp)
	if f.SizeAmpLimit != nil {
		space += fmt.Sprintf("; newer runs are %.0f %% of it, compacted from %.0f %%", f.SizeAmpPercent, *f.SizeAmpLimit)
	}
	out = append(out, toned(dim, space))
	switch {
	case f.Pending == nil:
		out = append(out, toned(dim, "   pending compaction unmeasured: "+safe(f.PendingReason)))
	case f.Next == nil:
		out = append(out, toned(good, "   nothing to compact"))
	default:
		out = append(out, toned(warn, fmt.Sprintf("   next compaction: %s (+), %s, by %s; in all at most %s", plural(f.Next.Runs, "run"), human.Bytes(f.Next.Bytes), f.Next.Option, human.Bytes(*f.Pending))))
	}
	return out
}

func barTone(share float64) tone {
	switch {
	case share >= 0.5:
		return bad
	case share >= 0.2:
		return warn
	}
	return good
}

func problemLines(list []inspect.FileProblem) []line {
	var out []line
	for _, p := range list {
		out = append(out, nil, line{{text: "problem: ", tone: bad}, {text: safe(p.What)}}, toned(dim, "  "+safe(p.Path)))
		if p.Cure != "" {
			out = append(out, line{{text: "  try: ", tone: dim}, {text: safe(p.Cure)}})
		}
	}
	return out
}

// historyScreen is how the store changed while the dashboard looked.
type historyScreen struct {
	place
	text *textBody
}

func newHistoryScreen(p place) *historyScreen { return &historyScreen{p, newText(nil)} }

func (s *historyScreen) crumb() string                   { return "history" }
func (s *historyScreen) body() component                 { return s.text }
func (s *historyScreen) summary(m *Model, _ *frame) line { return s.storeLine(m) }
func (s *historyScreen) build(m *Model, _ *frame) {
	list := m.history.byStore[s.id]
	if len(list) == 0 {
		s.text.set(gone())
		return
	}
	room := max(10, min(samplesKept, m.w-40))
	row := func(name string, of func(*sample) (float64, bool), show func(float64) string) line {
		var values []float64
		low, high, last := 0.0, 0.0, 0.0
		for i := range list {
			v, ok := of(&list[i])
			if !ok {
				continue
			}
			if len(values) == 0 {
				low = v
			}
			values = append(values, v)
			low, high, last = min(low, v), max(high, v), v
		}
		if len(values) == 0 {
			return line{{text: " " + padRight(name, 12, ""), tone: dim}, {text: "unmeasured", tone: dim}}
		}
		return line{{text: " " + padRight(name, 12, ""), tone: dim}, {text: padLeft(show(last), 11, "") + "  "}, {text: m.theme.sparkline(values, room), tone: accent},
			{text: fmt.Sprintf("  %s to %s", show(low), show(high)), tone: dim}}
	}
	number := func(v float64) string { return human.Count(int64(v)) }
	size := func(v float64) string { return human.Bytes(int64(v)) }
	out := []line{
		nil,
		row("size", func(x *sample) (float64, bool) { return float64(x.size), true }, size),
		row("files", func(x *sample) (float64, bool) { return float64(x.files), true }, number),
		row("entries", func(x *sample) (float64, bool) { return float64(x.entries), true }, number),
		row("tombstones", func(x *sample) (float64, bool) { return float64(x.tombstones), true }, number),
	}
	for level := range 7 {
		used := false
		of := func(x *sample) (float64, bool) {
			for _, l := range x.levels {
				if l.Level == level {
					return float64(l.Size), true
				}
			}
			return 0, true
		}
		for i := range list {
			if v, _ := of(&list[i]); v > 0 {
				used = true
			}
		}
		if used {
			out = append(out, row(fmt.Sprintf("level %d", level), of, size))
		}
	}
	out = append(out, row("lag", func(x *sample) (float64, bool) {
		if x.lag == nil {
			return 0, false
		}
		return float64(*x.lag), true
	}, number))
	first := list[0].at
	out = append(out, nil, toned(dim, fmt.Sprintf(" %s since %s, %s ago; each is a look at files that had changed", plural(len(list), "sample"), first.Format("15:04:05"), human.Duration(m.now.Sub(first).Round(time.Second)))))
	s.text.set(out)
}
func (s *historyScreen) command(m *Model) []string { return nil }
