package spec

import (
	"time"

	"sstool/internal/streams"
)

// Seen is a store as somebody else found it in an application's directory, in
// all of its tasks together.
type Seen struct {
	Name      string
	Global    bool
	Segmented bool
	Tasks     []streams.TaskID // empty for a global store
	Databases []SeenDatabase
	Topics    []string // changelogs in its own offsets family or checkpoint file
	// Offsets says that its databases have an offsets family with a row,
	// Checkpoint that a task of it has a .checkpoint file: where neither names a
	// topic for it, it has none.
	Offsets, Checkpoint bool
}

// SeenDatabase is one database of a Seen store.
type SeenDatabase struct {
	Dir      string
	Start    int64    // of the segment, in ms
	Families []string // without offsets
}

// SeenTopic is a topic of a .checkpoint file.
type SeenTopic struct {
	Name        string
	Subtopology int // -1: global/.checkpoint
}

// RowsOf calls fn with some rows of a database's column family.
type RowsOf func(dir, family string, fn func(key, value []byte) error) error

// Told is what can be told of a store.
type Told struct {
	Kind       streams.Kind   // "" when it is not certain
	Candidates []streams.Kind // the kinds it may be then
	Why        string
	Rows       int // looked at for it; 0 when the families alone told it
	Named      streams.Kind
	Headers    bool
	WithIndex  bool

	Interval        time.Duration // of the segments; 0 when not known
	IntervalCertain bool
	IntervalWhy     string

	Topic     string // restored from, when it is not the usual changelog
	TopicWhy  string
	Unlogged  string // why nothing can restore it; "" when something can
	TopicNote string // why the topic is not known
}

// Tell says of the stores of one application what FromStateDir would, without
// reading directories: rows are those that the caller shows of one database's
// family, a few from both ends are enough. appID is the start of the internal
// topics' names, with a named topology "<application.id>-<topology>". The
// answers are in the order of the stores.
func Tell(appID string, stores []Seen, topics []SeenTopic, rows RowsOf) ([]Told, error) {
	d := &dirScan{spec: &Spec{ApplicationID: appID, tasks: map[int]string{}}, stores: map[string]*found{}}
	all := make([]*found, len(stores))
	for i, s := range stores {
		all[i] = d.seenStore(s)
	}
	for _, t := range topics {
		d.see(seenTopic{t.Name, t.Subtopology, streams.CheckpointFile})
	}
	d.resolveTopics()
	out := make([]Told, len(stores))
	for i, f := range all {
		t, err := f.tell(rows)
		if err != nil {
			return nil, err
		}
		out[i] = t
	}
	return out, nil
}

func (d *dirScan) seenStore(s Seen) *found {
	f := &found{name: s.Name, global: s.Global, segmented: s.Segmented, subs: map[int][]string{}, topics: map[string]bool{},
		offsets: s.Offsets, checkpoint: s.Checkpoint}
	for _, t := range s.Tasks {
		f.subs[t.Subtopology] = append(f.subs[t.Subtopology], t.String())
	}
	for _, t := range s.Topics {
		f.topics[t] = true
	}
	for _, db := range s.Databases {
		f.dbs = append(f.dbs, database{db.Dir, db.Start, db.Families})
	}
	key := s.Name
	if s.Global {
		key = "/" + key
	}
	d.stores[key] = f
	return f
}

// tellDatabases is how many databases of a store are looked at.
const tellDatabases = 8

func (f *found) tell(rows RowsOf) (Told, error) {
	var st Store
	ev, err := f.look(&st, tellDatabases, rows)
	if err != nil {
		return Told{}, err
	}
	t := Told{
		Kind: st.Kind, Candidates: st.Candidates, Why: st.From[FieldKind].Text, Rows: ev.rows, Headers: st.Headers, WithIndex: st.WithIndex,
		Interval: st.SegmentInterval, IntervalCertain: st.From[FieldSegmentInterval].Certain, IntervalWhy: st.From[FieldSegmentInterval].Text,
		Topic: f.topic, TopicWhy: f.topicFrom.Text, Unlogged: f.unlogged, TopicNote: f.topicNote,
	}
	if rule, ok := byName(f.name); ok {
		t.Named = rule.kind
	}
	return t, nil
}

// look tells kind and segment interval from the column families and, where they
// leave the kind open, from rows of at most so many databases.
func (f *found) look(st *Store, databases int, rows RowsOf) (*evidence, error) {
	ev := f.families()
	if f.needsRows(ev) {
		if err := f.sample(ev, databases, rows); err != nil {
			return nil, err
		}
	}
	f.kind(st, ev)
	f.interval(st, ev)
	return ev, nil
}

// needsRows says whether the families leave the kind open.
func (f *found) needsRows(ev *evidence) bool {
	rule, named := byName(f.name)
	switch {
	case ev.families[streams.WindowHeadersFamily] || ev.families[streams.SessionHeadersFamily]:
		return true
	case ev.families[streams.TimestampFamily] || ev.families[streams.TimestampHeadersFamily]:
		return named && rule.kind == streams.FKSubscription
	}
	return len(f.dbs) > 0
}
