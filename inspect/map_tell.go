package inspect

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"sstool/internal/lsm"
	"sstool/internal/spec"
	"sstool/internal/streams"
)

// toldStore is what is known of a store from all of its tasks together.
type toldStore struct{ spec.Told }

// fewRows is how many rows make a kind that only they tell certain.
const fewRows = 16

// tellStores says what kinds the application's stores are and which topics
// they are restored from.
func tellStores(a *App, facts map[factKey]*dbFacts, offsets map[*Task]*taskOffsets) (map[*Store]toldStore, error) {
	out := map[*Store]toldStore{}
	var topologies []string
	for _, t := range a.Tasks {
		if !slices.Contains(topologies, t.Topology) {
			topologies = append(topologies, t.Topology)
		}
	}
	for _, topology := range topologies {
		id := a.ID
		if topology != "" {
			id += "-" + topology
		}
		var tasks []*Task
		for _, t := range a.Tasks {
			if t.Topology == topology {
				tasks = append(tasks, t)
			}
		}
		if err := tellTopology(id, tasks, facts, offsets, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// seenKey is what makes stores of several tasks one: outside of an application
// every directory is its own.
type seenKey struct {
	name      string
	global    bool
	segmented bool
	dir       string
}

func tellTopology(id string, tasks []*Task, facts map[factKey]*dbFacts, offsets map[*Task]*taskOffsets, out map[*Store]toldStore) error {
	var seen []spec.Seen
	index := map[seenKey]int{}
	of := map[*Store]int{}
	var topics []spec.SeenTopic
	for _, t := range tasks {
		sub := -1
		if t.ID != nil {
			sub = t.ID.Subtopology
		}
		for tp := range offsets[t].checkpoint {
			topics = append(topics, spec.SeenTopic{Name: tp.Topic, Subtopology: sub})
		}
		at := func(name string, segmented bool, dir string) int {
			k := seenKey{name, t.Global(), segmented, ""}
			if t.Name == "" {
				k.dir = dir
			}
			i, ok := index[k]
			if !ok {
				i = len(seen)
				index[k] = i
				seen = append(seen, spec.Seen{Name: name, Global: t.Global(), Segmented: segmented})
			}
			return i
		}
		for _, s := range t.Stores {
			of[s] = at(s.Name, s.Segmented, s.Dir)
			see(&seen[of[s]], s, facts, offsets[t])
		}
		for _, n := range t.names {
			if slices.ContainsFunc(t.Stores, func(s *Store) bool { return s.Name == n.name && s.Segmented == n.segmented }) || t.ID == nil && !t.Global() {
				continue
			}
			// Not asked for, but its line of .checkpoint is nobody else's.
			i := at(n.name, n.segmented, "")
			if t.ID != nil && !slices.Contains(seen[i].Tasks, *t.ID) {
				seen[i].Tasks = append(seen[i].Tasks, *t.ID)
			}
		}
	}
	told, err := spec.Tell(id, seen, topics, sampler(facts))
	if err != nil {
		return err
	}
	for s, i := range of {
		out[s] = toldStore{told[i]}
	}
	return nil
}

// see adds one task's store to what all of them are.
func see(seen *spec.Seen, s *Store, facts map[factKey]*dbFacts, files *taskOffsets) {
	if s.Task.ID != nil {
		seen.Tasks = append(seen.Tasks, *s.Task.ID)
	}
	seen.Checkpoint = seen.Checkpoint || len(files.checkpoint) > 0
	for tp := range files.own[s.Name] {
		seen.Topics = append(seen.Topics, tp.Topic)
	}
	for _, d := range s.Databases {
		f := facts[factKey{d.Dir, d.Only}]
		// An empty family says nothing: of a young application all is in memory.
		seen.Offsets = seen.Offsets || len(f.offsets) > 0 || f.status != nil || f.position != nil
		for tp := range f.offsets {
			if !slices.Contains(seen.Topics, tp.Topic) {
				seen.Topics = append(seen.Topics, tp.Topic)
			}
		}
		if f.empty || f.err != nil {
			continue
		}
		db := spec.SeenDatabase{Dir: d.Dir, Start: d.Start}
		for _, ff := range f.families {
			if ff.data() {
				db.Families = append(db.Families, ff.Name)
			}
		}
		seen.Databases = append(seen.Databases, db)
	}
}

const (
	sampleRows  = 100 // looked at from each end of a file
	sampleSkips = 16  // corrupt blocks gone past for that
)

// sampler shows rows of one file of a family, from both ends: in time-ordered
// and versioned stores the two differ.
func sampler(facts map[factKey]*dbFacts) func(dir, family string, fn func(key, value []byte) error) error {
	files := map[[2]string]string{}
	for k, f := range facts {
		for _, ff := range f.families {
			files[[2]string{k.dir, ff.Name}] = ff.sample
		}
	}
	return func(dir, family string, fn func(key, value []byte) error) error {
		path := files[[2]string{dir, family}]
		if path == "" {
			return nil
		}
		t, err := lsm.OpenTableFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a compaction took it
		}
		if err != nil {
			return nil // told as a problem of the database
		}
		defer t.Close()
		it := t.Iter()
		defer it.Close()
		it.Readahead(0)
		it.Skip(&lsm.Skips{Limit: sampleSkips}) // told as damage elsewhere
		n := 0
		for ok := it.First(); ok && n < sampleRows; ok = it.Next() {
			if e := it.Entry(); e.Kind == lsm.KindPut {
				n++
				if err := fn(e.Key, e.Value); err != nil {
					return err
				}
			}
		}
		if n < sampleRows {
			return nil
		}
		n = 0
		for ok := it.Last(); ok && n < sampleRows; ok = it.Prev() {
			if e := it.Entry(); e.Kind == lsm.KindPut {
				n++
				if err := fn(e.Key, e.Value); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// kindOf turns what was told into the map's words.
func (t toldStore) kindOf() MapKind {
	k := MapKind{Certainty: Unknown, Why: t.Why, Headers: t.Headers, WithIndex: t.WithIndex}
	take := func(kind streams.Kind, certainty string) {
		s := string(kind)
		k.Kind, k.Certainty = &s, certainty
	}
	switch {
	case t.Kind != "" && t.Rows > 0 && t.Rows < fewRows:
		take(t.Kind, Likely)
		k.Why += " (few)"
	case t.Kind != "":
		take(t.Kind, Certain)
	case slices.Contains(t.Candidates, t.Named):
		take(t.Named, Likely)
		k.Why += "; the name is one Kafka Streams gives such a store"
	}
	if k.Kind == nil {
		for _, c := range t.Candidates {
			k.Candidates = append(k.Candidates, string(c))
		}
	}
	return k
}

func joinKinds(kinds []streams.Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}
