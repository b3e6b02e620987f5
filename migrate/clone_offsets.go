package migrate

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"sstool/internal/rocks"
	"sstool/internal/streams"
)

// Offsets of a store are in the task's .checkpoint (Kafka up to 4.2) or in the
// offsets family of its databases (from 4.3 on). They are about the changelog,
// so in the clone they name the copy, and the offset there.

// Where an offset is kept.
const (
	homeFile   = streams.CheckpointFile
	homeFamily = streams.OffsetsFamily
)

// planStore says what cloning one store takes, or why it is left out.
func (c *cloner) planStore(m *cloning, t *taskFound, f *streams.StoreOnDisk, file streams.Checkpoint, s *CloneStore) error {
	leaveOut := func(why string) error {
		s.State, s.Reason, s.Offsets = LeftOut, why, []CloneOffset{}
		return nil
	}
	if f.Strange != "" {
		s.Reason = fmt.Sprintf("%q in its directory is no segment and does not go along", f.Strange)
	}
	if topic := streams.ChangelogTopic(m.OldApp, s.Old); s.move.OldTopic == "" && m.OldApp != m.NewApp && hasTopic(file, topic) {
		return leaveOut(fmt.Sprintf("its changelog %s is not migrated", topic))
	}
	device := deviceOf(c.stateDir)
	for _, dir := range f.Databases {
		db, whyNot, err := lookAtDatabase(dir)
		if err != nil {
			return err
		}
		if whyNot != "" {
			return leaveOut(whyNot)
		}
		if db.open {
			s.Reason = "it was not closed cleanly, and the clone says so too: under exactly-once Kafka Streams restores its task"
		}
		db.count(s, device)
		s.dbs = append(s.dbs, db)
		s.Databases++
	}
	o, whyNot := offsetsOf(m, t, s.move, file, s.dbs)
	if whyNot != "" {
		return leaveOut(whyNot)
	}
	if o != nil {
		s.Offsets = o
	}
	if s.sharesLine(m, t) {
		s.Reason = "it shares the line of its offset with the old directory: when the new version has run, remove that before the old version is started again"
	}
	return nil
}

// sharesLine says that one line of the .checkpoint is about both the old store
// and its clone: the line names the topic, and that stays.
func (s *CloneStore) sharesLine(m *cloning, t *taskFound) bool {
	return m.OldApp == m.NewApp && s.move.OldTopic != "" && s.move.OldTopic == s.move.NewTopic && len(s.lines()) > 0 &&
		(s.move.NewSub == nil || t.task == nil || *s.move.NewSub == t.task.Subtopology)
}

func hasTopic(c streams.Checkpoint, topic string) bool {
	for tp := range c {
		if tp.Topic == topic {
			return true
		}
	}
	return false
}

// offsetsOf are the offsets that decide for a store: a line of the .checkpoint
// wins over the family, and of segments the newest that has a row, as in Kafka
// Streams 4.4.
func offsetsOf(m *cloning, t *taskFound, move *StoreMove, file streams.Checkpoint, dbs []database) ([]CloneOffset, string) {
	var out []CloneOffset
	add := func(tp streams.TopicPartition, offset int64, home string) (whyNot string) {
		to, takes := newTopic(m, move, tp.Topic)
		if !takes || t.task != nil && tp.Partition != int32(t.task.Partition) {
			return ""
		}
		if slices.ContainsFunc(out, func(o CloneOffset) bool { return o.Topic == tp.Topic && o.Partition == tp.Partition }) {
			return ""
		}
		o := CloneOffset{Topic: tp.Topic, NewTopic: to, Partition: tp.Partition, Offset: offset, Home: home}
		mapped, known, whyNot := mapOffset(m, tp, to, offset)
		if known {
			o.NewOffset = &mapped
		}
		out = append(out, o)
		return whyNot
	}
	for _, tp := range file.Keys() {
		if file[tp] == streams.OffsetUnknown && len(dbs) > 0 && dbs[0].offsets {
			continue // Kafka Streams from 4.3 on takes the line for none
		}
		if whyNot := add(tp, file[tp], homeFile); whyNot != "" {
			return nil, whyNot
		}
	}
	for _, db := range slices.Backward(dbs) {
		for _, r := range db.rows {
			tp, ok := streams.ParseOffsetsKey(r.key)
			if !ok {
				continue
			}
			offset, err := streams.DecodeOffset(r.value)
			if err != nil {
				return nil, fmt.Sprintf("%s: offset of %s: %v", db.dir, tp, err)
			}
			if lostTopic(m, move, tp.Topic) {
				return nil, fmt.Sprintf("its changelog %s is not copied", tp.Topic)
			}
			if whyNot := add(tp, offset, homeFamily); whyNot != "" {
				return nil, whyNot
			}
		}
	}
	return out, ""
}

// newTopic is the name of a topic after the move; takes is false for a topic
// that the store's offsets are not about.
func newTopic(m *cloning, move *StoreMove, topic string) (to string, takes bool) {
	switch {
	case move.OldTopic != "":
		return move.NewTopic, topic == move.OldTopic
	case m.OldApp == m.NewApp || lostTopic(m, move, topic):
		return "", false
	}
	// A store that no move names has a topic of the user's, or none. Which of the
	// task's such stores it is, the name does not tell.
	return topic, !slices.ContainsFunc(m.Moves, func(o StoreMove) bool { return o.OldTopic == topic })
}

// mapOffset is an offset in the copy. It is not known before there is a copy.
func mapOffset(m *cloning, tp streams.TopicPartition, to string, offset int64) (mapped int64, known bool, whyNot string) {
	if to == tp.Topic || offset == streams.OffsetUnknown {
		return offset, true, ""
	}
	om := m.maps.Find(tp)
	if om == nil {
		return 0, false, ""
	}
	end, _ := om.End()
	switch {
	case offset+1 < om.Start():
		return 0, false, fmt.Sprintf("it ends at offset %d of %s, whose log begins at %d: what it has missed is gone, and Kafka Streams would restore it anew", offset, tp, om.Start())
	case offset >= end:
		return 0, false, fmt.Sprintf("it claims offset %d of %s, which ends before %d: Kafka Streams would restore it anew", offset, tp, end)
	}
	if mapped, ok := om.Map(offset); ok {
		return mapped, true, ""
	}
	return streams.OffsetUnknown, true, "" // nothing of the copy was applied
}

// inFamily says whether a store's offsets go into its databases alone: all of
// them have the family. Kafka Streams takes a line of the file first.
func (s *CloneStore) inFamily() bool {
	return len(s.dbs) > 0 && !slices.ContainsFunc(s.dbs, func(db database) bool { return !db.offsets })
}

// lines are what the store's clone has in the .checkpoint.
func (s *CloneStore) lines() streams.Checkpoint {
	out := streams.Checkpoint{}
	for _, o := range s.Offsets {
		if o.Home == homeFile && !s.inFamily() && o.NewOffset != nil {
			out[streams.TopicPartition{Topic: o.NewTopic, Partition: o.Partition}] = *o.NewOffset
		}
	}
	return out
}

// newRows are the rows of the offsets family that a database's clone has.
func (s *CloneStore) newRows(m *cloning, db *database) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, r := range db.rows {
		tp, ok := streams.ParseOffsetsKey(r.key)
		switch {
		case string(r.key) == streams.PositionKey:
			p, err := movePosition(m, r.value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", db.dir, err)
			}
			out[string(r.key)] = p
		case !ok:
			out[string(r.key)] = r.value
		default:
			to, takes := newTopic(m, s.move, tp.Topic)
			if !takes {
				continue
			}
			offset, err := streams.DecodeOffset(r.value)
			if err != nil {
				return nil, fmt.Errorf("%s: offset of %s: %w", db.dir, tp, err)
			}
			// A segment's row may be older than what decides, and no longer fit.
			if mapped, known, whyNot := mapOffset(m, tp, to, offset); known && whyNot == "" {
				out[string(streams.OffsetsKey(to, tp.Partition))] = streams.EncodeOffset(mapped)
			}
		}
	}
	if s.inFamily() {
		for _, o := range s.Offsets {
			if o.Home == homeFile && o.NewOffset != nil {
				out[string(streams.OffsetsKey(o.NewTopic, o.Partition))] = streams.EncodeOffset(*o.NewOffset)
			}
		}
	}
	return out, nil
}

// needsRocksDB says whether rows of the database must be changed.
func (db *database) needsRocksDB(rows map[string][]byte) bool {
	if len(rows) != len(db.rows) {
		return true
	}
	for _, r := range db.rows {
		if v, ok := rows[string(r.key)]; !ok || !bytes.Equal(v, r.value) {
			return true
		}
	}
	return false
}

// writeOffsets makes the offsets family of a clone hold these rows and no
// others. Nothing else of the database is written: compactions are off.
func writeOffsets(dir string, rows map[string][]byte) error {
	db, err := rocks.Open(dir, rocks.Options{Bulk: true, NoCompaction: true})
	if err != nil {
		return err
	}
	defer db.Close()
	family := slices.Index(db.Families(), streams.OffsetsFamily)
	b := db.Batch()
	defer b.Close()
	err = db.Iterate(family, func(key, _ []byte) error {
		if _, ok := rows[string(key)]; !ok {
			b.Delete(family, key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		b.Put(family, []byte(key), rows[key])
	}
	if err := db.Write(b); err != nil {
		return err
	}
	if err := db.Flush(); err != nil {
		return err
	}
	return db.Close()
}

// movePosition maps the query position of a store: what it has seen of the
// topics that were copied.
func movePosition(m *cloning, value []byte) ([]byte, error) {
	p, err := streams.DecodePosition(value)
	if err != nil {
		return nil, err
	}
	moved, changed := mapPosition(m, p)
	if !changed {
		return value, nil
	}
	return streams.EncodePosition(moved), nil
}

func mapPosition(m *cloning, p streams.Position) (moved streams.Position, changed bool) {
	moved = streams.Position{}
	for tp, offset := range p {
		t := m.maps[tp.Topic]
		if t == nil {
			if m.OldApp != m.NewApp && streams.IsInternalTopic(m.OldApp, tp.Topic) {
				changed = true // of a topic that the new application begins anew
				continue
			}
			moved[tp] = offset
			continue
		}
		changed = true
		if om := m.maps.Find(tp); om != nil {
			if seen, ok := om.Map(offset); ok {
				moved[streams.TopicPartition{Topic: t.New, Partition: tp.Partition}] = seen
			}
		}
	}
	return moved, changed
}
