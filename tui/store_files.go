package tui

import (
	"context"
	"fmt"

	"sstool/inspect"
	"sstool/internal/human"
)

// filesScreen lists the SST files of a store.
type filesScreen struct {
	place
	t *table
}

func newFilesScreen(p place) *filesScreen {
	return &filesScreen{p, newTable([]col{
		{name: "FILE", flex: 10}, {name: "SEGMENT", prio: 5}, {name: "FAMILY", flex: 9, prio: 6}, {name: "LEVEL", prio: 1}, {name: "SIZE", right: true}, {name: "ENTRIES", right: true},
		{name: "TOMBSTONES", right: true, prio: 2}, {name: "AGE", right: true, prio: 3}, {name: "FIRST KEY", flex: 8, prio: 7}, {name: "LAST KEY", flex: 8, prio: 8}, {name: "FORMAT", right: true, prio: 9}, {name: "CHECKSUM", prio: 9}, {name: "COMPRESSION", prio: 10},
	}, "")}
}

func (s *filesScreen) crumb() string        { return "files" }
func (s *filesScreen) body() component      { return s.t }
func (s *filesScreen) mark(m *Model) string { return s.filesMark(m) }
func (s *filesScreen) summary(m *Model, f *frame) line {
	if res, ok := f.data.(*inspect.SSTFiles); ok {
		l := s.storeLine(m).add(dim, fmt.Sprintf("; %s, %s entries", plural(res.Total.Files, "file"), human.Count(res.Total.Entries)))
		if len(res.Problems) > 0 {
			l = l.add(bad, ", "+plural(len(res.Problems), "problem"))
		}
		return l
	}
	return s.storeLine(m)
}

func (s *filesScreen) fetch(m *Model) func(context.Context) (any, error) {
	sel := s.selection(m)
	return func(ctx context.Context) (any, error) {
		return orNil(inspect.InspectSST(ctx, inspect.SSTOptions{Select: []inspect.Selection{sel}, Properties: true}, nil))
	}
}

func (s *filesScreen) build(m *Model, f *frame) {
	s.t.empty = "Reading the files' properties …"
	if s.t.wrong = f.err != nil; s.t.wrong {
		s.t.empty = m.errorText(f.err)
	}
	res, ok := f.data.(*inspect.SSTFiles)
	if !ok {
		return
	}
	s.t.empty = "No SST file: everything is in the application's memory, or there is nothing."
	var rows []row
	for i := range res.Files {
		x := &res.Files[i]
		if x.Error != "" {
			cells := make([]cell, len(s.t.cols))
			cells[0], cells[3] = str(x.Name), tonedCell(bad, "unreadable")
			rows = append(rows, row{id: x.Path, data: x, cells: cells})
			continue
		}
		segment, level, first, last := missing(), tonedCell(dim, "not live"), missing(), missing()
		if x.Segment != nil {
			segment = str(x.Segment.UTC().Format("2006-01-02T15:04"))
		}
		if x.Level != nil {
			level = str(fmt.Sprintf("L%d", *x.Level))
		}
		if x.Smallest != nil && x.Largest != nil {
			first, last = str(x.Smallest.Text), str(x.Largest.Text)
		}
		rows = append(rows, row{id: x.Path, data: x, cells: []cell{
			str(x.Name), segment, str(x.Family), level, bytesCell(x.Size), count(x.Entries), shareCell(x.Tombstones, x.Entries), agoCell(m, x.Created),
			first, last, num(float64(x.FormatVersion), fmt.Sprint(x.FormatVersion)), str(x.Checksum), str(x.Compression),
		}})
	}
	s.t.set(rows)
}

func (s *filesScreen) describe(m *Model) (string, []line) {
	r := s.t.current()
	if r == nil {
		return "", nil
	}
	x := r.data.(*inspect.SSTFile)
	out := []line{field("file", x.Path)}
	if x.Error != "" {
		return safe(x.Name), append(out, fieldIn("error", bad, x.Error))
	}
	keyText := func(k *inspect.Key) string {
		if k == nil {
			return "-"
		}
		return k.Text + "  (0x" + k.Hex + ")"
	}
	out = append(out, field("column family", x.Family), field("size", human.Bytes(x.Size)),
		field("entries", fmt.Sprintf("%s: %s puts, %s deletes, %s range deletes, %s merges", human.Count(x.Entries), human.Count(x.Puts), human.Count(x.Deletes), human.Count(x.RangeDeletes), human.Count(x.Merges))),
		field("first key", keyText(x.Smallest)), field("last key", keyText(x.Largest)),
		field("data blocks", fmt.Sprintf("%s, %s", human.Count(x.DataBlocks), human.Bytes(x.DataSize))), field("index", fmt.Sprintf("%s, %s", human.Bytes(x.IndexSize), x.Index)), field("filter", fmt.Sprintf("%s, %s", human.Bytes(x.FilterSize), x.Filter)),
		field("format", fmt.Sprintf("%d, %s, %s", x.FormatVersion, x.Checksum, x.Compression)), field("comparator", x.Comparator), field("written by", x.WrittenBy))
	if x.SmallestSeq != nil && x.LargestSeq != nil {
		out = append(out, field("sequence numbers", fmt.Sprintf("%d to %d", *x.SmallestSeq, *x.LargestSeq)))
	}
	if x.Created != nil {
		out = append(out, field("created", x.Created.UTC().Format("2006-01-02 15:04:05Z")+", "+ago(m.now, x.Created)+" ago"))
	}
	if len(x.Properties) > 0 {
		out = append(out, nil, title("Properties"))
		for _, p := range x.Properties {
			out = append(out, line{{text: "  " + safe(p.Name) + ":  ", tone: dim}, {text: safe(p.Value)}})
		}
	}
	return safe(x.Name), out
}

func (s *filesScreen) command(*Model) []string {
	if r := s.t.current(); r != nil {
		return []string{"sstool", "inspect", "sst", r.data.(*inspect.SSTFile).Path}
	}
	return []string{"sstool", "inspect", "sst", s.dir}
}

func (s *filesScreen) document(*Model) any {
	if r := s.t.current(); r != nil {
		return r.data
	}
	return nil
}

// tombstonesData is what the tombstones' screen fetches.
type tombstonesData struct {
	*inspect.Tombstones
	strips []inspect.KeyStrip
	strip  error
	exact  bool
}

// tombstonesScreen counts tombstones and draws where along the keys they lie.
type tombstonesScreen struct {
	place
	text  *textBody
	exact bool
}

// exactUpTo is the size up to which all entries are read without being asked.
const exactUpTo = 256 << 20

func newTombstonesScreen(p place) *tombstonesScreen {
	return &tombstonesScreen{place: p, text: newText(nil)}
}

func (s *tombstonesScreen) crumb() string                   { return "tombstones" }
func (s *tombstonesScreen) body() component                 { return s.text }
func (s *tombstonesScreen) summary(m *Model, _ *frame) line { return s.storeLine(m) }

// mark follows the files only as long as reading them is cheap.
func (s *tombstonesScreen) mark(m *Model) string {
	if st := s.store(m); st != nil && st.Size > exactUpTo {
		return fmt.Sprint("large", s.exact)
	}
	return s.filesMark(m)
}

func (s *tombstonesScreen) hints() []string { return []string{doExact} }
func (s *tombstonesScreen) key(m *Model, f *frame, action string) (cmd teaCmd, done bool) {
	if action != doExact {
		return nil, false
	}
	s.exact = true
	return m.fetch(f, true), true
}

func (s *tombstonesScreen) fetch(m *Model) func(context.Context) (any, error) {
	sel := s.selection(m)
	st := s.store(m)
	exact := s.exact || st != nil && st.Size <= exactUpTo
	return func(ctx context.Context) (any, error) {
		res, err := inspect.InspectTombstones(ctx, inspect.TombstonesOptions{Select: sel, Estimate: !exact}, nil)
		if res == nil {
			return nil, err
		}
		d := &tombstonesData{Tombstones: res, exact: exact}
		if exact {
			d.strips, d.strip = inspect.KeyStrips(ctx, sel, 400)
		}
		return d, err
	}
}

func (s *tombstonesScreen) build(m *Model, f *frame) {
	d, ok := f.data.(*tombstonesData)
	if !ok {
		s.text.set(loading(f, "reading the store's entries"))
		return
	}
	t := d.Total
	out := []line{nil, {{text: " " + plural(int(t.Tombstones), "tombstone"), tone: header}, {text: fmt.Sprintf(" of %s entries, %s", human.Count(t.Entries), human.Share(float64(t.Tombstones), float64(t.Entries))), tone: dim}}}
	if t.ReclaimDisk != nil {
		out = append(out, text(fmt.Sprintf(" a compaction of everything would free about %s", human.Bytes(*t.ReclaimDisk))))
	}
	if t.AtBottom != nil {
		out = append(out, toned(dim, fmt.Sprintf(" %s lie in the last sorted run, where there is nothing left to hide", human.Count(*t.AtBottom))))
	}
	if !d.exact {
		out = append(out, toned(warn, fmt.Sprintf(" estimated from the files' properties; %s reads all entries", m.keys.first(doExact))))
	}
	for i := range d.strips {
		out = append(out, stripLines(m, &d.strips[i])...)
	}
	if d.strip != nil {
		out = append(out, errorLines(d.strip)...)
	}
	if len(d.Dense) > 0 {
		out = append(out, nil, title(" Densest ranges"))
		for _, r := range d.Dense {
			first, last := "", ""
			if r.First != nil && r.Last != nil {
				first, last = r.First.Text, r.Last.Text
			}
			out = append(out, line{{text: padLeft(human.Count(r.Keys), 10, "") + " deleted keys in a row", tone: warn}, {text: fmt.Sprintf(", %s entries to pass, %s  ", human.Count(r.Entries), human.Bytes(r.Bytes)), tone: dim}, {text: safe(first) + " … " + safe(last)}})
		}
	}
	for _, a := range d.Advice {
		out = append(out, nil, line{{text: " try: ", tone: dim}, {text: safe(a.Text)}})
	}
	s.text.set(append(out, problemLines(d.Problems)...))
}

// stripLines draws one column family as a strip: left the smallest key, right
// the largest, each cell as many entries as every other, hotter the more of
// them are tombstones.
func stripLines(m *Model, k *inspect.KeyStrip) []line {
	note := "each cell holds equally many entries, in order of key"
	if k.Sampled {
		note += "; from a sample"
	}
	out := []line{nil, {{text: " " + safe(k.Family), tone: header}, {text: fmt.Sprintf("  %s of %s; %s", human.Count(k.Tombstones), human.Count(k.Entries), note), tone: dim}}}
	if len(k.Pieces) == 0 {
		return out
	}
	room := min(len(k.Pieces), m.w-4)
	strip := line{{text: " "}}
	shades := m.theme.glyphs.shade
	for i := range room {
		entries, tombs := int64(0), int64(0)
		for _, p := range k.Pieces[i*len(k.Pieces)/room : (i+1)*len(k.Pieces)/room] {
			entries += p.Entries
			tombs += p.Tombstones
		}
		share := 0.0
		if entries > 0 {
			share = float64(tombs) / float64(entries)
		}
		glyph := shades[0]
		if tombs > 0 {
			glyph = shades[min(len(shades)-1, 1+int(share*float64(len(shades)-1)))]
		}
		strip = append(strip, span{text: string(glyph), tone: dim, heat: heatOf(share)})
	}
	first, last := k.Pieces[0].First.Text, k.Pieces[len(k.Pieces)-1].First.Text
	ends := max(4, (room-1)/2)
	l, r := safe(first), safe(last)
	if width(l) > ends {
		l = shortened(l, ends, m.theme)
	}
	if width(r) > ends {
		r = shortened(r, ends, m.theme)
	}
	out = append(out, strip, strip)
	return append(out, toned(dim, " "+l+padLeft(r, max(width(r), room-width(l)), "")))
}

// heatOf is a share as heat; what is cold is told from what has none.
func heatOf(share float64) float64 {
	if share <= 0 {
		return -1
	}
	return share
}

func (s *tombstonesScreen) command(*Model) []string {
	return []string{"sstool", "inspect", "tombstones", s.dir}
}

func (s *tombstonesScreen) document(m *Model) any {
	if d, ok := m.top().data.(*tombstonesData); ok {
		return d.Tombstones
	}
	return nil
}
