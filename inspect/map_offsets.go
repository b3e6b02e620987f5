package inspect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sstool/internal/lsm"
	"sstool/internal/op"
	"sstool/internal/streams"
)

// readOffsets reads the offsets family of a database: offsets, status and
// position (Kafka >= 4.3).
func (f *dbFacts) readOffsets(db *lsm.DB) {
	if !slices.ContainsFunc(f.families, func(ff familyFacts) bool { return !ff.data() }) {
		return
	}
	f.offsets = map[streams.TopicPartition]int64{}
	_, err := db.EachRow([]string{streams.OffsetsFamily}, lsm.Range{}, false, func(_ string, key, value []byte) error {
		switch tp, ok := streams.ParseOffsetsKey(key); {
		case ok:
			n, err := streams.DecodeOffset(value)
			if err != nil {
				return fmt.Errorf("offset of %s: %w", tp, err)
			}
			f.offsets[tp] = n
		case string(key) == streams.StatusKey:
			n, err := streams.DecodeOffset(value)
			if err != nil {
				return fmt.Errorf("status: %w", err)
			}
			f.status = &n
		case string(key) == streams.PositionKey:
			p, err := streams.DecodePosition(value)
			if err != nil {
				return fmt.Errorf("position: %w", err)
			}
			f.position = p
		}
		return nil
	})
	if err != nil && op.KindOf(err) != op.NotFound {
		f.unread, f.offsets = err, nil // what some of its rows say is not what it says
		f.problems = append(f.problems, lsm.Problem{File: "column family " + streams.OffsetsFamily, What: "cannot be read", Err: err,
			Cure: "restore the store from its changelog"})
	}
}

// taskOffsets are the offset files of a task's directory.
type taskOffsets struct {
	checkpoint streams.Checkpoint            // nil: there is no file
	own        map[string]streams.Checkpoint // by store: .checkpoint_<store> (4.3+, stores that Kafka Streams wraps)
	position   map[string]streams.Position   // by store: <store>.position (3.2 to 4.2)
	warnings   []string
	err        error // of .checkpoint
}

func readTaskOffsets(t *Task) *taskOffsets {
	o := &taskOffsets{own: map[string]streams.Checkpoint{}, position: map[string]streams.Position{}}
	for _, name := range t.Files {
		path := filepath.Join(t.Dir, name)
		store, isOwn := strings.CutPrefix(name, streams.CheckpointFile+"_")
		of, isPosition := strings.CutSuffix(name, ".position")
		switch {
		case name == streams.CheckpointFile:
			var w []string
			if o.checkpoint, w, o.err = streams.ReadCheckpointWarn(path); len(w) > 0 {
				o.warnings = append(o.warnings, w...)
			}
		case isOwn:
			if c, err := streams.ReadCheckpoint(path); err == nil {
				o.own[store] = c
			} else {
				o.warnings = append(o.warnings, err.Error())
			}
		case isPosition:
			if c, err := streams.ReadCheckpoint(path); err == nil {
				o.position[of] = c
			} else {
				o.warnings = append(o.warnings, err.Error())
			}
		}
	}
	return o
}

// topicOf is the topic a store is restored from; "" when it is not known or
// there is none.
func topicOf(s *Store, told toldStore) string {
	switch {
	case told.Topic != "":
		return told.Topic
	case told.Unlogged != "" || s.Task.App.ID == "" || s.Task.Global():
		return ""
	}
	return streams.NamedChangelogTopic(s.Task.App.ID, s.Task.Topology, s.Name)
}

// storeOffsets puts both homes of a store's offset side by side. dbs are its
// databases, the newest segment last: the newest that has a row decides.
func storeOffsets(s *Store, told toldStore, files *taskOffsets, dbs []*dbFacts) MapOffsets {
	topic := topicOf(s, told)
	m := MapOffsets{Topic: topic, Next: s.Task.Global()}
	family, hasFamily := familyOffsets(dbs)
	file := files.checkpoint
	own := files.own[s.Name]
	if own != nil {
		file = own
	}
	mine := func(tp streams.TopicPartition) bool {
		return topic != "" && tp.Topic == topic && (s.Task.ID == nil || int(tp.Partition) == s.Task.ID.Partition)
	}
	all := streams.Checkpoint{}
	for tp := range file {
		if mine(tp) {
			all[tp] = 0
		}
	}
	for tp := range family {
		all[tp] = 0
	}
	inFile, inFamily := false, false
	for _, tp := range all.Keys() {
		o := MapOffset{Topic: tp.Topic, Partition: tp.Partition}
		if n, ok := family[tp]; ok {
			o.Family, o.Offset, inFamily = &n, &n, true
		}
		if n, ok := file[tp]; ok && mine(tp) {
			o.Checkpoint, inFile = &n, true
			if n != streams.OffsetUnknown || o.Family == nil {
				o.Offset = &n // the file wins, but for a line that says nothing (4.4)
			}
		}
		m.List = append(m.List, o)
	}
	switch {
	case inFile && inFamily && own != nil:
		m.KeptIn, m.Why = KeptInBoth, "Kafka Streams keeps both for a store that it wraps, and goes by the file"
	case inFile && inFamily:
		m.KeptIn, m.Why = KeptInBoth, "the file wins: Kafka Streams takes it over into the family and deletes it"
	case inFile:
		m.KeptIn = KeptInCheckpoint
	case inFamily:
		m.KeptIn = KeptInFamily
	default:
		m.KeptIn, m.Why = KeptNowhere, noOffset(s, told, files, hasFamily)
		if why := offsetsUnread(dbs); why != "" && told.Unlogged == "" {
			m.Why = why
		}
	}
	return m
}

// noOffset says why a store has no offset.
func noOffset(s *Store, told toldStore, files *taskOffsets, hasFamily bool) string {
	switch {
	case told.Unlogged != "":
		return "not logged: " + told.Unlogged
	case told.TopicNote != "":
		return told.TopicNote
	case files.err != nil:
		return files.err.Error()
	case s.Task.Name == "":
		return "not in a task's directory"
	case hasFamily:
		return "the offsets family has no row for a changelog"
	case files.checkpoint == nil:
		return "there is no " + streams.CheckpointFile + " file and no offsets family"
	case s.Task.Global():
		return "which topic fills it is not known: " + streams.CheckpointFile + " has no line that only it can have"
	}
	return streams.CheckpointFile + " has no line for it"
}

// offsetsUnread is why what the offsets family says is not known, "" when it is.
func offsetsUnread(dbs []*dbFacts) string {
	for _, f := range dbs {
		switch {
		case f.unread != nil:
			return "the offsets family cannot be read"
		case !f.known && slices.ContainsFunc(f.families, func(ff familyFacts) bool { return !ff.data() }):
			return "which file of the offsets family is live is not known"
		}
	}
	return ""
}

// familyOffsets is what the offsets families of a store say together.
func familyOffsets(dbs []*dbFacts) (rows streams.Checkpoint, has bool) {
	rows = streams.Checkpoint{}
	for _, f := range dbs {
		has = has || f.offsets != nil
		for tp, n := range f.offsets {
			rows[tp] = n // a newer segment's wins
		}
	}
	return rows, has
}

// storeStatus is whether the store was closed cleanly.
func storeStatus(dbs []*dbFacts, lock MapLock) (*string, string) {
	any, open := false, 0
	for _, f := range dbs {
		if f.status != nil {
			any = true
			if *f.status != streams.StatusClosed {
				open++
			}
		}
	}
	say := func(s, why string) (*string, string) { return &s, why }
	held := lock.Held != nil && *lock.Held
	switch {
	case !any && offsetsUnread(dbs) != "":
		return nil, offsetsUnread(dbs)
	case !any && held:
		return nil, "no status row on disk; a process has the application open"
	case !any:
		return nil, "no status row: kept since Kafka 4.3, not for transactional stores"
	case open > 0 && held:
		return say("open", "a process has the application open")
	case open > 0 && lock.Held == nil:
		return say("open", "the status row says open; whether a process has it open is not known: "+lock.Why)
	case open > 0:
		return say("unclean", "the status row says open, and no process has the application open: it was killed, and exactly-once wipes the task")
	case held:
		return say("clean", "the status row on disk is of the last clean close; a process has the application open")
	}
	return say("clean", "the status row says closed")
}

// storePosition is the store's query position.
func storePosition(s *Store, files *taskOffsets, dbs []*dbFacts) []MapOffset {
	p := files.position[s.Name]
	for _, f := range dbs {
		for tp, n := range f.position {
			if p == nil {
				p = streams.Position{}
			}
			p[tp] = max(n, p[tp])
		}
	}
	out := []MapOffset{}
	for _, tp := range p.Keys() {
		n := p[tp]
		out = append(out, MapOffset{Topic: tp.Topic, Partition: tp.Partition, Offset: &n})
	}
	return out
}

// otherLines are the lines of .checkpoint that none of the task's stores
// claims.
func otherLines(o *taskOffsets, stores []MapStore) []MapOffset {
	claimed := map[streams.TopicPartition]bool{}
	for _, s := range stores {
		for _, l := range s.Offsets.List {
			if l.Checkpoint != nil {
				claimed[streams.TopicPartition{Topic: l.Topic, Partition: l.Partition}] = true
			}
		}
	}
	var out []MapOffset
	for _, tp := range o.checkpoint.Keys() {
		if n := o.checkpoint[tp]; !claimed[tp] {
			out = append(out, MapOffset{Topic: tp.Topic, Partition: tp.Partition, Offset: &n, Checkpoint: &n})
		}
	}
	return out
}
